/** What may run, as the server is told: folders that are open are the editor's to trust, others the user's, whose yes counts for the window. */
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { within } from "../python/path.ts";

export class Trust {
  readonly #others = new Set<string>();

  /** A folder outside of the workspace that the user lets run. */
  add(folder: string): void {
    this.#others.add(folder);
  }

  get words(): { uri: string; trusted: boolean }[] {
    const open = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => ({ uri: uri.toString(), trusted: vscode.workspace.isTrusted }));
    return [...open, ...[...this.#others].map((folder) => ({ uri: vscode.Uri.file(folder).toString(), trusted: true }))];
  }

  /** Whether the server has been told that a document may run; where it hasn't, it refuses, and says why. */
  allows(uri: string): boolean {
    const file = fileOf(uri);
    if (isOpen(file)) return vscode.workspace.isTrusted;
    return [...this.#others].some((folder) => within(real(file.fsPath), real(folder)));
  }

  folder(uri: string): vscode.Uri | undefined {
    return vscode.workspace.getWorkspaceFolder(fileOf(uri))?.uri;
  }

  isFile(uri: string): boolean {
    return fileOf(uri).scheme === "file";
  }

  /** Whether the server surely refuses: nothing of the window may run, or it is no file. Of other files there may be a word in its own list. */
  refuses(uri: string): boolean {
    const file = fileOf(uri);
    return file.scheme !== "file" || (isOpen(file) && !vscode.workspace.isTrusted);
  }

  /** The folder of a file that is in no open one, for a question; undefined where none is left: it may run, or nothing may in this window. */
  unasked(uri: string): string | undefined {
    const file = fileOf(uri);
    const known = !vscode.workspace.isTrusted || file.scheme !== "file" || isOpen(file) || this.allows(uri);
    return known ? undefined : path.dirname(real(file.fsPath));
  }
}

/** Whether the user lets it run. */
export async function asked(folder: string): Promise<boolean> {
  const detail = vscode.l10n.t(
    "This file is in no open folder. To optimize its kernels, tests or bench functions of that folder, and of those below it, run with your Python, as you. It holds until this window is closed.",
  );
  const yes = vscode.l10n.t("Let them run");
  return (await vscode.window.showInformationMessage(vscode.l10n.t("Let files in {0} run?", folder), { modal: true, detail }, yes)) === yes;
}

/** Of a notebook's cell the notebook, which may be no file yet. */
function fileOf(uri: string): vscode.Uri {
  const parsed = vscode.Uri.parse(uri);
  if (parsed.scheme !== "vscode-notebook-cell") return parsed;
  const cell = parsed.toString();
  return vscode.workspace.notebookDocuments.find((book) => book.getCells().some(({ document }) => document.uri.toString() === cell))?.uri ?? parsed;
}

function isOpen(file: vscode.Uri): boolean {
  return vscode.workspace.getWorkspaceFolder(file) !== undefined;
}

/** With links followed, as the server does; what isn't there stays as it is. */
function real(file: string): string {
  return existsSync(file) ? realpathSync(file) : file;
}
