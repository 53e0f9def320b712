/** What the server is told of the user's settings (docs/lsp.md, Settings). */
import * as vscode from "vscode";

/** Keys that the server knows by the same name. */
const SAME = ["python", "worker", "workers", "gpu", "entry", "trials", "seconds", "lens", "diagnostics", "inspect", "db"] as const;

/**
 * @param pythons the Python of each folder, by path
 * @param search the command that starts a search
 */
export function settings(pythons: Record<string, string>, search: readonly string[]): Record<string, unknown> {
  const ours = vscode.workspace.getConfiguration("kernelband");
  const told: Record<string, unknown> = Object.fromEntries(SAME.map((key) => [key, ours.get(key)]));
  return { ...told, pythons, search, model: ours.get("model.name"), baseUrl: ours.get("model.baseUrl") };
}
