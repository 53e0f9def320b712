/** Runs pip, says how far it is, and puts the folder in its place when it is whole. */
import * as l10n from "@vscode/l10n";
import { spawn } from "node:child_process";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import type { Python } from "../python/probe.ts";
import { failure, installation, progress } from "./plan.ts";

const DEADLINE_MS = 900_000;

export interface Installation {
  python: Pick<Python, "path" | "pip">;
  lockFile: string;
  target: string;
  wheelhouse?: string | undefined;
}

/**
 * @param say a package's name, when it is its turn
 * @param log every line that pip prints
 * @param cancelled aborted when the user no longer wants it
 * @throws Error with one sentence for the user
 */
export async function install(wanted: Installation, say: (name: string) => void, log: (line: string) => void, cancelled: AbortSignal): Promise<void> {
  const partial = `${wanted.target}.partial-${process.pid}`;
  const environment = `${wanted.target}.pip-${process.pid}`;
  mkdirSync(path.dirname(wanted.target), { recursive: true });
  rmSync(partial, { recursive: true, force: true });
  try {
    let python = wanted.python.path;
    if (wanted.python.pip !== "own") {
      // A system's Python without pip, as Debian's: an environment of its own has one, and is needed for this only.
      const made = await run(python, ["-I", "-m", "venv", environment], say, log, cancelled);
      if (made.code !== 0) throw new Error(failure(`ERROR: ${made.text.trim().split("\n").at(-1) ?? ""}`));
      python = path.join(environment, process.platform === "win32" ? "Scripts" : "bin", "python");
    }
    const output = await run(python, installation(wanted.lockFile, partial, wanted.wheelhouse), say, log, cancelled);
    if (output.code !== 0) throw new Error(failure(output.text, wanted.wheelhouse));
    rmSync(wanted.target, { recursive: true, force: true });
    renameSync(partial, wanted.target);
  } finally {
    rmSync(partial, { recursive: true, force: true });
    rmSync(environment, { recursive: true, force: true });
  }
}

function run(
  python: string,
  args: string[],
  say: (name: string) => void,
  log: (line: string) => void,
  cancelled: AbortSignal,
): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    // A group of its own: pip's own children go with it.
    const child = spawn(python, args, { cwd: "/", detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    let rest = "";
    const end = (why: string): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        child.kill("SIGKILL"); // no such group: it has ended, or this system has none
      }
      reject(new Error(why));
    };
    const timer = setTimeout(() => end(l10n.t("Installing the packages of the search took longer than 15 minutes and was stopped: see the log.")), DEADLINE_MS);
    const stop = (): void => end(l10n.t("The packages of the search were not installed: you stopped it."));
    cancelled.addEventListener("abort", stop);
    const hear = (data: Buffer): void => {
      text = (text + data.toString()).slice(-100_000);
      const lines = (rest + data.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        log(line);
        const name = progress(line);
        if (name) say(name);
      }
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("error", (error) => reject(new Error(l10n.t("{0} can't be started: {1}.", python, error.message))));
    child.on("close", (code) => {
      clearTimeout(timer);
      cancelled.removeEventListener("abort", stop);
      resolve({ code, text });
    });
  });
}
