/** Notebooks. */
import * as vscode from "vscode";

/** By the address of the book or of a cell. Cells have no gutter to show removed lines in, and are edited each by itself: nothing in them is under review. */
export function inNotebook(uri: string): boolean {
  return vscode.workspace.notebookDocuments.some((book) => book.uri.toString() === uri || book.getCells().some(({ document }) => document.uri.toString() === uri));
}
