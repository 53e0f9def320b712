/** The settings' page, at one setting. */
import * as vscode from "vscode";
import { page, type Settings } from "./settingsQuery.ts";

/**
 * In a remote window what belongs to the machine stands on a page of its own: the user's has it in no search.
 *
 * @param name such as `kernelband.python`, or the beginning of several names
 */
export async function openSetting(name: string): Promise<void> {
  const manifest = vscode.extensions.getExtension("kernelband.kernelband")?.packageJSON as Manifest | undefined;
  const { command, query } = page(name, manifest?.contributes.configuration.properties ?? {}, vscode.env.remoteName !== undefined);
  await vscode.commands.executeCommand(command, { query });
}

interface Manifest {
  contributes: { configuration: { properties: Settings } };
}
