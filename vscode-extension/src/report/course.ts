/** How the best so far came about, as lines and points over trials or over seconds. */
import { count } from "./format.ts";
import type { Report, Step, Tier } from "./shape.ts";

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
    const top = measured ? step.best_screening_score : place(step.best_tier);
    if (value !== null) tried.push({ x: at(step), y: value, variant: step.variant });
    if (top !== null) best.push({ x: at(step), y: top, variant: step.best_variant });
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

/** What the picture shows, for who doesn't see it. */
export function summary(report: Report, { measured, best, verified }: Course): string {
  const last = best.at(-1);
  const trials = count(report.course.length, "trial");
  if (!last) return `${trials}, none with a ${measured ? "score" : "tier"} yet.`;
  if (!measured) return `After ${trials} the best tier is ${TIERS[last.y] ?? ""}, of variant ${last.variant}. Predicted, not measured.`;
  const top = `After ${trials} the best screening score is ${last.y.toFixed(2)}, of ${last.variant ? `variant ${last.variant}` : "the original"}.`;
  return `${top} ${count(verified.length, "variant")} verified.`;
}
