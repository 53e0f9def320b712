/** The editor's documents, as reviews look at them and edit them. */
import * as vscode from "vscode";
import { changeOf, linesOf, type Splice } from "./lines.ts";
import type { Review } from "./review.ts";

/** Whether the document has the text that the review follows. */
export function isAt(review: Review, document: vscode.TextDocument): boolean {
  const lines = review.file(document.uri.toString())?.text.lines;
  return lines?.length === document.lineCount && lines.every((line, at) => document.lineAt(at).text === line);
}

/** In a tab of its own, or as what is edited of a comparison. */
export function isInTab(uri: string): boolean {
  const inputs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
  return inputs.some((input) => {
    const shown = input instanceof vscode.TabInputText ? input.uri : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
    return shown?.toString() === uri;
  });
}

/** One edit of all files, made of their texts of this moment; the editor refuses it where one has changed since. */
export async function apply(splices: ReadonlyMap<string, readonly Splice[]>): Promise<boolean> {
  const edit = new vscode.WorkspaceEdit();
  for (const [uri, own] of splices) {
    const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri);
    if (!document) return false;
    const eol = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
    const lines = linesOf(document.getText());
    for (const splice of own) {
      const { range, text } = changeOf(lines, splice, eol);
      edit.replace(document.uri, new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character), text);
    }
  }
  return vscode.workspace.applyEdit(edit);
}
