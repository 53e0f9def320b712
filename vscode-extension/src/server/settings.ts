/** What the server is told of the user's settings (docs/lsp.md, Settings). */
import type { Pythons } from "../python/interpreters.ts";

/** Keys that the server knows by the same name. */
const SAME = ["worker", "workers", "gpu", "entry", "trials", "seconds", "lens", "diagnostics", "inspect", "lineCosts", "problems", "db"] as const;

/**
 * @param ours the settings under `kernelband`
 * @param pythons as the editor has them; those behind a worker are the user's own setting only
 * @param search the command that starts a search
 */
export function settings(ours: { get: (key: string) => unknown }, pythons: Pythons, search: readonly string[]): Record<string, unknown> {
  const told: Record<string, unknown> = Object.fromEntries(SAME.map((key) => [key, ours.get(key)]));
  const python = told["worker"] ? ours.get("python") : pythons.elsewhere;
  return { ...told, python, pythons: pythons.byFolder, search, model: ours.get("model.name"), baseUrl: ours.get("model.baseUrl") };
}
