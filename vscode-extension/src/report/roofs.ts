/** The roofs of a GPU and what stands under them, ready to be drawn on two logarithmic axes. */
import * as l10n from "@vscode/l10n";
import type { Point, Roofline } from "./shape.ts";

/** FLOP per byte and FLOP per second. */
export interface Spot {
  x: number;
  y: number;
}

/** Variants that stand on one place; 0 is the original. */
export interface Group extends Spot {
  variants: number[];
  /** `measured`: counted work over measured time. `unmeasured`: only the intensity is known; `y` is the most that the roof allows there, not a rate. */
  kind: "measured" | "unmeasured";
}

/** `line` goes up the slope of memory and along the flat of arithmetic; its corner is the ridge. */
export interface Roof {
  flops_per_s: number;
  ridge: Spot;
  line: Spot[];
}

export interface Roofs {
  roofs: Roof[];
  groups: Group[];
  /** Ends of the axes. */
  x: [number, number];
  y: [number, number];
}

/** Undefined where there is nothing to draw. */
export function roofs({ device, points }: Roofline): Roofs | undefined {
  if (!device) return undefined;
  const groups = grouped(points, device.dram_bytes_per_s);
  if (!groups.length) return undefined;
  const peaks = [...new Set(points.flatMap((point) => point.peak_flops_per_s ?? []))].sort((a, b) => a - b);
  if (!peaks.length) peaks.push(device.fp32_flops_per_s);
  const ridges = peaks.map((peak) => ({ x: peak / device.dram_bytes_per_s, y: peak }));
  const xs = [...groups, ...ridges].map(({ x }) => x);
  const ends: [number, number] = [10 ** Math.floor(Math.log10(Math.min(...xs) / 1.5)), 10 ** Math.ceil(Math.log10(Math.max(...xs) * 1.5))];
  const lines = peaks.map((peak, index) => {
    const ridge = ridges[index] ?? { x: ends[1], y: peak };
    return { flops_per_s: peak, ridge, line: [{ x: ends[0], y: ends[0] * device.dram_bytes_per_s }, ridge, { x: ends[1], y: peak }] };
  });
  const ys = [...groups, ...lines.flatMap(({ line }) => line)].map(({ y }) => y);
  return { roofs: lines, groups, x: ends, y: [10 ** Math.floor(Math.log10(Math.min(...ys))), 10 ** Math.ceil(Math.log10(Math.max(...ys) * 1.2))] };
}

function grouped(points: readonly Point[], bytes: number): Group[] {
  const found = new Map<string, Group>();
  for (const point of points) {
    const x = point.intensity_flop_per_byte;
    if (x === null || x <= 0) continue;
    const kind = point.flops_per_s ? "measured" : "unmeasured";
    const y = point.flops_per_s ?? Math.min(x * bytes, point.peak_flops_per_s ?? Infinity);
    // The original stands alone, so that it is seen.
    const key = `${kind} ${x.toPrecision(4)} ${y.toPrecision(4)} ${String(point.variant === 0)}`;
    const group = found.get(key) ?? { x, y, kind, variants: [] };
    group.variants.push(point.variant);
    found.set(key, group);
  }
  return [...found.values()];
}

/** `the original`, `variant 3`, `variants 3, 4 and 7`; of many the first ones. */
export function named(variants: readonly number[]): string {
  if (variants.length === 1 && variants[0] === 0) return l10n.t("the original");
  const shown = variants.slice(0, 8).map(String);
  const rest = variants.length - shown.length;
  if (rest > 0) return l10n.t("variants {0} and {1} more", shown.join(", "), rest);
  return shown.length === 1 ? l10n.t("variant {0}", shown[0] ?? "") : l10n.t("variants {0} and {1}", shown.slice(0, -1).join(", "), shown.at(-1) ?? "");
}

/** What the picture shows, for who doesn't see it. */
export function summary({ device, case_name, points }: Roofline): string {
  const measured = points.filter((point) => point.intensity_flop_per_byte && point.flops_per_s).length;
  const unmeasured = points.filter((point) => point.intensity_flop_per_byte && !point.flops_per_s).length;
  const parts = [measured ? l10n.t("{0} measured", measured) : "", unmeasured ? l10n.t("{0} by their intensity only", unmeasured) : ""].filter(Boolean).join(", ");
  return l10n.t("Roofline of {0} on case {1}, the original among them: {2}.", device?.name ?? l10n.t("the GPU"), case_name, parts);
}
