/** What the server asks: a list at the top centre, each answer in full. */
import * as vscode from "vscode";
import type { MessageActionItem, ShowMessageRequestParams } from "vscode-languageclient/node";

export async function picked({ message, actions }: ShowMessageRequestParams): Promise<MessageActionItem | null> {
  const items = (actions ?? []).map((action) => ({ label: action.title, action }));
  const chosen = await vscode.window.showQuickPick(items, { title: message, ignoreFocusOut: true });
  return chosen?.action ?? null;
}
