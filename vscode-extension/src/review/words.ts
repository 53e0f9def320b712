/** What lens, hover and status say of a review. What is known of a variant is said where the text is that variant, or what was found out about this very text. */
import * as l10n from "@vscode/l10n";
import { isVerified, type Judged, type Review } from "./review.ts";

/** In a few words, with a tick where it was verified. */
export function worth(review: Review): string {
  const { told, now } = review;
  const own = judged(review);
  const short = own?.short ?? now?.short ?? l10n.t("not verified");
  const verified = own ? own.verified : now !== undefined && isVerified(now);
  if (!now) return ticked(l10n.t("Variant {0} with edits: {1}", told.variant, short), verified);
  const many = told.steps.indexOf(now) + 1;
  return ticked(many === told.steps.length ? short : l10n.t("{0} of {1} steps: {2}", many, told.steps.length, short), verified);
}

/** In sentences. */
export function explained(review: Review): string {
  const { told, now } = review;
  const own = judged(review);
  if (own) return own.said;
  if (now) return [now.title, now.why].filter(Boolean).join("\n\n");
  return l10n.t("The text isn't variant {0} any more. As it is, it was never compiled, checked or timed.", told.variant);
}

/** What was found out about this text; of a verified variant no prediction, which says less than what is known of it. */
function judged({ own, now }: Review): Judged | undefined {
  return own && (own.measured || !now || !isVerified(now)) ? own : undefined;
}

/** Whether there is nothing to verify: it is the variant, or was verified as it is. */
export function isKnown({ standing, now, own }: Review): boolean {
  return standing === "whole" || own?.measured === true || (now !== undefined && isVerified(now));
}

function ticked(words: string, verified: boolean): string {
  return verified ? `✓ ${words}` : words;
}

/** How much of it waits for a decision. */
export function left(review: Review): string {
  const steps = new Set(review.open.map(({ step }) => step)).size;
  return steps === 1 ? l10n.t("1 change") : l10n.t("{0} changes", steps);
}

/** What a step changes. */
export function label(review: Review, step: number): string {
  const name = review.told.steps[step]?.label ?? "";
  const places = review.places.filter((place) => place.step === step).length;
  return places > 1 ? l10n.t("{0} · {1} places", name, places) : name;
}

const MOST = 60; // characters of a line that stands beside the buttons

/** Lines that a change has taken away, as a diff marks them: a single one itself. */
export function before(was: readonly string[]): string {
  const [first = ""] = was.map((line) => line.trim());
  if (was.length !== 1) return l10n.t("− {0} lines", was.length);
  return `− ${first.length > MOST ? `${first.slice(0, MOST - 1)}…` : first}`;
}
