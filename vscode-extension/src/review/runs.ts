/** What the history knows of a kernel, as a list to choose from. */
import * as l10n from "@vscode/l10n";
import type { Runs, RunOfKernel, VariantOfRun } from "../protocol.ts";
import type { Tier } from "../report/shape.ts";
import { capital } from "../report/standing.ts";
import { tierWords } from "../report/words.ts";

/** The policy of a run that judged one edit. */
export const GIVEN = "given";

/** The run that lenses and actions speak of, where it has something to show. */
export function atHome({ runs, told }: Runs): RunOfKernel | undefined {
  return runs.find(({ id }) => id === told);
}

/** A variant that can be taken, in words. */
export interface Offer {
  run: string;
  number: number;
  /** What it is worth: a ratio with its interval where it was verified, else a tier with the word predicted. */
  worth: string;
  /** All that it changes of the original. */
  title: string;
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
    title: v.title,
    what: v.what,
    why: v.why || v.fact,
    verified: v.verified,
    present: run === atHome(known) && v.number === known.accepted,
  }));
}

function worth({ device }: RunOfKernel, { ratio, low, high, cases, tier }: VariantOfRun): string {
  if (ratio === null || low === null || high === null) return l10n.t("{0} on {1} (predicted)", capital(tierWords(tier as Tier)), device);
  const figures = [ratio.toFixed(2), low.toFixed(2), high.toFixed(2), device];
  return cases === 1 ? l10n.t("{0}× ({1} to {2}) on {3}, 1 case", ...figures) : l10n.t("{0}× ({1} to {2}) on {3}, {4} cases", ...figures, cases);
}

/**
 * The variant that the text is: of that run (else of the one that is spoken of), or of another run that looked for variants. What a person wrote is none.
 *
 * @param ask what the server knows of the kernel, with the text compared to that run's variants
 */
export async function present(ask: (run?: string) => Promise<Runs>, wanted?: string): Promise<{ run: string; number: number } | undefined> {
  const known = await ask();
  const first = wanted ?? atHome(known)?.id;
  const others = known.runs.filter(({ id, policy }) => id !== first && policy !== GIVEN).map(({ id }) => id);
  for (const run of first === undefined ? others : [first, ...others]) {
    const { accepted } = await ask(run);
    if (accepted) return { run, number: accepted };
    if (accepted === 0 && run === first) return undefined; // its original
  }
  return undefined;
}

/** The one after `number` in that list, around; undefined where there is no other. */
export function after(list: readonly Offer[], number: number): Offer | undefined {
  const at = list.findIndex((offer) => offer.number === number);
  const next = list[(at + 1) % Math.max(list.length, 1)];
  return next?.number === number ? undefined : next;
}
