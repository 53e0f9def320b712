/** What can't be done is said in a notification, with a button for what helps. */
import * as vscode from "vscode";
import type { Refused } from "../protocol.ts";
import { told } from "../server/told.ts";
import { buttons, Refusal, type About } from "./remedies.ts";

/** Of an error that nobody has told the user of. */
export function showError(error: unknown): void {
  if (told(error)) return;
  const refusal = error instanceof Refusal ? error : new Refusal(error instanceof Error ? error.message : String(error), ["log"]);
  showRefusal({ message: refusal.message, remedies: [...refusal.remedies], warning: false, ...refusal.about });
}

export function showRefusal({ message, remedies, warning, uri, kernel, run }: Refused): void {
  const about: About = { uri, kernel, run };
  const offered = buttons(remedies, about);
  const say = warning ? vscode.window.showWarningMessage : vscode.window.showErrorMessage;
  void say(message, ...offered.keys()).then((picked) => {
    const remedy = picked === undefined ? undefined : offered.get(picked);
    if (remedy) void vscode.commands.executeCommand("kernelband.remedy", remedy, about);
  });
}
