/** What is said between this client and the language server beyond LSP. docs/lsp.md describes each. */

/** Parameters of `kernelband/runChanged`. `score` is of screening until `verified` names variants, and null where nothing is measured. */
export interface RunChanged {
  run: string;
  uri: string;
  kernel: string;
  state: "running" | "finished" | "interrupted" | "failed";
  phase: string;
  mode: "measured" | "predicted" | null;
  device: string | null;
  headline: string;
  fraction: number;
  trials: number;
  score: number | null;
  tier: string | null;
  verified: number[];
  counts: Record<string, number>;
  reason: string;
  error: string;
}

/** Parameters of `kernelband/runEnded`: a run that wasn't started here. */
export type RunEnded = Pick<RunChanged, "run" | "uri" | "kernel" | "headline">;

/** Parameters of `kernelband/refused`: a sentence, and what helps (refusals/remedies.ts), the best first. */
export interface Refused {
  message: string;
  remedies: string[];
  warning: boolean;
  uri: string;
  kernel: string;
  run: string;
}

/** What the next run of a kernel does. `refusal`: why nothing may run there; `predicts`: the GPU where none is in reach. */
export interface Plan {
  refusal: string;
  entry: ShownBy;
  worker: string | null;
  python: string | null;
  gpu: string | null;
  predicts: string;
  pace: Pace | null;
}

/** What shows the kernel at work; null with `why`. `others` are tried where it doesn't do. */
export interface ShownBy {
  entry: string | null;
  how: "chosen" | "settings" | "repository" | "found" | "none";
  others: number;
  why: string;
}

/** A function that would show a kernel at work: for the end of a document, or as a new file. `guesses`: names of what is guessed in it. */
export interface Draft {
  uri: string;
  text: string;
  appended: boolean;
  entry: string;
  guesses: string[];
}

/** Seconds of the kernel's last run. */
export interface Pace {
  run: string;
  trial_s: number;
  before_s: number;
  final_s: number;
}

/** Kernels of a document: those at a position (its own lines, or a launch), and all. */
export interface KernelsAt {
  here: string[];
  all: string[];
}

/** Where a document of the server's can be opened. */
export interface Shown {
  uri: string;
  path: string | null;
  shown: boolean;
}

export interface Compared extends Shown {
  original: string;
  variant: string;
  files: { original: string; variant: string }[];
}

/** All that can be done with a kernel. */
export interface Menu {
  items: { title: string; command: string; arguments: unknown[] }[];
}

export interface Reproduced extends Shown {
  command: string;
  notes: string[];
}

/** A kernel of the open folders and documents. `line` from 0; `told` as its lens says it; `live` and `latest` are ids of runs. */
export interface WorkspaceKernel {
  uri: string;
  kernel: string;
  line: number;
  told: string;
  live: string | null;
  latest: string | null;
  variants: number;
}

/** `truncated`: there may be more; ask again. */
export interface WorkspaceKernels {
  kernels: WorkspaceKernel[];
  truncated: boolean;
}

/** `ratio` is of the final verification only, `tier` of a prediction; one of them at most. */
export interface RunVariant {
  number: number;
  title: string;
  ratio: number | null;
  tier: string | null;
  verified: boolean;
  decision: "accept" | "reject" | null;
}

/** A run of the history or of this moment. `created`: seconds since the epoch. */
export interface WorkspaceRun {
  run: string;
  uri: string;
  path: string;
  kernel: string;
  state: string;
  headline: string;
  device: string | null;
  mode: "measured" | "predicted" | null;
  created: number;
  variants: RunVariant[];
}

/** What a run of a file would find, as `kernelband doctor --json` has it. `asked_s`: when it was looked, in seconds since the epoch. */
export interface Environment {
  worker: string | null;
  python: string | null;
  asked_s: number;
  checks: { name: string; state: "ok" | "missing" | "note"; found: string; means: string }[];
  works: Record<string, boolean>;
}

/** A variant as hunks of the documents of this moment: lines `start` to `end` (excluded, from 0) become `lines`. */
export interface Reviewed {
  uri: string;
  kernel: string;
  run: string;
  variant: number;
  title: string;
  short: string;
  why: string;
  files: { uri: string; version: number | null; hunks: { step: number; start: number; end: number; lines: string[] }[] }[];
  /** In order; `variant` and its words are of the text with a step and all before it. */
  steps: { label: string; variant: number; title: string; short: string; why: string }[];
}

/** What `report` answers: the latest runs of a kernel, and which variant of `told`, or of the run that was asked for, the text is (0 the original, null neither). */
export interface Runs {
  live: RunChanged | null;
  accepted: number | null;
  stale: string;
  told: string | null;
  runs: RunOfKernel[];
}

/** `policy` is `given` where one edit was judged. */
export interface RunOfKernel {
  id: string;
  policy: string;
  mode: "measured" | "predicted";
  device: string;
  variants: VariantOfRun[];
}

/** `ratio` with its interval where it was verified, else a `tier` with the fact behind it. */
export interface VariantOfRun {
  number: number;
  /** All that it changes of the original, in a line; `what` is its last edit. */
  title: string;
  what: string;
  why: string;
  verified: boolean;
  ratio: number | null;
  low: number | null;
  high: number | null;
  cases: number;
  tier: string;
  fact: string;
  decision: string;
}
