/** The Python that has torch and Triton: the user's setting, else the Python extension's, else their default, else what a terminal has. */
import * as vscode from "vscode";
import { within } from "../within.ts";
import { active } from "./path.ts";

const WAIT_MS = 10_000; // for the Python extension: it may look for environments first, and may hang

/** As far as we ask of ms-python.python's API (environments, stable since 2023). */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri: vscode.Uri | undefined } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** Where an interpreter comes from, in the words of the status item. */
export interface Chosen {
  path: string;
  from: string;
}

/** `byFolder`: of each open folder that has a choice of its own, by its path. `elsewhere`: of files that are in none; "" for `python3`. */
export interface Pythons {
  byFolder: Record<string, string>;
  elsewhere: string;
}

export class Interpreters implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscriptions: { dispose(): unknown }[] = [this.#changed];
  #watched = false;
  /** The choice of the Python extension or of a setting may be another one now. */
  readonly onDidChange = this.#changed.event;

  constructor(private readonly log: vscode.LogOutputChannel) {
    this.#subscriptions.push(vscode.extensions.onDidChange(() => this.#changed.fire()));
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /** For files of that folder. Nothing is started. `workspace` values of settings don't count: they may come from a repository. */
  async choose(folder?: vscode.Uri): Promise<Chosen> {
    const own = vscode.workspace.getConfiguration("kernelband").get<string>("python");
    if (own) return { path: own, from: "kernelband.python" };
    const theirs = vscode.workspace.isTrusted ? await this.#ofPythonExtension(folder) : undefined;
    if (theirs) return { path: theirs, from: vscode.l10n.t("the Python extension") };
    const setting = vscode.workspace.getConfiguration("python").inspect<string>("defaultInterpreterPath")?.globalValue;
    if (setting && setting !== "python") return { path: setting, from: "python.defaultInterpreterPath" };
    const environment = active(process.env);
    return environment ? { path: environment, from: vscode.l10n.t("the environment that the editor was started in") } : { path: "", from: "PATH" };
  }

  async all(): Promise<Pythons> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const [elsewhere, ...chosen] = await Promise.all([this.choose(), ...folders.map(({ uri }) => this.choose(uri))]);
    const byFolder = folders.map(({ uri }, index) => [uri.fsPath, chosen[index]?.path ?? ""] as const);
    return { byFolder: Object.fromEntries(byFolder.filter(([, path]) => path)), elsewhere: elsewhere.path };
  }

  /** Undefined also where that extension fails or doesn't answer: all goes on without it. */
  async #ofPythonExtension(folder?: vscode.Uri): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
    if (!extension) return undefined;
    try {
      return await within(this.#ask(extension, folder), WAIT_MS);
    } catch (error) {
      this.log.warn(`The Python extension did not say which Python it has chosen: ${String(error)}`);
      return undefined;
    }
  }

  async #ask(extension: vscode.Extension<PythonApi>, folder?: vscode.Uri): Promise<string | undefined> {
    const began = Date.now();
    const api = extension.isActive ? extension.exports : await extension.activate();
    if (!this.#watched) {
      this.#watched = true;
      this.#subscriptions.push(api.environments.onDidChangeActiveEnvironmentPath(() => this.#changed.fire()));
      if (Date.now() - began >= WAIT_MS) this.#changed.fire(); // nobody waits any more: ask again
    }
    const environment = await api.environments.resolveEnvironment(api.environments.getActiveEnvironmentPath(folder));
    return environment?.executable.uri?.fsPath;
  }
}
