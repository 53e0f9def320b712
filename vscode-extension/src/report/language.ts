/** The language that reports are shown in. */
import * as vscode from "vscode";
import type { Language } from "./document.ts";

/** The editor's, where there is a translation; undefined where there is none or none is needed. */
export function language(): Language | undefined {
  const { bundle } = vscode.l10n;
  return bundle && { name: vscode.env.language, sentences: bundle };
}
