/** What lens, hover and status say of a review. Of what is not the whole variant nothing is said that was found out about the variant: only what was found out about this very text. */
import * as l10n from "@vscode/l10n";
import { isVerified, type Judged, type Review } from "./review.ts";

/** In a few words, with a tick where it was verified. */
export function worth(review: Review): string {
  const { told, standing } = review;
  const own = judged(review);
  if (standing === "whole") return ticked(own?.short ?? told.short, own ? own.verified : isVerified(told));
  const short = own?.short ?? l10n.t("not verified");
  const said = standing === "part" ? l10n.t("Part of variant {0}: {1}", told.variant, short) : l10n.t("Variant {0} with edits: {1}", told.variant, short);
  return ticked(said, own?.verified ?? false);
}

/** In sentences. */
export function explained(review: Review): string {
  const { told, standing } = review;
  const own = judged(review);
  if (own) return own.said;
  if (standing === "whole") return [told.title, told.why].filter(Boolean).join("\n\n");
  if (standing === "part") return l10n.t("Some changes of variant {0} were undone. What is left was never compiled, checked or timed together.", told.variant);
  return l10n.t("The text isn't variant {0} any more. As it is, it was never compiled, checked or timed.", told.variant);
}

/** What was found out about this text; of the whole variant no prediction, which says less than what is known of it. */
function judged({ own, standing }: Review): Judged | undefined {
  return own && (own.measured || standing !== "whole") ? own : undefined;
}

function ticked(words: string, verified: boolean): string {
  return verified ? `✓ ${words}` : words;
}

/** How much of it waits for a decision. */
export function left(review: Review): string {
  const groups = new Set(review.open.map(({ group }) => group)).size;
  return groups === 1 ? l10n.t("1 change") : l10n.t("{0} changes", groups);
}

/** Which group a hunk is of. */
export function label(review: Review, group: number): string {
  const name = review.told.groups[group] ?? "";
  const places = review.places.filter((place) => place.group === group).length;
  return places > 1 ? l10n.t("{0} · {1} places", name, places) : name;
}
