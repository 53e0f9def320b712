/** Puts the parts together. What the server can say by LSP is nowhere here. */
import * as vscode from "vscode";
import { register } from "./commands.ts";
import { Interpreters } from "./python/interpreters.ts";
import { LiveRuns } from "./runs/live.ts";
import { SearchEnvironment } from "./search/environment.ts";
import { Server } from "./server/server.ts";
import { HealthItems } from "./status/health.ts";
import { StatusBar } from "./status/statusBar.ts";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("KernelBand", { log: true });
  const interpreters = new Interpreters();
  const server: Server = new Server(context, log, interpreters, () => search);
  const search: SearchEnvironment = new SearchEnvironment(() => server.python, context.extensionPath, context.globalStorageUri.fsPath, log);
  const runs = new LiveRuns();
  const bar = new StatusBar(runs);
  const health = new HealthItems(server, interpreters, search);
  context.subscriptions.push(
    log,
    interpreters,
    bar,
    health,
    server.onRunChanged((changed) => {
      runs.hear(changed);
      bar.draw();
    }),
    server.onHealthChanged(({ state }) => {
      if (state !== "running") runs.clear();
      bar.draw();
      void health.draw();
    }),
    interpreters.onDidChange(() => void health.draw()),
    search.onDidChange(() => void health.draw()),
    vscode.window.onDidChangeActiveTextEditor(() => void health.draw()),
  );
  register(context, server, search, runs, log);
  await server.start();
}

export function deactivate(): void {
  // what was subscribed is disposed of by the editor
}
