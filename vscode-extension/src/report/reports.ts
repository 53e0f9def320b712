/** All reports that are open, one for each run; they come back with the window. */
import * as vscode from "vscode";
import { showError } from "../refusals/show.ts";
import type { Server } from "../server/server.ts";
import { save, type Format } from "./export.ts";
import type { FromPage } from "./messages.ts";
import { assets, ReportPanel, VIEW_TYPE } from "./panel.ts";
import type { Report } from "./shape.ts";

export class Reports implements vscode.Disposable, vscode.WebviewPanelSerializer {
  readonly #panels = new Map<string, ReportPanel>();
  readonly #folder: vscode.Uri;
  readonly #subscribed: vscode.Disposable;
  readonly #shown = new vscode.EventEmitter<string>();
  /** The run whose report was asked for. */
  readonly onDidShow = this.#shown.event;

  constructor(
    context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.#folder = assets(context);
    this.#subscribed = vscode.Disposable.from(
      server.onRunChanged((changed) => this.#panels.get(changed.run)?.changed(changed)),
      server.onHealthChanged(({ state }) => {
        for (const panel of this.#panels.values()) {
          if (state === "running") void panel.refresh();
          else panel.lost();
        }
      }),
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, this),
    );
  }

  dispose(): void {
    this.#subscribed.dispose();
    for (const panel of this.#panels.values()) panel.dispose();
  }

  /** Show the run's report, in the tab that it has if it has one. */
  show(run: string): void {
    this.#shown.fire(run);
    const there = this.#panels.get(run);
    if (there) {
      there.panel.reveal();
      void there.refresh();
      return;
    }
    this.#keep(run, vscode.window.createWebviewPanel(VIEW_TYPE, "", vscode.ViewColumn.Active));
  }

  /** The run whose report is in front. */
  get active(): string | undefined {
    return [...this.#panels.values()].find(({ panel }) => panel.active)?.run;
  }

  /** As it is now, not as it was shown. */
  async export(run: string, format: Format): Promise<void> {
    await save(await this.server.command<Report>("runReport", run), format, this.#folder);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- the editor wants a promise
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const run = (state as { run?: unknown } | undefined)?.run;
    if (typeof run === "string" && run && !this.#panels.has(run)) this.#keep(run, panel);
    else panel.dispose();
  }

  #keep(run: string, panel: vscode.WebviewPanel): void {
    const made = new ReportPanel(run, panel, this.server, this.#folder, (from, message) => this.#do(from, message));
    this.#panels.set(run, made);
    panel.onDidDispose(() => {
      made.dispose();
      this.#panels.delete(run);
    });
  }

  async #do({ run, report }: ReportPanel, message: Exclude<FromPage, { type: "ready" }>): Promise<void> {
    try {
      if (message.type === "run" && message.does === "cancel") await this.server.command("cancel", run);
      else if (message.type === "run" && message.does === "exportHtml") await this.export(run, "html");
      else if (message.type === "run" && message.does === "exportJson") await this.export(run, "json");
      else if (report) await inEditor(this.server, report, message);
    } catch (error) {
      showError(error);
    }
  }
}

/** What is done with the kernel's own file. */
async function inEditor(server: Server, { run, variants }: Report, message: Exclude<FromPage, { type: "ready" }>): Promise<void> {
  const file = vscode.Uri.file(run.path);
  if (message.type === "run") {
    if (message.does === "open") await vscode.commands.executeCommand("vscode.open", file);
    else await server.execute("resume", file.toString(), run.kernel, run.id);
    return;
  }
  if (message.does === "copyPatch") {
    const patch = variants.find(({ number }) => number === message.variant)?.patch;
    if (!patch) return;
    await vscode.env.clipboard.writeText(patch);
    void vscode.window.showInformationMessage(vscode.l10n.t("The patch is on the clipboard; git apply takes it."));
    return;
  }
  if (message.does === "apply") await vscode.commands.executeCommand("vscode.open", file);
  await server.execute(message.does, file.toString(), run.kernel, run.id, message.variant);
}
