/** Puts the parts together. What the server can say by LSP is nowhere here. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { register } from "./commands.ts";
import { registerDemo } from "./demo/demo.ts";
import { Interpreters } from "./python/interpreters.ts";
import { Optimizer } from "./optimize/optimize.ts";
import { registerRefusals } from "./refusals/register.ts";
import { registerReports } from "./report/register.ts";
import { registerReview } from "./review/register.ts";
import { EndedRuns } from "./runs/ended.ts";
import { LiveRuns } from "./runs/live.ts";
import { SearchEnvironment } from "./search/environment.ts";
import { Server } from "./server/server.ts";
import { registerStatusActions } from "./status/actions.ts";
import { HealthItems } from "./status/health.ts";
import { StatusBar } from "./status/statusBar.ts";
import { registerActions } from "./view/actions.ts";
import { KernelContext } from "./view/kernelContext.ts";
import { SideBar } from "./view/sideBar.ts";

export function activate(context: vscode.ExtensionContext): void {
  if (vscode.l10n.uri) l10n.config({ fsPath: vscode.l10n.uri.fsPath });
  const log = vscode.window.createOutputChannel("KernelBand", { log: true });
  const interpreters = new Interpreters(log);
  const server: Server = new Server(context, log, interpreters, () => search);
  const search: SearchEnvironment = new SearchEnvironment(() => server.python, context.extensionPath, context.globalStorageUri.fsPath, log);
  const runs = new LiveRuns();
  const ended = new EndedRuns(({ run, uri }) => vscode.window.state.focused && (reports.active === run || isShown(uri)));
  const bar = new StatusBar(runs, ended);
  const health = new HealthItems(server, interpreters, search, log);
  context.subscriptions.push(
    log,
    interpreters,
    bar,
    health,
    server.onRunChanged((changed) => {
      runs.hear(changed);
      ended.hear(changed);
      bar.draw();
    }),
    server.onRunEnded((run) => {
      ended.tell(run);
      bar.draw();
    }),
    ...[vscode.window.onDidChangeVisibleTextEditors, vscode.window.onDidChangeWindowState].map((changes) =>
      changes(() => {
        ended.look();
        bar.draw();
      }),
    ),
    server.onHealthChanged(({ state }) => {
      if (state !== "running") runs.clear();
      bar.draw();
    }),
  );
  const sideBar = new SideBar(server, runs); // after what keeps the runs that go on
  context.subscriptions.push(sideBar, new KernelContext(server, log));
  const reviews = registerReview(context, server, log);
  context.subscriptions.push(reviews.onDidChange(() => sideBar.refresh())); // what is put in, taken back, edited or accepted has another standing in the rows
  const optimizer = new Optimizer(server, interpreters, context.workspaceState, (uri, again) => health.look(uri, again));
  register(context, server, search, optimizer, runs, reviews, log);
  registerRefusals(context, server, search, optimizer);
  registerActions(context, server, sideBar, reviews);
  registerStatusActions(context, server, health);
  const reports = registerReports(context, server);
  reports.onDidShow((run) => {
    ended.seen(run);
    bar.draw();
  });
  registerDemo(context, server, optimizer);
  void server.start(); // it says itself how that goes
}

/** Whether an editor shows that file, or a cell of that notebook. */
function isShown(uri: string): boolean {
  const shown = [...vscode.window.visibleTextEditors.map(({ document }) => document.uri), ...vscode.window.visibleNotebookEditors.map(({ notebook }) => notebook.uri)];
  return shown.some((other) => other.toString() === uri);
}

export function deactivate(): void {
  // what was subscribed is disposed of by the editor
}
