/** The settings' page, at one setting. */
import * as vscode from "vscode";

/**
 * In a remote window what belongs to the machine stands on a page of its own: the user's has it in no search.
 *
 * @param name such as `kernelband.python`, or the beginning of several names
 */
export async function openSetting(name: string): Promise<void> {
  const own = vscode.workspace.getConfiguration().inspect(name) !== undefined && !name.endsWith(".");
  const query = own ? `@id:${name}` : name;
  const page = vscode.env.remoteName !== undefined && isOfTheMachine(name) ? "workbench.action.openRemoteSettings" : "workbench.action.openSettings";
  await vscode.commands.executeCommand(page, { query });
}

/** As package.json says, which the editor reads, too. */
function isOfTheMachine(name: string): boolean {
  const manifest = vscode.extensions.getExtension("kernelband.kernelband")?.packageJSON as Manifest | undefined;
  const settings = Object.entries(manifest?.contributes.configuration.properties ?? {}).filter(([key]) => key === name || key.startsWith(`${name}.`));
  return settings.length > 0 && settings.every(([, { scope }]) => scope === "machine");
}

interface Manifest {
  contributes: { configuration: { properties: Record<string, { scope: string }> } };
}
