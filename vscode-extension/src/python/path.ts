/** Finds programs by name as a shell would, but never in a folder that is open: what a repository brings isn't run to look at it. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import path from "node:path";

/** Names of a Python, the plain one first, then the newest. */
export const NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"];

/**
 * Absolute paths of the programs with these names.
 *
 * @param names tried in this order in all folders of PATH
 * @param search the value of PATH; relative folders in it are left out
 * @param open folders that are open in the editor
 */
export function programs(names: readonly string[], search: string, open: readonly string[], windows = process.platform === "win32"): string[] {
  const folders = search.split(path.delimiter).filter((folder) => path.isAbsolute(folder) && !open.some((other) => within(folder, other)));
  const files = names.flatMap((name) => folders.map((folder) => path.join(folder, windows ? `${name}.exe` : name)));
  return [...new Set(files.filter(isProgram))];
}

/** The Python of the virtual or conda environment that is active there, as the server takes one where it is told of none; "" without. */
export function active(environment: NodeJS.ProcessEnv, windows = process.platform === "win32"): string {
  const { VIRTUAL_ENV: virtual, CONDA_PREFIX: conda } = environment;
  const inside = windows ? ["Scripts", "python.exe"] : ["bin", "python"];
  const found = [virtual ? path.join(virtual, ...inside) : "", conda ? path.join(conda, ...(windows ? ["python.exe"] : inside)) : ""];
  return found.find((file) => file && existsSync(file)) ?? "";
}

/** Whether a path is a folder or lies below it. */
export function within(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative === "" || (!relative.startsWith(`..${path.sep}`) && relative !== ".." && !path.isAbsolute(relative));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // most names are in no folder
  }
}
