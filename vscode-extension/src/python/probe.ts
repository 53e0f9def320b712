/** What a Python is, asked of itself, isolated from the folder, the environment and the user's packages. */
import { execFile } from "node:child_process";

/** `tag` names what compiled packages it can load, such as `cpython-312-x86_64-linux-gnu`. */
export interface Python {
  path: string;
  version: [major: number, minor: number];
  tag: string;
  /** Whether it has pip, or can make an environment that has it. */
  pip: "own" | "venv" | "none";
}

const ASK = `import importlib.util, json, sys, sysconfig
has = lambda name: importlib.util.find_spec(name) is not None
print(json.dumps([list(sys.version_info[:2]), sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag,
    "own" if has("pip") else "venv" if has("venv") and has("ensurepip") else "none"]))`;
const DEADLINE_MS = 10_000;

/** Asks it; `undefined` if there is no Python that answers in ten seconds. */
export function probe(path: string): Promise<Python | undefined> {
  return new Promise((resolve) => {
    // The root folder: not even an isolated Python shall find a module beside it.
    execFile(path, ["-I", "-c", ASK], { timeout: DEADLINE_MS, killSignal: "SIGKILL", cwd: "/" }, (error, out) => {
      resolve(error ? undefined : read(path, out));
    });
  });
}

/** The first that serves: 3.10 or newer. */
export async function firstThatServes(paths: readonly string[], ask = probe): Promise<Python | undefined> {
  for (const path of paths) {
    const python = await ask(path);
    if (python && serves(python)) return python;
  }
  return undefined;
}

export function serves(python: Python): boolean {
  const [major, minor] = python.version;
  return major > 3 || (major === 3 && minor >= 10);
}

function read(path: string, out: string): Python | undefined {
  try {
    const [version, tag, pip] = JSON.parse(out) as [[number, number], string, Python["pip"]];
    return { path, version, tag, pip };
  } catch {
    return undefined; // it printed something else: no Python
  }
}
