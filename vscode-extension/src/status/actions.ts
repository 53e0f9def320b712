/** What the items of the language status do when they are clicked. */
import * as vscode from "vscode";
import { Refusal } from "../refusals/remedies.ts";
import { showRefusal } from "../refusals/show.ts";
import { registering } from "../registering.ts";
import type { Server } from "../server/server.ts";
import type { HealthItems } from "./health.ts";
import { environmentWords } from "./words.ts";

export function registerStatusActions(context: vscode.ExtensionContext, server: Server, health: HealthItems): void {
  const on = registering(context);
  on("environment", async () => {
    const uri = vscode.window.activeTextEditor?.document.uri ?? vscode.workspace.workspaceFolders?.[0]?.uri;
    if (!uri) throw new Refusal(vscode.l10n.t("No file or folder is open: open one, since its Python is checked."), ["file"]);
    if (!(await server.mayRun(uri.toString()))) return;
    const location = vscode.ProgressLocation.Window;
    const title = vscode.l10n.t("Checking Python, torch, Triton and GPU");
    const about = { uri: uri.toString(), kernel: "", run: "" };
    const environment = await vscode.window.withProgress({ location, title }, async () => health.look(about.uri, true)).then(undefined, (error: unknown) => {
      throw new Refusal(error instanceof Error ? error.message : String(error), ["python", "log"], about); // the server leaves it to us to say it
    });
    const found = environmentWords(environment);
    const said = [found.packages, found.broken ? found.aboutPackages : "", found.broken ? "" : found.gpu, found.broken ? "" : found.aboutGpu];
    const text = said.filter(Boolean).join(" · ");
    if (!found.broken) void vscode.window.showInformationMessage(text);
    else showRefusal({ message: text, remedies: ["python", "worker"], warning: true, ...about });
  });
  on("serverActions", async () => {
    const items = [
      { label: vscode.l10n.t("Show the log"), command: "kernelband.showLog" },
      { label: vscode.l10n.t("Restart the language server"), command: "kernelband.restart" },
    ];
    const picked = await vscode.window.showQuickPick(items, { placeHolder: "KernelBand" });
    if (picked) await vscode.commands.executeCommand(picked.command);
  });
}
