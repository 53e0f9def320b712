/** Reports for tests. Their figures are made up. */
import type { RunChanged } from "../../src/protocol.ts";
import type { Report, Step, Variant } from "../../src/report/shape.ts";

export function ratio(value: number): { value: number; low: number; high: number } {
  return { value, low: value - 0.05, high: value + 0.05 };
}

export function step(trial: number, more: Partial<Step> = {}): Step {
  const none = { screening_score: null, best_screening_score: 1, tier: null, best_tier: null } as const;
  return { trial, variant: trial, seconds_s: trial * 2.5, outcome: "slower", best_variant: 0, stage: "screening", ...none, ...more };
}

export function variant(number: number, more: Partial<Variant> = {}): Variant {
  return {
    number,
    parent: 0,
    trial: number,
    move: "tiling.tiles",
    parameters: { BLOCK: 256 },
    title: `BLOCK 64 -> 256 (${number})`,
    why: "small",
    author: "rewriter",
    numerics: "exact",
    state: "screened",
    outcome: "slower",
    reason: "Screening: slower.",
    seconds_s: 1,
    tier: null,
    fact: null,
    ratio: null,
    figures: null,
    decision: null,
    cluster: null,
    explanation: [{ text: "What: BLOCK 64 -> 256", below: false }],
    patch: "diff --git a/k.py b/k.py\n--- a/k.py\n+++ b/k.py\n@@ -3,2 +3,2 @@\n BLOCK: tl.constexpr\n-BLOCK = 64\n+BLOCK = 256\n",
    ...more,
  };
}

export function report(more: Partial<Report> = {}, run: Partial<Report["run"]> = {}): Report {
  return {
    run: {
      id: "a1b2c3d4",
      kernel: "scale_kernel",
      path: "/w/k.py",
      device: "NVIDIA H200 SXM",
      gpu: "",
      mode: "measured",
      policy: "kernelband",
      objective: "device",
      seed: 0,
      author: "rewriter",
      entry: null,
      against: "",
      trials_budget: 20,
      seconds_budget_s: null,
      state: "finished",
      phase: "done",
      reason: "1 verified; the 20 trials are used up",
      best: null,
      created_s: 1_795_000_000,
      ended_s: 1_795_000_060,
      versions: { kernelband: "0.1.0", triton: "3.6.0", cuda: null },
      cost: { seconds_s: 60, seconds_per_trial_s: 2.5, to_verified_s: 51, to_checked_s: null, clock_s: { compile: 20, time: 30 }, model: null },
      ...run,
    },
    counts: { proposed: 30, compiled: 28, executed: 2, verified: 1, duplicates: 7, compile_errors: 2, failed: 0, wrong: 0 },
    course: [step(1), step(2)],
    arms: { rows: [], reason: "none" },
    clusters: { rows: [], reason: "none" },
    cases: [],
    roofline: { device: null, case: null, case_name: "", points: [], reason: "none" },
    variants: [variant(1), variant(2)],
    left_out: 0,
    dropped: [],
    live: null,
    ...more,
  };
}

export function live(more: Partial<RunChanged> = {}): RunChanged {
  return {
    run: "a1b2c3d4",
    uri: "file:///w/k.py",
    kernel: "scale_kernel",
    state: "running",
    phase: "search",
    mode: "measured",
    device: "NVIDIA H200 SXM",
    headline: "3/20",
    fraction: 0.12,
    trials: 3,
    score: null,
    tier: null,
    verified: [],
    counts: {},
    reason: "",
    error: "",
    ...more,
  };
}
