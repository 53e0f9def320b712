/** "Optimize kernel": which one, how long, where; then the server begins. */
import * as vscode from "vscode";
import type { KernelsAt } from "../protocol.ts";
import type { Server } from "../server/server.ts";
import { last, offers, ofSettings, read, words, type Budget, type Remembered } from "./budgets.ts";

const REMEMBERED = "kernelband.budget";

/** A kernel that the user means. */
export interface Target {
  uri: string;
  kernel: string;
}

/** The kernel at the cursor, or picked among those of the document; undefined, with a sentence said, where there is none. */
export async function pickKernel(server: Server, place = "" as string): Promise<Target | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    void vscode.window.showInformationMessage(vscode.l10n.t("No file is open in the editor: open one with a Triton kernel."));
    return undefined;
  }
  const uri = editor.document.uri.toString();
  const { line, character } = editor.selection.active;
  const { here, all } = await server.command<KernelsAt>("kernelsAt", uri, line, character);
  const names = here.length ? here : all;
  if (!names.length) {
    void vscode.window.showInformationMessage(vscode.l10n.t("There is no Triton kernel in this file: a kernel is a function under @triton.jit."));
    return undefined;
  }
  const kernel = names.length === 1 ? names[0] : await vscode.window.showQuickPick(names, { placeHolder: place || vscode.l10n.t("Which kernel?") });
  return kernel === undefined ? undefined : { uri, kernel };
}

/** Ask for budget and device, then begin. What counts without a question stands first, so Enter takes it. */
export async function optimize(server: Server, state: vscode.Memento, target: Target): Promise<void> {
  const budget = await pickBudget(server, state, target);
  if (!budget) return;
  const settings = settingsOf(target.uri) ?? null;
  await state.update(REMEMBERED, { budget, settings } satisfies Remembered);
  // The server's command as any lens gives it: what must be there for a search is looked after on that way.
  await server.execute("optimize", target.uri, target.kernel, budget);
}

/** The budget that was used last; undefined where the settings count: none was used, or they have changed since. */
export function remembered(state: vscode.Memento, uri: string): Budget | undefined {
  return last(state.get<Remembered>(REMEMBERED), settingsOf(uri));
}

function settingsOf(uri: string): Budget | undefined {
  const ours = vscode.workspace.getConfiguration("kernelband", vscode.Uri.parse(uri));
  return ofSettings(ours.get("trials"), ours.get("seconds"));
}

type Item = vscode.QuickPickItem & { budget?: Budget; does?: "device" | "type" };

async function pickBudget(server: Server, state: vscode.Memento, target: Target): Promise<Budget | undefined> {
  for (;;) {
    const about = { last: vscode.l10n.t("last used"), settings: vscode.l10n.t("from the settings"), us: "" };
    const offered = offers(remembered(state, target.uri), settingsOf(target.uri));
    const items: Item[] = offered.map(({ budget, of }) => ({ label: words(budget), budget, description: about[of] }));
    items.push({ label: vscode.l10n.t("Another budget…"), does: "type" });
    items.push({ label: "", kind: vscode.QuickPickItemKind.Separator });
    items.push({ label: vscode.l10n.t("Choose the device…"), description: await device(server, target), does: "device" });
    const title = vscode.l10n.t("Optimize {0}", target.kernel);
    const picked = await vscode.window.showQuickPick(items, { title, placeHolder: vscode.l10n.t("How much may the search use? The final verification is added to it.") });
    if (picked?.budget || !picked) return picked?.budget;
    if (picked.does === "type") return typed();
    await server.command("chooseDevice", target.uri);
  }
}

async function typed(): Promise<Budget | undefined> {
  // the exporter reads literals only
  const wrong = vscode.l10n.t({ message: "This isn't a budget: write 20 trials, 90 s, 5 min, or two of them with a comma.", comment: ["In English only: trials, s, min."] });
  const text = await vscode.window.showInputBox({
    prompt: vscode.l10n.t({ message: "Trials, seconds or both, such as 20 trials, 90 s or 20 trials, 5 min", comment: ["In English only: trials, s, min."] }),
    validateInput: (value) => (read(value) ? undefined : wrong),
  });
  return text === undefined ? undefined : read(text);
}

async function device(server: Server, target: Target): Promise<string> {
  const { worker, gpu } = await server.command<{ worker: string | null; gpu: string | null }>("deviceOf", target.uri);
  return worker ?? (gpu ? vscode.l10n.t("no GPU: predicted for {0}", gpu) : vscode.l10n.t("this machine"));
}
