/** How long a run will take, from the last one of the same kernel. */
import * as l10n from "@vscode/l10n";
import type { Pace } from "../protocol.ts";
import type { Budget } from "./budgets.ts";

/**
 * Seconds from the click to the end; undefined where nothing says how long a trial takes. Seconds of a budget are those of the search with its
 * final verification; what is done before the first trial comes on top.
 */
export function estimate({ trials, seconds }: Budget, pace: Pace | null): number | undefined {
  const counted = trials !== null && pace ? pace.before_s + trials * pace.trial_s + pace.final_s : undefined;
  const timed = seconds !== null ? (pace?.before_s ?? 0) + seconds : undefined;
  if (counted === undefined || timed === undefined) return counted ?? timed;
  return Math.min(counted, timed);
}

/** `about 40 s`, `about 5 min`; "" for what isn't known. */
export function about(seconds: number | undefined): string {
  if (seconds === undefined) return "";
  const rounded = Math.max(5, Math.ceil(seconds / 5) * 5);
  return rounded < 120 ? l10n.t("about {0} s", rounded) : l10n.t("about {0} min", Math.round(seconds / 60));
}

/** Where an estimate comes from. */
export function because({ seconds }: Budget, pace: Pace | null): string {
  if (pace) return l10n.t("From the last run: {0} s to begin, {1} s a trial, {2} s to verify", rounded(pace.before_s), rounded(pace.trial_s), rounded(pace.final_s));
  if (seconds === null) return l10n.t("How long a trial takes is known after a first run");
  return l10n.t("For the search and its final verification; starting comes before that");
}

function rounded(seconds: number): string {
  return seconds < 10 ? String(Number(seconds.toPrecision(2))) : seconds.toFixed(0);
}
