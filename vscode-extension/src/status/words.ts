/** What the language status says of an environment: torch, Triton, GPU. */
import * as l10n from "@vscode/l10n";
import type { Environment } from "../protocol.ts";

type Check = Environment["checks"][number];

/** `packages` and `gpu` are for the item itself, the others for the line beside it. */
export interface EnvironmentWords {
  packages: string;
  aboutPackages: string;
  gpu: string;
  aboutGpu: string;
  hasGpu: boolean;
  /** Nothing can run there. */
  broken: boolean;
}

/** Of what `kernelband doctor` has found. */
export function environmentWords({ checks, works }: Environment): EnvironmentWords {
  const of = (name: string): Check | undefined => checks.find((check) => check.name === name);
  const gpu = checks.find(({ name }) => name.startsWith("gpu"));
  const missing = ["worker", "torch", "triton", "versions"].map(of).find((check) => check?.state === "missing");
  const [model, ...more] = gpu?.state === "ok" ? gpu.found.split(", ") : [];
  const packages = [`torch ${of("torch")?.found.split(",")[0] ?? ""}`, `Triton ${of("triton")?.found ?? ""}`].join(" · ");
  return {
    packages: missing ? trouble(missing) : packages,
    aboutPackages: missing ? `${missing.found}. ${missing.means}` : (of("worker")?.found.split(" (")[0] ?? ""),
    gpu: model ?? l10n.t("no GPU: predicted"),
    aboutGpu: works["measure"]
      ? [l10n.t("variants are measured on it"), ...more].join(", ")
      : works["predict"]
        ? l10n.t("variants are checked, and not timed")
        : l10n.t("nothing can be optimized"),
    hasGpu: model !== undefined,
    broken: missing !== undefined,
  };
}

function trouble({ name }: Check): string {
  if (name === "worker") return l10n.t("The interpreter can't be started");
  if (name === "versions") return l10n.t("torch or Triton is too old");
  return l10n.t("{0} can't be used", name === "triton" ? "Triton" : name);
}

/** A path that fits into a line: its end says which environment it is. */
export function shortPath(path: string): string {
  const parts = path.split(/[\\/]/);
  return path.length > 24 && parts.length > 4 ? `…/${parts.slice(-3).join("/")}` : path;
}
