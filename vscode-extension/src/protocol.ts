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

export interface Reproduced extends Shown {
  command: string;
  notes: string[];
}

export interface Diagnosed extends Shown {
  text: string;
}
