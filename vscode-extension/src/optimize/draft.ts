/** A drafted function that shows a kernel at work is put where it belongs, for its user to look at. */
import * as vscode from "vscode";
import type { Draft } from "../protocol.ts";
import { Refusal } from "../refusals/remedies.ts";

/** As one edit: undone like any other. What is there already stays. */
export async function putIn({ uri, text, appended, entry }: Draft): Promise<void> {
  const file = vscode.Uri.parse(uri);
  const edit = new vscode.WorkspaceEdit();
  if (appended) {
    const there = await vscode.workspace.openTextDocument(file);
    edit.insert(file, there.lineAt(there.lineCount - 1).range.end, text);
  } else edit.createFile(file, { contents: Buffer.from(text) });
  if (!(await vscode.workspace.applyEdit(edit))) throw new Refusal(vscode.l10n.t("The editor did not accept the edit, so nothing was changed: try again."), []);
  const document = await vscode.workspace.openTextDocument(file);
  const at = document.positionAt(Math.max(0, document.getText().lastIndexOf(`def ${entry}(`)));
  await vscode.window.showTextDocument(document, { preview: false, selection: new vscode.Range(at, at) });
}
