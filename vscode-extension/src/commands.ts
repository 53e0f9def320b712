/** What the palette, menus and keys call, and what takes the place of the server's own commands in VS Code. */
import * as vscode from "vscode";
import type { Menu, Reproduced, Shown } from "./protocol.ts";
import { pickKernel, type Optimizer, type Target } from "./optimize/optimize.ts";
import { registering } from "./registering.ts";
import type { Reviews } from "./review/reviews.ts";
import type { LiveRuns } from "./runs/live.ts";
import type { SearchEnvironment } from "./search/environment.ts";
import { MODEL_KEY, type Server } from "./server/server.ts";

/** Those that are given a kernel, or ask for the one at the cursor. */
const OF_A_KERNEL = { verify: "verify", variants: "choose", inspect: "inspect" } as const;

export function register(
  context: vscode.ExtensionContext,
  server: Server,
  search: SearchEnvironment,
  optimizer: Optimizer,
  runs: LiveRuns,
  reviews: Reviews,
  log: vscode.LogOutputChannel,
): void {
  const on = registering(context);

  // From the side bar it is given the kernel's row.
  on("optimize", async (row?: Target) => {
    const target = row?.kernel ? row : await pickKernel(server);
    if (target) await optimizer.optimize(target);
  });
  for (const [name, command] of Object.entries(OF_A_KERNEL)) {
    on(name, async () => {
      const target = await pickKernel(server);
      if (target) await server.execute(command, target.uri, target.kernel);
    });
  }
  on("chooseEntry", async () => {
    const target = await pickKernel(server);
    if (target) await optimizer.chooseEntry(target);
  });
  on("choosePython", () => optimizer.choosePython(vscode.window.activeTextEditor?.document.uri.toString() ?? ""));
  on("optimizeChanged", async () => {
    const prompt = vscode.l10n.t("Kernels whose program isn't what it was at this commit are optimized, one after the other.");
    const ref = await vscode.window.showInputBox({ prompt, value: "HEAD" });
    if (ref) await server.execute("optimizeChanged", ref);
  });
  on("chooseDevice", async () => {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    if (uri) await server.command("chooseDevice", uri);
  });
  on("cancel", () => cancel(server, runs));
  on("cancelAll", () => server.command("stop_all"));
  on("installSearch", async () => {
    if (await search.ensure()) await server.configure();
  });
  on("setModelKey", () => setModelKey(context));
  on("restart", () => server.restart());
  on("showLog", () => log.show());

  server.intercept("resume", async ([uri], next) => ((await ready(server, search, uri as string)) ? next() : undefined));
  server.intercept("optimizeChanged", async (_, next) => (!vscode.workspace.isTrusted || (await equipped(server, search)) ? next() : undefined));
  server.intercept("inspect", async ([uri], next) => ((await server.mayRun(uri as string)) ? next() : undefined));
  // What is under review is judged against the text from before it: saved may be anything by then.
  server.intercept("verify", async ([uri, kernel, base]) => {
    const before = base ?? reviews.baseOf(uri as string, kernel as string);
    return (await ready(server, search, uri as string)) ? server.command("verify", uri, kernel, ...(before ? [before] : [])) : undefined;
  });
  // A lens and a lightbulb open the list as the command does; it comes back here with the budget.
  server.intercept("optimize", async ([uri, kernel, budget]) => {
    if (!budget) return optimizer.optimize({ uri: uri as string, kernel: kernel as string });
    return (await ready(server, search, uri as string)) ? server.command("optimize", uri, kernel, budget) : undefined;
  });
  server.intercept("more", async ([uri, kernel]) => {
    const { items } = await server.command<Menu>("more", uri, kernel);
    const picked = await vscode.window.showQuickPick(items.map((item) => ({ label: item.title, item })), { title: kernel as string });
    if (picked) await vscode.commands.executeCommand(picked.item.command, ...picked.item.arguments);
  });
  server.intercept("explain", async (args) => {
    const { uri } = await server.command<Shown>("explain", ...args);
    await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.parse(uri));
  });
  server.intercept("reproduce", async (args) => {
    const { command, notes } = await server.command<Reproduced>("reproduce", ...args);
    await copy(command, [vscode.l10n.t("The command is on the clipboard."), ...notes].join(" "));
  });
  server.intercept("patch", async (args) => {
    await copy(await server.command<string>("patch", ...args), vscode.l10n.t("The patch is on the clipboard; git apply takes it."));
  });
}

/** Whether to ask the server for a run. Where it will refuse, too: it says why, and nothing is installed for that. */
async function ready(server: Server, search: SearchEnvironment, uri: string): Promise<boolean> {
  if (!(await server.mayRun(uri))) return false;
  return server.refuses(uri) || equipped(server, search);
}

/** What a search needs is there, and the server knows of it: another window may have installed it. */
async function equipped(server: Server, search: SearchEnvironment): Promise<boolean> {
  if (!(await search.ensure())) return false;
  await server.configure();
  return true;
}

async function cancel(server: Server, runs: LiveRuns): Promise<void> {
  const live = runs.all;
  if (!live.length) {
    void vscode.window.showInformationMessage(vscode.l10n.t("Nothing is running."));
    return;
  }
  const items = live.map((run) => ({ label: vscode.l10n.t("Stop {0}", run.kernel), description: run.headline, run: run.run }));
  const all = live.length > 1 ? [{ label: vscode.l10n.t("Stop all"), description: "", run: "" }] : [];
  const picked = await vscode.window.showQuickPick([...items, ...all], { placeHolder: vscode.l10n.t("What a run found is kept, and it can be resumed.") });
  if (picked) await (picked.run ? server.command("cancel", picked.run) : server.command("stop_all"));
}

async function setModelKey(context: vscode.ExtensionContext): Promise<void> {
  const prompt = vscode.l10n.t("The model's key. It is kept by the editor and reaches the search only, never a worker or a file. Empty removes it.");
  const key = await vscode.window.showInputBox({ prompt, password: true, ignoreFocusOut: true });
  if (key === undefined) return;
  await (key ? context.secrets.store(MODEL_KEY, key) : context.secrets.delete(MODEL_KEY));
}

async function copy(text: string, said: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  void vscode.window.showInformationMessage(said);
}
