/** What the extension and its page say to each other. */
import type { RunChanged } from "../protocol.ts";
import type { Report } from "./shape.ts";

/** What a page shows. `report` null: there is none yet, and `problem` says why. `live` is newer than the one in the report. */
export interface Shown {
  run: string;
  report: Report | null;
  live: RunChanged | null;
  problem: string;
  /** Seconds since the epoch at which this was made a file; null in the editor. */
  exported_s: number | null;
}

export type ToPage = Shown;

/** Of a variant: by its number; what it says of itself is looked up here, never taken from the page. */
export const OF_A_VARIANT = ["apply", "compare", "explain", "copyPatch"] as const;
export const OF_THE_RUN = ["open", "cancel", "resume", "exportHtml", "exportJson"] as const;

export type FromPage =
  | { type: "ready" }
  | { type: "variant"; does: (typeof OF_A_VARIANT)[number]; variant: number }
  | { type: "run"; does: (typeof OF_THE_RUN)[number] };

/** What a page said, or undefined: it is not trusted to be one of ours. */
export function heard(said: unknown): FromPage | undefined {
  if (typeof said !== "object" || said === null) return undefined;
  const { type, does, variant } = said as Record<string, unknown>;
  if (type === "ready") return { type };
  const ofVariant = OF_A_VARIANT.find((name) => name === does);
  if (type === "variant" && ofVariant && typeof variant === "number" && Number.isInteger(variant)) return { type, does: ofVariant, variant };
  const ofRun = OF_THE_RUN.find((name) => name === does);
  return type === "run" && ofRun ? { type, does: ofRun } : undefined;
}
