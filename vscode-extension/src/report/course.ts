/** How the best so far came about, as lines and points over trials or over seconds. */
import * as l10n from "@vscode/l10n";
import { whole } from "./format.ts";
import type { Report, Step, Tier } from "./shape.ts";
import { tierWords } from "./words.ts";

/** From worst to best, the order of the axis. */
export const TIERS: readonly Tier[] = ["likely slower", "unclear", "likely faster"];

export type Axis = "trials" | "seconds";

/** `y`: a screening score, or the tier's place in TIERS. */
export interface Spot {
  x: number;
  y: number;
  variant: number;
}

/** `best` is a line of steps from the original on; `tried` a point for each trial that has a value; `verified` the final's ratios at their trials. */
export interface Course {
  measured: boolean;
  best: Spot[];
  tried: Spot[];
  verified: Spot[];
  without: number;
}

export function course(report: Report, axis: Axis): Course {
  const measured = report.run.mode === "measured";
  const at = (step: Step): number => (axis === "trials" ? step.trial : step.seconds_s);
  const best: Spot[] = measured && report.course.length ? [{ x: 0, y: 1, variant: 0 }] : [];
  const tried: Spot[] = [];
  for (const step of report.course) {
    const value = measured ? step.screening_score : place(step.tier);
    const most = measured ? step.best_screening_score : place(step.best_tier);
    if (value !== null) tried.push({ x: at(step), y: value, variant: step.variant });
    if (most !== null) best.push({ x: at(step), y: most, variant: step.best_variant });
  }
  const when = new Map(report.course.map((step) => [step.variant, at(step)]));
  const verified: Spot[] = [];
  for (const { number, ratio } of report.variants) {
    const x = when.get(number);
    if (ratio && x !== undefined) verified.push({ x, y: ratio.value, variant: number });
  }
  return { measured, best, tried, verified, without: report.course.length - tried.length };
}

function place(tier: Tier | null): number | null {
  return tier === null ? null : TIERS.indexOf(tier);
}

/** The words of a place on the axis of tiers; none between them. */
export function tierAt(height: number): string {
  const tier = TIERS[height];
  return tier ? tierWords(tier) : "";
}

/** What the picture shows, for who doesn't see it. */
export function summary(report: Report, { measured, best, verified }: Course): string {
  const last = best.at(-1);
  const trials = report.course.length;
  if (!last) return withNone(trials, measured);
  if (measured) return `${top(trials, last)} ${verified.length === 1 ? l10n.t("1 variant verified.") : l10n.t("{0} variants verified.", whole(verified.length))}`;
  const tier = tierAt(last.y);
  if (trials === 1) return l10n.t("After 1 trial the best tier is {0}, of variant {1}. Predicted, not measured.", tier, last.variant);
  return l10n.t("After {0} trials the best tier is {1}, of variant {2}. Predicted, not measured.", whole(trials), tier, last.variant);
}

function withNone(trials: number, measured: boolean): string {
  if (measured) return trials === 1 ? l10n.t("1 trial, none with a score yet.") : l10n.t("{0} trials, none with a score yet.", whole(trials));
  return trials === 1 ? l10n.t("1 trial, none with a tier yet.") : l10n.t("{0} trials, none with a tier yet.", whole(trials));
}

function top(trials: number, { y, variant }: Spot): string {
  const score = y.toFixed(2);
  if (trials === 1) {
    return variant ? l10n.t("After 1 trial the best screening score is {0}, of variant {1}.", score, variant) : l10n.t("After 1 trial the best screening score is {0}, of the original.", score);
  }
  if (variant) return l10n.t("After {0} trials the best screening score is {1}, of variant {2}.", whole(trials), score, variant);
  return l10n.t("After {0} trials the best screening score is {1}, of the original.", whole(trials), score);
}
