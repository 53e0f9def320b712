/** At the bottom of the window: what runs, and a click offers to stop it; and what ended while nobody looked, and a click shows its report. */
import * as vscode from "vscode";
import type { EndedRuns } from "../runs/ended.ts";
import type { LiveRuns } from "../runs/live.ts";

export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("kernelband.runs", vscode.StatusBarAlignment.Left, 0);

  readonly #news = vscode.window.createStatusBarItem("kernelband.ended", vscode.StatusBarAlignment.Left, 0);

  constructor(
    private readonly runs: LiveRuns,
    private readonly ended: EndedRuns,
  ) {
    this.#item.name = vscode.l10n.t("KernelBand runs");
    this.#item.command = "kernelband.cancel";
    this.#news.name = vscode.l10n.t("KernelBand runs that have ended");
  }

  dispose(): void {
    this.#item.dispose();
    this.#news.dispose();
  }

  draw(): void {
    this.#drawNews();
    const words = this.runs.words;
    if (!words) {
      this.#item.hide();
      return;
    }
    this.#item.text = `$(loading~spin) ${words}`;
    this.#item.tooltip = vscode.l10n.t("KernelBand is searching. Click to stop a run.");
    this.#item.accessibilityInformation = { label: vscode.l10n.t("KernelBand: {0}. Activate to stop a run.", words) };
    this.#item.show();
  }

  #drawNews(): void {
    const { news } = this.ended;
    if (!news) {
      this.#news.hide();
      return;
    }
    this.#news.text = `$(check) ${news.words}`;
    this.#news.tooltip = vscode.l10n.t("This run has ended. Click for its report.");
    this.#news.accessibilityInformation = { label: vscode.l10n.t("KernelBand: {0}. The run has ended; activate for its report.", news.words) };
    this.#news.command = { command: "kernelband.report", title: vscode.l10n.t("Show the report"), arguments: [{ run: news.run }] };
    this.#news.show();
  }
}
