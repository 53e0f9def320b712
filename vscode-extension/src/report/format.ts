/** Numbers as people read them: a unit in the text or in the heading above, and as many digits as there is truth. */
import * as l10n from "@vscode/l10n";
import type { Ratio } from "./shape.ts";

export const NOTHING = "–";

/** `1.84×`. */
export function ratio(value: number): string {
  return `${value.toFixed(2)}×`;
}

/** `1.79 to 1.90`, the same figures as everywhere else; `unknown` where an end isn't bounded. */
export function interval({ low, high }: Ratio): string {
  return high === null ? l10n.t("unknown") : l10n.t("{0} to {1}", low.toFixed(2), high.toFixed(2));
}

/** Decimals with which each of these shows three digits, the same for all so that their points stand below each other; 3 at most. */
export function decimals(values: readonly (number | null)[]): number {
  const least = Math.min(...values.filter((value) => value !== null && value > 0).map(Number));
  if (!Number.isFinite(least)) return 0;
  return Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(least))));
}

/** With thousands apart: `12 345.6`, by a space that doesn't break. */
export function fixed(value: number, digits: number): string {
  const [front = "", rest] = value.toFixed(digits).split(".");
  const apart = front.replace(/\B(?=(?:\d{3})+$)/g, "\u202f");
  return rest === undefined ? apart : `${apart}.${rest}`;
}

/** Three digits: `0.0812`, `4.07`, `63.2`, `1 979`. */
export function three(value: number): string {
  if (value === 0) return "0";
  return fixed(value, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
}

export function optional(value: number | null, show: (value: number) => string): string {
  return value === null ? NOTHING : show(value);
}

/** `0.0071 s`, `98.8 s`, `2 min 5 s`, `1 h 12 min`. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const rounded = Math.round(seconds);
  if (rounded < 3600) return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
  const minutes = Math.round(rounded / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** What is counted: `12 345`. */
export function whole(number: number): string {
  return fixed(number, 0);
}

/** `2026-11-22 11:15`, by the clock of who reads. */
export function date(seconds: number): string {
  const at = new Date(seconds * 1000);
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** `BLOCK = 256, num_warps = 4`. */
export function parameters(given: Record<string, unknown>): string {
  return Object.entries(given)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name} = ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
