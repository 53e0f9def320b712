/** What KernelBand works with, in the language status of Python files: quiet, one click to each thing that can be changed. */
import * as vscode from "vscode";
import type { Environment } from "../protocol.ts";
import type { SearchEnvironment } from "../search/environment.ts";
import type { Server } from "../server/server.ts";
import type { Interpreters } from "../python/interpreters.ts";
import { environmentWords, shortPath, type EnvironmentWords } from "./words.ts";

const SELECTOR: vscode.DocumentSelector = [{ language: "python" }, { notebookType: "jupyter-notebook" }];

/** What was found, and with which interpreter: with another one it is no longer so. */
interface Known {
  environment: Environment;
  of: string;
}

export class HealthItems implements vscode.Disposable {
  readonly #server = vscode.languages.createLanguageStatusItem("kernelband.server", SELECTOR);
  readonly #worker = vscode.languages.createLanguageStatusItem("kernelband.worker", SELECTOR);
  readonly #packages = vscode.languages.createLanguageStatusItem("kernelband.packages", SELECTOR);
  readonly #device = vscode.languages.createLanguageStatusItem("kernelband.device", SELECTOR);
  readonly #search = vscode.languages.createLanguageStatusItem("kernelband.search", SELECTOR);
  readonly #subscriptions: vscode.Disposable[];
  #known: Known | undefined;

  constructor(
    private readonly server: Server,
    private readonly interpreters: Interpreters,
    private readonly search: SearchEnvironment,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.#server.name = vscode.l10n.t("KernelBand server");
    this.#worker.name = vscode.l10n.t("KernelBand interpreter");
    this.#packages.name = vscode.l10n.t("KernelBand torch and Triton");
    this.#device.name = vscode.l10n.t("KernelBand device");
    this.#search.name = vscode.l10n.t("KernelBand search");
    const draw = (): void => void this.draw();
    this.#subscriptions = [
      ...[this.#server, this.#worker, this.#packages, this.#device, this.#search],
      server.onHealthChanged(draw),
      interpreters.onDidChange(draw),
      search.onDidChange(draw),
      vscode.window.onDidChangeActiveTextEditor(draw),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("kernelband") || event.affectsConfiguration("python")) draw();
      }),
      // Its folder is trusted, and the interpreter has just run.
      server.onRunChanged(({ state, uri }) => {
        if (state === "finished") void this.look(uri).catch((error: unknown) => log.debug(`The environment is not known: ${String(error)}`));
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /**
   * Run the interpreter of that document's folder and see what it has; never without being asked.
   *
   * @param again what is remembered doesn't count
   * @throws Error with one sentence, such as for a folder that isn't trusted
   */
  async look(uri: string, again = false): Promise<Environment> {
    this.#packages.busy = true;
    try {
      const of = await this.#interpreter();
      const environment = await this.server.command<Environment>("environment", uri, again);
      this.#known = { environment, of };
      return environment;
    } finally {
      this.#packages.busy = false;
      await this.draw();
    }
  }

  async draw(): Promise<void> {
    this.#drawServer();
    await this.#drawWorker();
    const interpreter = await this.#interpreter();
    const known = this.#known?.of === interpreter ? environmentWords(this.#known.environment) : undefined;
    const { Warning, Information } = vscode.LanguageStatusSeverity;
    this.#packages.text = known?.packages ?? vscode.l10n.t("torch, Triton");
    this.#packages.detail = known?.aboutPackages ?? vscode.l10n.t("not checked: this runs the interpreter");
    this.#packages.severity = known?.broken ? Warning : Information;
    this.#packages.command = { command: "kernelband.environment", title: known ? vscode.l10n.t("Check again") : vscode.l10n.t("Check") };
    await this.#drawDevice(known);
    this.#drawSearch();
  }

  #drawServer(): void {
    const { state, problem } = this.server.health;
    this.#server.text = { starting: vscode.l10n.t("KernelBand is starting"), running: "KernelBand", stopped: vscode.l10n.t("KernelBand has stopped") }[state];
    this.#server.detail = problem || (this.server.python ? vscode.l10n.t("server on {0}", shortPath(this.server.python.path)) : "");
    this.#server.severity = state === "stopped" ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    this.#server.busy = state === "starting";
    this.#server.command =
      state === "stopped"
        ? { command: "kernelband.restart", title: vscode.l10n.t("Restart") }
        : { command: "kernelband.serverActions", title: vscode.l10n.t("Log, restart…") };
  }

  async #drawWorker(): Promise<void> {
    const worker = vscode.workspace.getConfiguration("kernelband").get<string>("worker");
    const { path, from } = await this.interpreters.choose(folder());
    this.#worker.text = worker ? worker : shortPath(path || "python3");
    this.#worker.detail = worker ? vscode.l10n.t("runs kernels (kernelband.worker)") : vscode.l10n.t("runs kernels (from {0})", from);
    this.#worker.accessibilityInformation = { label: `${worker || path || "python3"}, ${this.#worker.detail}` };
    const title = vscode.l10n.t("Change");
    this.#worker.command = worker ? { command: "kernelband.openSetting", title, arguments: ["kernelband.worker"] } : { command: "kernelband.choosePython", title };
  }

  /** Where kernels of the active file run, by choice or by settings. What is there is only known once somebody has looked. */
  async #drawDevice(known: EnvironmentWords | undefined): Promise<void> {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    const { worker, gpu } = (uri ? await this.#chosen(uri) : undefined) ?? { worker: null, gpu: null };
    const predicts = gpu !== null && !known?.hasGpu;
    this.#device.text = predicts ? vscode.l10n.t("predicted for {0}", gpu) : (known?.gpu ?? worker ?? vscode.l10n.t("GPU"));
    this.#device.detail = predicts ? vscode.l10n.t("when no GPU is available") : (known?.aboutGpu ?? vscode.l10n.t("not checked"));
    this.#device.command = { command: "kernelband.chooseDevice", title: vscode.l10n.t("Change") };
  }

  async #chosen(uri: string): Promise<{ worker: string | null; gpu: string | null } | undefined> {
    if (this.server.health.state !== "running") return undefined;
    try {
      return await this.server.command("deviceOf", uri);
    } catch (error) {
      this.log.debug(`The device of ${uri} is not known: ${String(error)}`); // such as of a document that is no file
      return undefined;
    }
  }

  #drawSearch(): void {
    this.#search.text = vscode.l10n.t("KernelBand search");
    this.#search.detail = {
      interpreter: vscode.l10n.t("runs with kernelband.search.interpreter"),
      installed: vscode.l10n.t("packages are installed"),
      missing: vscode.l10n.t("packages are installed when you first optimize"),
    }[this.search.ready];
    this.#search.command =
      this.search.ready === "missing"
        ? { command: "kernelband.installSearch", title: vscode.l10n.t("Install") }
        : { command: "kernelband.openSetting", title: vscode.l10n.t("Change"), arguments: ["kernelband.search"] };
  }

  /** What the environment depends on. */
  async #interpreter(): Promise<string> {
    const worker = vscode.workspace.getConfiguration("kernelband").get<string>("worker") ?? "";
    const { path } = await this.interpreters.choose(folder());
    return `${worker} ${path}`;
  }
}

/** Of the active file. */
function folder(): vscode.Uri | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri && vscode.workspace.getWorkspaceFolder(uri)?.uri;
}
