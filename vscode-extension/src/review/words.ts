/** What lens, hover and status say of a review. Of what is not the whole variant nothing is said that was found out about the variant. */
import * as vscode from "vscode";
import { isVerified, type Review } from "./review.ts";

/** In a few words, with a tick where it was verified. */
export function worth(review: Review): string {
  const { told, standing } = review;
  if (standing === "whole") return isVerified(told) ? `✓ ${told.short}` : told.short;
  if (standing === "part") return vscode.l10n.t("Part of variant {0}: not verified", told.variant);
  return vscode.l10n.t("Variant {0} with edits: not verified", told.variant);
}

/** In sentences. */
export function explained(review: Review): string {
  const { told, standing } = review;
  if (standing === "whole") return [told.title, told.why].filter(Boolean).join("\n\n");
  if (standing === "part") return vscode.l10n.t("Some changes of variant {0} were undone. What is left was never compiled, checked or timed together.", told.variant);
  return vscode.l10n.t("The text isn't variant {0} any more. As it is, it was never compiled, checked or timed.", told.variant);
}

/** How much of it waits for a decision. */
export function left(review: Review): string {
  const groups = new Set(review.open.map(({ group }) => group)).size;
  return groups === 1 ? vscode.l10n.t("1 change") : vscode.l10n.t("{0} changes", groups);
}

/** Which group a hunk is of. */
export function label(review: Review, group: number): string {
  const name = review.told.groups[group] ?? "";
  const places = review.places.filter((place) => place.group === group).length;
  return places > 1 ? vscode.l10n.t("{0} · {1} places", name, places) : name;
}
