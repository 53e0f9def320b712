/** Where a run stands, in one sentence, and what came of it, in the biggest words of the page. */
import type { Shown } from "./messages.ts";
import { interval, NOTHING, ratio } from "./format.ts";
import type { Report, Variant } from "./shape.ts";

/** A sentence for the run's state; it changes with the phase and not with each trial, so that it can be read out. */
export function state({ report, live, problem, exported_s }: Shown): string {
  if (!report) {
    if (live?.state === "failed") return sentence(`This run failed: ${live.error || live.reason || "it said nothing"}`);
    if (live && live.state !== "running") return sentence(`This run was stopped before it wrote anything down${live.reason ? `: ${live.reason}` : ""}`);
    if (live) return `The run has begun (${live.headline}); its report begins when the kernel's program was captured.`;
    return problem || "The report is being read.";
  }
  const { run } = report;
  if (run.state === "running") return exported_s === null ? going(report, live) : "This run was still going on when its report was exported.";
  if (run.state === "finished") return `Finished. ${run.reason ? sentence(capital(run.reason)) : ""}`.trim();
  if (run.state === "interrupted") return `${sentence(`Stopped before its end${run.reason ? `: ${run.reason}` : ""}`)} What it found is kept, and it can be resumed.`;
  return sentence(`This run failed: ${live?.error || run.reason || "it said nothing"}`);
}

function going({ run }: Report, live: Shown["live"]): string {
  if (!live) return "This run goes on in another window or terminal; its report is as of now.";
  if (live.state !== "running") return "The run has ended; its report is being read.";
  if (live.headline === "stopping") return "Stopping; what was found so far is kept.";
  if (live.headline === "verifying") return "Verifying the best candidates in fresh processes.";
  const doing: Record<string, string> = { start: "Starting.", capture: "Capturing what the kernel works on.", baseline: "Looking at the original." };
  const word = live.trials === 0 ? doing[live.phase] : undefined;
  if (word) return word;
  return run.mode === "measured" ? "Searching; scores are of screening until the best are verified." : "Searching; nothing is measured, so there are tiers only.";
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
    const likely = best ?? variants.find((variant) => variant.tier === "likely faster") ?? null;
    if (likely?.tier) return { worth: capital(likely.tier), known: `predicted for ${run.device}, nothing was measured`, variant: likely };
    return { worth: going ? "No candidate yet" : "No candidate", known: `predicted for ${run.device}, nothing was measured`, variant: null };
  }
  const verified = best?.ratio ? best : (variants.find((variant) => variant.state === "verified") ?? null);
  if (verified?.ratio) {
    const known = `verified, 95 % interval ${interval(verified.ratio)}, ${run.objective === "device" ? "device time" : "call time"}`;
    return { worth: ratio(verified.ratio.value), known, variant: verified };
  }
  return { worth: going ? "Nothing verified yet" : "Nothing verified", known: `measured on ${run.gpu || run.device}`, variant: null };
}

/** A variant's result in a cell: a verified ratio, or a tier; its state says the rest. */
export function worth(variant: Variant): string {
  return variant.ratio ? ratio(variant.ratio.value) : (variant.tier ?? NOTHING);
}
