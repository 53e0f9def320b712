/** "Optimize kernel": one list with all that the run will do, then the server begins. */
import * as vscode from "vscode";
import type { Draft, Environment, KernelsAt, Plan } from "../protocol.ts";
import { choosePython } from "../python/choose.ts";
import type { Interpreters } from "../python/interpreters.ts";
import { Refusal } from "../refusals/remedies.ts";
import { showError } from "../refusals/show.ts";
import type { Server } from "../server/server.ts";
import { openSetting } from "../settingsPage.ts";
import { last, offers, ofSettings, read, words, type Budget, type Remembered } from "./budgets.ts";
import { about, estimate } from "./estimate.ts";
import { putIn } from "./draft.ts";
import { obstacle, rows, type Does, type Known, type Row } from "./rows.ts";

const REMEMBERED = "kernelband.budget";

/** A kernel that the user means. */
export interface Target {
  uri: string;
  kernel: string;
}

/** The kernel at the cursor, or picked among those of the document; undefined, with a sentence said, where there is none. */
export async function pickKernel(server: Server, place = "" as string): Promise<Target | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) throw new Refusal(vscode.l10n.t("No file is open in the editor: open one with a Triton kernel."), ["file"]);
  const uri = editor.document.uri.toString();
  const { line, character } = editor.selection.active;
  const { here, all } = await server.command<KernelsAt>("kernelsAt", uri, line, character);
  const names = here.length ? here : all;
  if (!names.length) throw new Refusal(vscode.l10n.t("There is no Triton kernel in this file: a kernel is a function under @triton.jit."), ["file"]);
  const kernel = names.length === 1 ? names[0] : await vscode.window.showQuickPick(names, { placeHolder: place || vscode.l10n.t("Which kernel?") });
  return kernel === undefined ? undefined : { uri, kernel };
}

/** The budget that was used last; undefined where the settings count: none was used, or they have changed since. */
function remembered(state: vscode.Memento, uri: string): Budget | undefined {
  return last(state.get<Remembered>(REMEMBERED), settingsOf(uri));
}

function settingsOf(uri: string): Budget | undefined {
  const ours = vscode.workspace.getConfiguration("kernelband", vscode.Uri.parse(uri));
  return ofSettings(ours.get("trials"), ours.get("seconds"));
}

type RowItem = vscode.QuickPickItem & Partial<Row>;

export class Optimizer {
  /** @param look runs the interpreter of a document and tells what it has */
  constructor(
    private readonly server: Server,
    private readonly interpreters: Interpreters,
    private readonly state: vscode.Memento,
    private readonly look: (uri: string, again: boolean) => Promise<Environment>,
  ) {}

  /** Show what the run will do, let its user change it, and begin. What counts without a question stands there, so Enter takes it. */
  async optimize(target: Target): Promise<void> {
    const { uri, kernel } = target;
    this.server.mustRun();
    let [{ budget }] = offers(remembered(this.state, uri), settingsOf(uri));
    for (;;) {
      const chosen = await this.#list(target, budget);
      if (!chosen) return;
      if (chosen.does === "start") {
        await this.state.update(REMEMBERED, { budget, settings: settingsOf(uri) ?? null } satisfies Remembered);
        // The server's command as any lens gives it: what must be there for a search is looked after on that way.
        await this.server.execute("optimize", uri, kernel, budget);
        return;
      }
      if (chosen.does === "budget") budget = (await this.#budget(target, chosen.plan)) ?? budget;
      else if (!(await this.#change(chosen.does, target))) return;
    }
  }

  /** What shows a kernel at work: one of those that lead to it, or the user's own setting where none does. Whether no page was opened for it. */
  async chooseEntry({ uri, kernel }: Target): Promise<boolean> {
    const { entry } = await this.server.command<Plan>("plan", uri, kernel);
    if (entry.how !== "none") {
      await this.server.command("chooseEntry", uri, kernel);
      return true;
    }
    const items = [
      { label: vscode.l10n.t("Name one in the settings…"), detail: vscode.l10n.t("kernelband.entry: a function without arguments, FILE.py::NAME or a pytest node"), setting: true },
      { label: vscode.l10n.t("Write one"), detail: vscode.l10n.t("A bench function that calls it with tensors of guessed sizes, for you to look at"), setting: false },
    ];
    const picked = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Entry that runs {0}", kernel), placeHolder: entry.why, ignoreFocusOut: true });
    if (picked?.setting) await openSetting("kernelband.entry");
    else if (picked) await this.#write({ uri, kernel });
    return picked === undefined;
  }

  /** Draft one, show it, and offer to go on. */
  async #write({ uri, kernel }: Target): Promise<void> {
    const draft = await this.server.command<Draft>("draftEntry", uri, kernel);
    await putIn(draft);
    const go = vscode.l10n.t("Optimize");
    const said = draft.guesses.length
      ? vscode.l10n.t("{0} was drafted, and some of it is guessed: look at {1}, then optimize {2}.", draft.entry, draft.guesses.join(", "), kernel)
      : vscode.l10n.t("{0} was drafted: look at it, then optimize {1}.", draft.entry, kernel);
    void vscode.window.showInformationMessage(said, go).then((picked) => (picked ? this.optimize({ uri, kernel }).catch(showError) : undefined));
  }

  /** The Python of a document's folder; behind a worker it is a setting, since there is nothing to look through. Whether no page was opened. */
  async choosePython(uri: string): Promise<boolean> {
    const folder = uri ? this.server.folder(uri) : undefined;
    const worker = vscode.workspace.getConfiguration("kernelband").get<string>("worker");
    const chosen = worker ? "setting" : await choosePython(this.interpreters, folder);
    if (chosen === "setting") await openSetting("kernelband.python");
    if (chosen === "another") await this.server.configure();
    return chosen !== "setting";
  }

  /** Whether to come back to the list: a page that was opened would lie under it. */
  async #change(does: Does, target: Target): Promise<boolean> {
    try {
      if (does === "python") return await this.choosePython(target.uri);
      if (does === "entry") return await this.chooseEntry(target);
      if (does === "device") await this.server.command("chooseDevice", target.uri);
      else if (this.server.refuses(target.uri)) {
        await vscode.commands.executeCommand(vscode.workspace.isTrusted ? "workbench.action.files.save" : "workbench.trust.manage");
        return false;
      } else await this.server.mayRun(target.uri);
    } catch (error) {
      showError(error);
    }
    return true;
  }

  /** What was chosen in the list, with the plan as it was known then; undefined where it was closed. */
  async #list({ uri, kernel }: Target, budget: Budget): Promise<{ does: Does; plan: Plan | undefined } | undefined> {
    const python = (await this.interpreters.choose(this.server.folder(uri))).path || "python3";
    const known: Known = { plan: undefined, environment: undefined, mayRun: this.server.allows(uri), isFile: this.server.isFile(uri), python, budget };
    const pick = vscode.window.createQuickPick<RowItem>();
    pick.title = vscode.l10n.t("Optimize {0}", kernel);
    pick.placeholder = vscode.l10n.t("Enter starts; choose a line to change it");
    pick.ignoreFocusOut = true;
    let open = true;
    const draw = (): void => {
      if (!open) return;
      const active = pick.activeItems[0]?.does ?? "start";
      const drawn: RowItem[] = rows(known).map((row) => ({ ...row, alwaysShow: true }));
      drawn.splice(1, 0, { label: "", kind: vscode.QuickPickItemKind.Separator });
      pick.items = drawn;
      pick.activeItems = drawn.filter(({ does }) => does === active);
    };
    const ask = async (): Promise<void> => {
      known.plan = await this.server.command<Plan>("plan", uri, kernel);
      draw();
    };
    const looking = async (): Promise<void> => {
      try {
        known.environment = await this.look(uri, false);
      } catch (error) {
        known.environment = error instanceof Error ? error.message : String(error);
      }
      draw();
      await ask(); // where a GPU measures, another entry may be the best
    };
    try {
      draw();
      const failed = new Promise<never>((_, reject) => void ask().then(() => (known.mayRun ? looking() : undefined)).catch(reject));
      const does = new Promise<Does | undefined>((resolve) => {
        pick.onDidAccept(() => resolve(pick.selectedItems[0]?.does));
        pick.onDidHide(() => resolve(undefined));
        pick.show();
      });
      const chosen = await Promise.race([does, failed]);
      return chosen && { does: chosen === "start" ? (obstacle(known) ?? "start") : chosen, plan: known.plan };
    } finally {
      open = false;
      pick.dispose();
    }
  }

  async #budget(target: Target, plan: Plan | undefined): Promise<Budget | undefined> {
    const from = { last: vscode.l10n.t("last used"), settings: vscode.l10n.t("from the settings"), us: "" };
    const offered = offers(remembered(this.state, target.uri), settingsOf(target.uri));
    const items: (vscode.QuickPickItem & { budget?: Budget })[] = offered.map(({ budget, of }) => ({
      label: words(budget),
      budget,
      description: [plan?.pace ? about(estimate(budget, plan.pace)) : "", from[of]].filter(Boolean).join(" · "),
    }));
    items.push({ label: vscode.l10n.t("Another budget…") });
    const title = vscode.l10n.t("Optimize {0}", target.kernel);
    const picked = await vscode.window.showQuickPick(items, { title, placeHolder: vscode.l10n.t("How much may the run use, its final verification included?"), ignoreFocusOut: true });
    return !picked || picked.budget ? picked?.budget : typed();
  }
}

async function typed(): Promise<Budget | undefined> {
  // the exporter reads literals only
  const wrong = vscode.l10n.t({ message: "This isn't a budget: write 20 trials, 90 s, 5 min, or two of them with a comma.", comment: ["In English only: trials, s, min."] });
  const text = await vscode.window.showInputBox({
    prompt: vscode.l10n.t({ message: "Trials, seconds or both, such as 20 trials, 90 s or 20 trials, 5 min", comment: ["In English only: trials, s, min."] }),
    validateInput: (value) => (read(value) ? undefined : wrong),
    ignoreFocusOut: true,
  });
  return text === undefined ? undefined : read(text);
}
