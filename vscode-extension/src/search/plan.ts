/** The packages that only the search needs: where they go, and what installs them. */
import * as l10n from "@vscode/l10n";
import { createHash } from "node:crypto";
import path from "node:path";
import type { Python } from "../python/probe.ts";

/** The folder for a Python's packages. Another lock or another Python is another folder, so one that is there is right. */
export function folder(storage: string, python: Python, lock: string): string {
  const hash = createHash("sha256").update(lock).digest("hex").slice(0, 12);
  return path.join(storage, "search", `${python.tag}-${hash}`);
}

/**
 * Arguments of a Python that install the lock's packages into `target`: wheels only, each by its hash.
 *
 * @param wheelhouse a folder with the wheels; without one the user's own index is asked, as their pip is configured
 */
export function installation(lockFile: string, target: string, wheelhouse?: string): string[] {
  const from = wheelhouse ? ["--no-index", `--find-links=${wheelhouse}`] : [];
  const pip = ["-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-warn-script-location", "--progress-bar=off"];
  return [...pip, "--only-binary=:all:", "--require-hashes", `--target=${target}`, ...from, "-r", lockFile];
}

/** What of pip's output says how far it is, for a person; "" for other lines. */
export function progress(line: string): string {
  const found = /^(?:Collecting|Downloading|Processing) (?:.*\/)?([A-Za-z][\w.-]*?)(?:[-=<> ].*)?$/.exec(line.trim());
  if (found) return found[1] ?? "";
  return line.startsWith("Installing collected packages") ? "…" : "";
}

/** Why an installation failed, in one sentence, from the end of what pip said. */
export function failure(output: string, wheelhouse?: string): string {
  const error = output
    .split("\n")
    .filter((line) => line.startsWith("ERROR:"))
    .map((line) => line.slice(6).trim());
  const missing = /No matching distribution found for (\S+)/.exec(output)?.[1];
  if (missing && wheelhouse) {
    return l10n.t("{0} has no wheel of {1} for this Python: add it, or set kernelband.search.interpreter to a Python that has the packages.", wheelhouse, missing);
  }
  if (/NewConnectionError|Temporary failure in name resolution|Max retries|No matching distribution found/.test(output)) {
    return l10n.t("The package index can't be reached: set kernelband.search.wheelhouse to a folder with the wheels, or kernelband.search.interpreter to a Python that has numpy, scikit-learn and openai.");
  }
  return error[0]
    ? l10n.t("pip could not install the packages of the search ({0}): see the log, or set kernelband.search.interpreter to a Python that has numpy, scikit-learn and openai.", error[0])
    : l10n.t("pip could not install the packages of the search: see the log, or set kernelband.search.interpreter to a Python that has numpy, scikit-learn and openai.");
}

/** The command that starts KernelBand's command line. */
export function command(python: string, root: string, packages?: string): string[] {
  return [python, path.join(root, "bundled", "start.py"), ...(packages ? ["--packages", packages] : [])];
}
