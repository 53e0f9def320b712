/** What the side bar's rows say: kernels by file, runs with their variants. */
import * as l10n from "@vscode/l10n";
import type { RunChanged, RunVariant, WorkspaceKernel, WorkspaceRun } from "../protocol.ts";

/** As far as a tree item is the same for all. `icon` is a codicon's name, `color` a theme colour for it; `context` is what menus ask for. */
interface Row {
  id: string;
  label: string;
  description: string;
  icon: string;
  color?: string;
  tooltip: string;
  context: string;
}

export interface KernelRow extends Row {
  kind: "kernel";
  uri: string;
  kernel: string;
  line: number;
  /** To look into: the one that goes on, else the latest; null for none. */
  run: string | null;
}

export interface FileRow extends Row {
  kind: "file";
  uri: string;
  kernels: KernelRow[];
}

export interface VariantRow extends Row {
  kind: "variant";
  uri: string;
  kernel: string;
  run: string;
  number: number;
}

/** Variants that nobody would put in, out of the way. */
export interface RestRow extends Row {
  kind: "rest";
  variants: VariantRow[];
}

export interface RunRow extends Row {
  kind: "run";
  uri: string;
  kernel: string;
  run: string;
  children: (VariantRow | RestRow)[];
}

/**
 * Kernels under their files, in the order of paths and lines.
 *
 * @param relative a path for people: below the open folder
 * @param live runs that go on, for their words of this moment
 */
export function fileRows(kernels: readonly WorkspaceKernel[], live: readonly RunChanged[], relative: (uri: string) => string): FileRow[] {
  const files = new Map<string, FileRow>();
  for (const found of kernels) {
    const path = relative(found.uri);
    const cut = path.lastIndexOf("/") + 1;
    const made = files.get(path) ?? {
      kind: "file",
      id: `file ${path}`,
      uri: found.uri,
      label: path.slice(cut),
      description: path.slice(0, Math.max(0, cut - 1)),
      icon: "file",
      tooltip: path,
      context: "file",
      kernels: [],
    };
    made.kernels.push(kernelRow(found, live));
    files.set(path, made);
  }
  const sorted = [...files].sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)).map(([, file]) => file);
  for (const file of sorted) {
    file.kernels.sort((one, other) => (one.uri === other.uri ? one.line - other.line : 0));
    tellApart(file.kernels);
  }
  return sorted;
}

/** A name may be defined twice in a file, as under `if` and `else`: a tree takes each id once. */
function tellApart(kernels: readonly KernelRow[]): void {
  const times = new Map<string, number>();
  for (const row of kernels) {
    const before = times.get(row.id) ?? 0;
    times.set(row.id, before + 1);
    if (before) row.id = `${row.id} ${before + 1}`;
  }
}

function kernelRow(found: WorkspaceKernel, live: readonly RunChanged[]): KernelRow {
  const going = live.find(({ run }) => run === found.live);
  const runs = going !== undefined || found.live !== null;
  const told = going?.headline ?? (found.live ? l10n.t("running") : found.told);
  return {
    kind: "kernel",
    id: `kernel ${found.uri} ${found.kernel}`,
    uri: found.uri,
    kernel: found.kernel,
    line: found.line,
    run: found.live ?? found.latest,
    label: found.kernel,
    description: told,
    icon: runs ? "loading~spin" : "symbol-function",
    tooltip: told ? `${found.kernel}: ${told}` : l10n.t("{0} hasn't been optimized yet.", found.kernel),
    context: ["kernel", found.live ?? found.latest ? "known" : "new", runs ? "live" : "quiet"].join(" "),
  };
}

/**
 * Runs, the newest first.
 *
 * @param now milliseconds since the epoch
 */
export function runRows(runs: readonly WorkspaceRun[], live: readonly RunChanged[], now: number, relative: (uri: string) => string): RunRow[] {
  return [...runs].sort((one, other) => other.created - one.created).map((run) => runRow(run, live, now, relative));
}

const ICONS: Record<string, [icon: string, color?: string]> = {
  running: ["loading~spin"],
  finished: ["circle-outline"],
  interrupted: ["debug-pause"],
  failed: ["error", "list.errorForeground"],
};

function runRow(run: WorkspaceRun, live: readonly RunChanged[], now: number, relative: (uri: string) => string): RunRow {
  const going = live.find((other) => other.run === run.run);
  const goes = going !== undefined || run.state === "running";
  const verified = run.variants.some((variant) => variant.verified);
  const device = deviceWords(run.device ?? going?.device ?? null, run.mode ?? going?.mode ?? null);
  const [icon, color] = goes ? ["loading~spin"] : verified ? ["verified-filled", "testing.iconPassed"] : (ICONS[run.state] ?? ["circle-outline"]);
  const headline = going?.headline ?? run.headline;
  const file = relative(run.uri);
  return {
    kind: "run",
    id: `run ${run.run}`,
    uri: run.uri,
    kernel: run.kernel,
    run: run.run,
    label: run.kernel,
    description: [headline, device, when(run.created, now)].filter(Boolean).join(" · "),
    icon,
    ...(color ? { color } : {}),
    tooltip: [`${run.kernel} (${file})`, [headline, device].filter(Boolean).join(" · "), l10n.t("run {0}, {1}", run.run, full(run.created))].join("\n"),
    context: ["run", goes ? (going ? "live" : "elsewhere") : run.state === "interrupted" ? "interrupted" : "past"].join(" "),
    children: variantRows(run),
  };
}

/** Those worth a look one by one; the others together, as long as somebody has something to say for them. */
function variantRows(run: WorkspaceRun): (VariantRow | RestRow)[] {
  const rows = run.variants.map((variant) => [variant, variantRow(run, variant)] as const);
  const worth = rows.filter(([variant]) => variant.verified || variant.decision !== null || variant.tier === "likely faster").map(([, row]) => row);
  const rest = rows.map(([, row]) => row).filter((row) => !worth.includes(row));
  if (!rest.length) return worth;
  const label = run.mode === "predicted" ? l10n.t("{0} unclear or likely slower", rest.length) : l10n.t("{0} more", rest.length);
  return [...worth, { kind: "rest", id: `rest ${run.run}`, label, description: "", icon: "ellipsis", tooltip: label, context: "rest", variants: rest }];
}

function variantRow(run: WorkspaceRun, variant: RunVariant): VariantRow {
  const worth = worthOf(variant);
  const said = variant.decision === "accept" ? l10n.t("accepted") : variant.decision === "reject" ? l10n.t("rejected") : "";
  const known = variant.verified ? l10n.t("verified in fresh processes") : run.mode === "predicted" ? l10n.t("predicted, not measured") : l10n.t("not verified");
  return {
    kind: "variant",
    id: `variant ${run.run}/${variant.number}`,
    uri: run.uri,
    kernel: run.kernel,
    run: run.run,
    number: variant.number,
    label: worth,
    description: [said, variant.title].filter(Boolean).join(" · "),
    icon: variant.decision === "reject" ? "circle-slash" : variant.verified ? "verified-filled" : "circle-outline",
    ...(variant.verified && variant.decision !== "reject" ? { color: "testing.iconPassed" } : {}),
    tooltip: [`${worth}: ${variant.title}`, known, said, l10n.t("variant {0} of run {1}", variant.number, run.run)].filter(Boolean).join("\n"),
    context: ["variant", variant.decision ?? "open"].join(" "),
  };
}

/** A ratio only where it was verified; a prediction's tier in words; else that there is no figure. */
export function worthOf(variant: RunVariant): string {
  if (variant.verified && variant.ratio !== null) return `${variant.ratio.toFixed(2)}×`;
  return variant.tier ?? l10n.t("not verified");
}

/** The GPU's short name, and that it is only predicted for: `H200`, `H100 (predicted)`. */
export function deviceWords(device: string | null, mode: "measured" | "predicted" | null): string {
  const short = /^(?:NVIDIA |AMD )?((?:Instinct |GeForce |RTX )*\S+)/.exec(device ?? "")?.[1] ?? "";
  if (!short) return mode === "predicted" ? l10n.t("predicted") : "";
  return mode === "predicted" ? l10n.t("{0} (predicted)", short) : short;
}

/** `14:05` for today, `21 Nov` for this year, else `2024-11-21`. */
export function when(createdS: number, now: number): string {
  const then = new Date(createdS * 1000);
  const today = new Date(now);
  if (then.toDateString() === today.toDateString()) return `${two(then.getHours())}:${two(then.getMinutes())}`;
  if (then.getFullYear() === today.getFullYear()) return then.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  return full(createdS).slice(0, 10);
}

function full(createdS: number): string {
  const then = new Date(createdS * 1000);
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${two(then.getHours())}:${two(then.getMinutes())}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
