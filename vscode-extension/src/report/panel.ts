/** The report of one run in an editor tab: what it shows is read anew when the run changes, one reading at a time. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { OneAtATime } from "../oneAtATime.ts";
import type { RunChanged } from "../protocol.ts";
import type { Server } from "../server/server.ts";
import { Soon } from "../view/soon.ts";
import { inEditor } from "./document.ts";
import { language } from "./language.ts";
import { heard, type FromPage, type Shown, type ToPage } from "./messages.ts";
import type { Report } from "./shape.ts";

export const VIEW_TYPE = "kernelband.report";
const WAIT_MS = 400;
const MOST_MS = 1500;

/** Where the page's script and style are. */
export function assets(context: vscode.ExtensionContext): vscode.Uri {
  return vscode.Uri.joinPath(context.extensionUri, "dist");
}

export class ReportPanel implements vscode.Disposable {
  readonly #reading = new OneAtATime(() => this.#read());
  readonly #soon = new Soon(() => void this.refresh(), WAIT_MS, MOST_MS);
  #shown: Shown;
  #ready = false;

  /** @param does what the page's buttons ask for, but for what only the panel knows */
  constructor(
    readonly run: string,
    readonly panel: vscode.WebviewPanel,
    private readonly server: Server,
    private readonly folder: vscode.Uri,
    private readonly does: (panel: ReportPanel, message: Exclude<FromPage, { type: "ready" }>) => Promise<void>,
  ) {
    this.#shown = { run, report: null, live: null, problem: "", exported_s: null };
    panel.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    panel.webview.onDidReceiveMessage((said: unknown) => void this.#hear(heard(said)));
    panel.webview.html = this.#html();
    this.#title();
    void this.refresh();
  }

  dispose(): void {
    this.#soon.dispose();
  }

  get report(): Report | null {
    return this.#shown.report;
  }

  changed(live: RunChanged): void {
    this.#shown = { ...this.#shown, live };
    this.#title();
    this.#tell();
    this.#soon.ask();
  }

  /** Its server has ended, and what it said last with it. */
  lost(): void {
    this.#shown = { ...this.#shown, live: null };
    this.#tell();
  }

  /** As it is now. */
  refresh(): Promise<void> {
    return this.#reading.ask();
  }

  async #read(): Promise<void> {
    try {
      const report = await this.server.command<Report>("runReport", this.run);
      // Of a run that has ended nothing is live; what it said last may be the only word on why it failed.
      const over = this.#shown.live?.state === "running" && report.run.state !== "running";
      this.#shown = { ...this.#shown, report, live: report.live ?? (over ? null : this.#shown.live), problem: "" };
    } catch (error) {
      this.#shown = { ...this.#shown, problem: error instanceof Error ? error.message : String(error) };
    }
    this.#title();
    this.#tell();
  }

  async #hear(message: FromPage | undefined): Promise<void> {
    if (message?.type === "ready") {
      this.#ready = true;
      this.#tell();
    } else if (message) {
      await this.does(this, message);
    }
  }

  #tell(): void {
    if (this.#ready) void this.panel.webview.postMessage(this.#shown satisfies ToPage);
  }

  #title(): void {
    const kernel = this.#shown.report?.run.kernel ?? this.#shown.live?.kernel;
    this.panel.title = kernel ? vscode.l10n.t("Report: {0}", kernel) : vscode.l10n.t("Report of a run");
  }

  #html(): string {
    const { webview } = this.panel;
    const at = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(this.folder, name)).toString();
    const nonce = randomBytes(16).toString("base64url");
    return inEditor({ script: at("report.js"), style: at("report.css"), source: webview.cspSource, nonce, title: "KernelBand", language: language() });
  }
}
