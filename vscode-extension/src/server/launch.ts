/** How the server that the extension carries is started. */
import path from "node:path";
import type { Python } from "../python/probe.ts";

export interface Launch {
  command: string;
  args: string[];
}

/**
 * The language server in an isolated Python: neither the folder nor PYTHONPATH nor the user's packages are on its path.
 *
 * @param root the extension's folder
 * @param cache a folder for compiled bytecode, since the extension's own may be read-only
 */
export function launch(python: Python, root: string, cache: string): Launch {
  const isolated = ["-I", "-X", "utf8"];
  return { command: python.path, args: [...isolated, path.join(root, "bundled", "start.py"), "--cache", cache, "lsp"] };
}
