/** A list of Pythons to run kernels with, for who has none chosen, or another one than they mean. */
import { existsSync } from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { shortPath } from "../status/words.ts";
import type { Interpreters } from "./interpreters.ts";
import { active, NAMES, programs } from "./path.ts";

const PYTHON_EXTENSION = "ms-python.python";

type Item = vscode.QuickPickItem & { python?: string; does?: "extension" | "browse" | "setting" };

/** What was chosen: another one, which is kept in the user's settings of this machine (`kernelband.python`), or to see that setting. */
export async function choosePython(interpreters: Interpreters, folder?: vscode.Uri): Promise<"another" | "setting" | "none"> {
  const now = await interpreters.choose(folder);
  const found = [...new Set([...candidates(folder), ...(now.path ? [now.path] : [])])];
  const items: Item[] = found.map((python) => ({ label: shortPath(python), description: python === now.path ? vscode.l10n.t("now, from {0}", now.from) : "", detail: python, python }));
  items.push({ label: vscode.l10n.t("Browse…"), description: vscode.l10n.t("another one of this machine"), does: "browse" });
  if (vscode.extensions.getExtension(PYTHON_EXTENSION)) items.push({ label: vscode.l10n.t("Choose with the Python extension…"), description: vscode.l10n.t("for the open folder"), does: "extension" });
  items.push({ label: vscode.l10n.t("Open the setting"), description: "kernelband.python", does: "setting" });
  const title = vscode.l10n.t("Which Python has torch and Triton?");
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDetail: true, ignoreFocusOut: true });
  if (!picked) return "none";
  if (picked.does === "setting") return "setting";
  if (picked.does === "extension") {
    await keep(""); // a setting of ours would count before it
    await vscode.commands.executeCommand("python.setInterpreter");
    return "another";
  }
  const chosen = picked.python ?? (await browsed());
  if (chosen) await keep(chosen);
  return chosen === undefined ? "none" : "another";
}

/** Those of the folder's environments, of the one the editor was started in, and of PATH. They are only named: nothing is started. */
function candidates(folder?: vscode.Uri): string[] {
  const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  const own = folder && vscode.workspace.isTrusted ? [".venv", "venv"].map((name) => path.join(folder.fsPath, name, ...inside)) : [];
  const open = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
  const environment = active(process.env);
  return [...own.filter((file) => existsSync(file)), ...(environment ? [environment] : []), ...programs(NAMES, process.env["PATH"] ?? "", open)];
}

async function browsed(): Promise<string | undefined> {
  const [file] = (await vscode.window.showOpenDialog({ title: vscode.l10n.t("A Python that has torch and Triton"), openLabel: vscode.l10n.t("Choose") })) ?? [];
  return file?.fsPath;
}

async function keep(python: string): Promise<void> {
  await vscode.workspace.getConfiguration("kernelband").update("python", python || undefined, vscode.ConfigurationTarget.Global);
}
