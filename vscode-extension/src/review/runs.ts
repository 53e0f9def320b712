/** What the history knows of a kernel, as a list to choose from. */
import type { Runs, RunOfKernel, VariantOfRun } from "../protocol.ts";

/** The run that lenses and actions speak of: the newest one with something to show. */
export function atHome({ runs }: Runs): RunOfKernel | undefined {
  return runs.find(({ variants }) => variants.length) ?? runs[0];
}

/** A variant that can be taken, in words. */
export interface Offer {
  run: string;
  number: number;
  /** What it is worth: a ratio with its interval where it was verified, else a tier with the word predicted. */
  worth: string;
  what: string;
  why: string;
  verified: boolean;
  /** The text is this one already. */
  present: boolean;
}

/** Those worth taking, the best first, as the server ranks them: of the run that is spoken of, or of another. */
export function offers(known: Runs, of = atHome(known)?.id): Offer[] {
  const run = known.runs.find(({ id }) => id === of);
  if (!run) return [];
  const found = run.variants.filter((v) => v.decision !== "reject" && (v.verified || v.tier === "likely faster"));
  return found.map((v) => ({
    run: run.id,
    number: v.number,
    worth: worth(run, v),
    what: v.what,
    why: v.why || v.fact,
    verified: v.verified,
    present: run === atHome(known) && v.number === known.accepted,
  }));
}

function worth({ device }: RunOfKernel, { ratio, low, high, cases, tier }: VariantOfRun): string {
  if (ratio === null || low === null || high === null) return `${tier.slice(0, 1).toUpperCase()}${tier.slice(1)} on ${device} (predicted)`;
  return `${ratio.toFixed(2)}× (${low.toFixed(2)} to ${high.toFixed(2)}) on ${device}, ${cases} case${cases === 1 ? "" : "s"}`;
}

/** The one after `number` in that list, around; undefined where there is no other. */
export function after(list: readonly Offer[], number: number): Offer | undefined {
  const at = list.findIndex((offer) => offer.number === number);
  const next = list[(at + 1) % Math.max(list.length, 1)];
  return next?.number === number ? undefined : next;
}
