/** Commands of ours: what goes wrong in one is said in one sentence, once. */
import * as vscode from "vscode";
import { showError } from "./refusals/show.ts";

export type Register = (name: string, work: (...args: never[]) => unknown) => void;

/** Gives what registers `kernelband.NAME`. */
export function registering(context: vscode.ExtensionContext): Register {
  return (name, work) => {
    const safe = async (...args: never[]): Promise<unknown> => {
      try {
        return await work(...args);
      } catch (error) {
        showError(error);
        return undefined;
      }
    };
    context.subscriptions.push(vscode.commands.registerCommand(`kernelband.${name}`, safe));
  };
}
