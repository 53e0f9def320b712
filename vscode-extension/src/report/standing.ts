/** Where a run stands, in one sentence, and what came of it, in the biggest words of the page. */
import * as l10n from "@vscode/l10n";
import type { Shown } from "./messages.ts";
import { interval, NOTHING, ratio } from "./format.ts";
import type { Report, Variant } from "./shape.ts";
import { tierWords } from "./words.ts";

/** A sentence for the run's state; it changes with the phase and not with each trial, so that it can be read out. */
export function state({ report, live, problem, exported_s }: Shown): string {
  if (!report) {
    if (live?.state === "failed") return failed(live.error || live.reason);
    if (live && live.state !== "running") {
      return live.reason ? l10n.t("This run was stopped before it recorded anything: {0}", sentence(live.reason)) : l10n.t("This run was stopped before it recorded anything.");
    }
    if (live) return l10n.t("The run has started ({0}); its report begins when the kernel's program is captured.", live.headline);
    return problem || l10n.t("The report is being read.");
  }
  const { run } = report;
  if (run.state === "running") return exported_s === null ? going(report, live) : l10n.t("This run was still going on when its report was exported.");
  if (run.state === "finished") return run.reason ? l10n.t("Finished. {0}", sentence(capital(run.reason))) : l10n.t("Finished.");
  if (run.state === "interrupted") {
    if (!run.reason) return l10n.t("Stopped before its end. What it found is kept, and it can be resumed.");
    return l10n.t("Stopped before its end: {0} What it found is kept, and it can be resumed.", sentence(run.reason));
  }
  return failed(live?.error || run.reason);
}

function failed(why: string): string {
  return why ? l10n.t("This run failed: {0}", sentence(why)) : l10n.t("This run failed without a message.");
}

function going({ run }: Report, live: Shown["live"]): string {
  if (!live) return l10n.t("This run is running in another window or terminal; its report shows its current state.");
  if (live.state !== "running") return l10n.t("The run has ended; its report is being read.");
  if (live.headline === "stopping") return l10n.t("Stopping; what was found so far is kept.");
  if (live.headline === "verifying") return l10n.t("Verifying the best candidates in fresh processes.");
  const doing: Record<string, string> = { start: l10n.t("Starting."), capture: l10n.t("Capturing the kernel's inputs."), baseline: l10n.t("Examining the original.") };
  const word = live.trials === 0 ? doing[live.phase] : undefined;
  if (word) return word;
  return run.mode === "measured" ? l10n.t("Searching; scores are of screening until the best are verified.") : l10n.t("Searching; nothing is measured, so there are tiers only.");
}

/** The first letter, and none of a name in code. */
export function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function sentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** `worth`: a ratio only where it is verified; else words. */
export interface Result {
  worth: string;
  known: string;
  variant: Variant | null;
}

/** What to look at first. */
export function result(report: Report): Result {
  const { run, variants } = report;
  const best = variants.find((variant) => variant.number === run.best) ?? null;
  const going = run.state === "running";
  if (run.mode === "predicted") {
    const known = l10n.t("predicted for {0}, nothing was measured", run.device);
    const likely = best ?? variants.find((variant) => variant.tier === "likely faster") ?? null;
    if (likely?.tier) return { worth: capital(tierWords(likely.tier)), known, variant: likely };
    return { worth: going ? l10n.t("Nothing likely faster yet") : l10n.t("Nothing likely faster"), known, variant: null };
  }
  const verified = best?.ratio ? best : (variants.find((variant) => variant.state === "verified") ?? null);
  if (verified?.ratio) {
    const between = interval(verified.ratio);
    const known = run.objective === "device" ? l10n.t("verified, 95 % interval {0}, device time", between) : l10n.t("verified, 95 % interval {0}, call time", between);
    return { worth: ratio(verified.ratio.value), known, variant: verified };
  }
  return { worth: going ? l10n.t("Nothing verified yet") : l10n.t("Nothing verified"), known: l10n.t("measured on {0}", run.gpu || run.device), variant: null };
}

/** A variant's result in a cell: a verified ratio, or a tier; its state says the rest. */
export function worth(variant: Variant): string {
  if (variant.ratio) return ratio(variant.ratio.value);
  return variant.tier ? tierWords(variant.tier) : NOTHING;
}
