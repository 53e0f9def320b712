/** What runs, at the bottom of the window; a click offers to stop it. */
import * as vscode from "vscode";
import type { LiveRuns } from "../runs/live.ts";

export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("kernelband.runs", vscode.StatusBarAlignment.Left, 0);

  constructor(private readonly runs: LiveRuns) {
    this.#item.name = vscode.l10n.t("KernelBand runs");
    this.#item.command = "kernelband.cancel";
  }

  dispose(): void {
    this.#item.dispose();
  }

  draw(): void {
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
}
