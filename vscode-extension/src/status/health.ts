/** Whether the server runs, and with what, in the language status of Python files: quiet, one click to each thing that can be changed. */
import * as vscode from "vscode";
import type { SearchEnvironment } from "../search/environment.ts";
import type { Server } from "../server/server.ts";
import type { Interpreters } from "../python/interpreters.ts";

const SELECTOR: vscode.DocumentSelector = [{ language: "python" }, { notebookType: "jupyter-notebook" }];

export class HealthItems implements vscode.Disposable {
  readonly #server = vscode.languages.createLanguageStatusItem("kernelband.server", SELECTOR);
  readonly #worker = vscode.languages.createLanguageStatusItem("kernelband.worker", SELECTOR);
  readonly #search = vscode.languages.createLanguageStatusItem("kernelband.search", SELECTOR);

  constructor(
    private readonly server: Server,
    private readonly interpreters: Interpreters,
    private readonly search: SearchEnvironment,
  ) {
    this.#server.name = vscode.l10n.t("KernelBand server");
    this.#worker.name = vscode.l10n.t("KernelBand interpreter");
    this.#search.name = vscode.l10n.t("KernelBand search");
  }

  dispose(): void {
    vscode.Disposable.from(this.#server, this.#worker, this.#search).dispose();
  }

  async draw(): Promise<void> {
    const { state, problem } = this.server.health;
    this.#server.text = { starting: vscode.l10n.t("KernelBand is starting"), running: "KernelBand", stopped: vscode.l10n.t("KernelBand has stopped") }[state];
    this.#server.detail = problem || (this.server.python ? vscode.l10n.t("server on {0}", this.server.python.path) : "");
    this.#server.severity = state === "stopped" ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    this.#server.busy = state === "starting";
    this.#server.command =
      state === "stopped"
        ? { command: "kernelband.restart", title: vscode.l10n.t("Restart") }
        : { command: "kernelband.showLog", title: vscode.l10n.t("Log") };

    const settings = vscode.workspace.getConfiguration("kernelband");
    const worker = settings.get<string>("worker");
    const folder = vscode.window.activeTextEditor && vscode.workspace.getWorkspaceFolder(vscode.window.activeTextEditor.document.uri);
    const { path, from } = await this.interpreters.choose(folder?.uri);
    this.#worker.text = worker || (path || "python3");
    this.#worker.detail = worker
      ? vscode.l10n.t("kernels run there (kernelband.worker)")
      : vscode.l10n.t("kernels run with this Python, from {0}", from);
    this.#worker.command = { command: "workbench.action.openSettings", title: vscode.l10n.t("Change"), arguments: ["kernelband.python"] };

    this.#search.text = vscode.l10n.t("Search");
    this.#search.detail = {
      interpreter: vscode.l10n.t("runs with kernelband.search.interpreter"),
      installed: vscode.l10n.t("packages are installed"),
      missing: vscode.l10n.t("packages are installed when you first optimize"),
    }[this.search.ready];
    this.#search.command =
      this.search.ready === "missing"
        ? { command: "kernelband.installSearch", title: vscode.l10n.t("Install") }
        : { command: "workbench.action.openSettings", title: vscode.l10n.t("Change"), arguments: ["kernelband.search"] };
  }
}
