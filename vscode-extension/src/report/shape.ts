/** What `kernelband.server.runReport` answers, as docs/report.md has it; units are in the names. The types of server/kernelband/explain/reportshape.py. */
import type { RunChanged } from "../protocol.ts";

export type RunState = "running" | "finished" | "interrupted" | "failed";
export type Tier = "likely faster" | "unclear" | "likely slower";
export type VariantState =
  | "verified"
  | "not verified"
  | "screened"
  | "checked"
  | "equal"
  | "wrong"
  | "nondeterministic"
  | "untested"
  | "rejected"
  | "suspect"
  | "failed";

/** Time of the original over time of the variant, with where it would lie in one more fresh process (95 %). `high` null: it isn't bounded. */
export interface Ratio {
  value: number;
  low: number;
  high: number | null;
}

export interface ModelCost {
  name: string;
  calls: number;
  tokens_read: number;
  tokens_written: number;
  dollars: number | null;
}

export interface Cost {
  seconds_s: number;
  seconds_per_trial_s: number | null;
  to_verified_s: number | null;
  to_checked_s: number | null;
  clock_s: Record<string, number>;
  model: ModelCost | null;
}

export interface About {
  id: string;
  kernel: string;
  path: string;
  device: string;
  gpu: string;
  mode: "measured" | "predicted";
  policy: string;
  objective: "device" | "call";
  seed: number;
  author: string;
  entry: string | null;
  against: string;
  trials_budget: number | null;
  seconds_budget_s: number | null;
  state: RunState;
  phase: string;
  reason: string;
  best: number | null;
  created_s: number;
  ended_s: number | null;
  versions: Record<string, string | null>;
  cost: Cost;
}

export interface Counts {
  proposed: number | null;
  compiled: number | null;
  executed: number;
  verified: number;
  duplicates: number;
  compile_errors: number;
  failed: number;
  wrong: number;
}

/** One trial; scores are of screening, which chose what was verified, and are no results. */
export interface Step {
  trial: number;
  variant: number;
  seconds_s: number;
  outcome: string;
  best_variant: number;
  screening_score: number | null;
  best_screening_score: number | null;
  tier: Tier | null;
  best_tier: Tier | null;
  stage: "screening" | "predicted";
}

export interface Arm {
  cluster: number;
  strategy: string;
  pulls: number;
  mean_reward: number | null;
  weight: number;
  state: "open" | "masked" | "exhausted";
  why: string;
}

export interface Cluster {
  cluster: number;
  representative: number;
  members: number[];
  size: number;
  limited_by: string | null;
  used_percent: Record<string, number> | null;
}

export interface Case {
  id: string;
  name: string;
  role: "time" | "check" | "held_out" | "left_out";
  function: string;
  arguments: string;
  calls: number;
  device_us: number | null;
  call_us: number | null;
  method: string;
  stage: "final" | "baseline" | null;
}

export interface Peaks {
  name: string;
  source: string;
  dram_bytes_per_s: number;
  l2_bytes_per_s: number;
  fp32_flops_per_s: number;
  tensor_flops_per_s: Record<string, number>;
  launch_us: number;
}

/** Variant 0 is the original. `reason`: why something is null. */
export interface Point {
  variant: number;
  how: "measured" | "predicted";
  stage: "baseline" | "final" | "screening" | null;
  intensity_flop_per_byte: number | null;
  flops_per_s: number | null;
  dram_bytes_per_s: number | null;
  peak_flops_per_s: number | null;
  device_us: number | null;
  limited_by: string | null;
  reason: string;
}

export interface Roofline {
  device: Peaks | null;
  case: string | null;
  case_name: string;
  points: Point[];
  reason: string;
}

export interface Compared {
  original_us: number;
  variant_us: number;
  ratio: Ratio;
  method: string;
}

export interface CaseFigures {
  case: string;
  name: string;
  device: Compared;
  call: Compared;
  disturbed: string | null;
}

export interface WholeFigures {
  quantity: "device" | "call";
  method: string;
  geometric_mean: Ratio;
  time_weighted: number;
  worst_case: string;
  worst: Ratio;
}

export interface FinalFigures {
  processes: number;
  pairs: number;
  cases: CaseFigures[];
  wholes: WholeFigures[];
  sentences: string[];
}

export interface Variant {
  number: number;
  parent: number;
  trial: number;
  move: string;
  parameters: Record<string, unknown>;
  title: string;
  why: string;
  author: string;
  numerics: string;
  state: VariantState;
  outcome: string;
  reason: string;
  seconds_s: number;
  tier: Tier | null;
  fact: string | null;
  ratio: Ratio | null;
  figures: FinalFigures | null;
  decision: "accept" | "reject" | null;
  cluster: number | null;
  explanation: { text: string; below: boolean }[] | null;
  patch: string | null;
}

export interface Dropped {
  parent: number;
  move: string;
  outcome: string;
  reason: string;
}

export interface Report {
  run: About;
  counts: Counts;
  course: Step[];
  arms: { rows: Arm[]; reason: string };
  clusters: { rows: Cluster[]; reason: string };
  cases: Case[];
  roofline: Roofline;
  variants: Variant[];
  left_out: number;
  dropped: Dropped[];
  live: RunChanged | null;
}
