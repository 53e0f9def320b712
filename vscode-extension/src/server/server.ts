/** The language server: started, restarted, told of settings and trust, asked. One for the window, whatever folders are open. */
import path from "node:path";
import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  ResponseError,
  State,
  type ClientCapabilities,
  type LanguageClientOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import type { RunChanged } from "../protocol.ts";
import type { Interpreters } from "../python/interpreters.ts";
import { NAMES, programs } from "../python/path.ts";
import { firstThatServes, type Python } from "../python/probe.ts";
import type { SearchEnvironment } from "../search/environment.ts";
import { launch } from "./launch.ts";
import { Restarts } from "./restarts.ts";
import { settings } from "./settings.ts";

const REFUSED = -32803; // it has told the user why, in a message of its own
const START_MS = 30_000;
const NEEDED = "KernelBand's language server needs Python 3.10 or newer, and none was found: install one, or set kernelband.server.interpreter.";

/** `problem`: one sentence on why there is no server. */
export type Health = { state: "starting" | "running" | "stopped"; problem: string };

/** Does something of ours in place of a command of the server's, or around it. */
export type Intercept = (args: unknown[], next: () => Promise<unknown>) => Promise<unknown>;

/** We open what commands answer with, in our own ways; and our status bar item says how runs go: a second one with the same words is too much. */
const OPENS: StaticFeature = {
  fillClientCapabilities: (capabilities: ClientCapabilities) => {
    capabilities.window = { ...capabilities.window, workDoneProgress: false };
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), kernelband: { opens: true } };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

export class Server implements vscode.Disposable {
  readonly #runChanged = new vscode.EventEmitter<RunChanged>();
  readonly #healthChanged = new vscode.EventEmitter<Health>();
  readonly #restarts = new Restarts();
  readonly #intercepts = new Map<string, Intercept>();
  readonly #alsoTrusted = new Set<string>();
  #client: LanguageClient | undefined;
  #python: Python | undefined;
  #health: Health = { state: "starting", problem: "" };
  readonly onRunChanged = this.#runChanged.event;
  readonly onHealthChanged = this.#healthChanged.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly interpreters: Interpreters,
    private readonly search: () => SearchEnvironment,
  ) {
    context.subscriptions.push(
      this,
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("kernelband.server")) void this.restart();
        else if (event.affectsConfiguration("kernelband") || event.affectsConfiguration("python")) void this.configure();
      }),
      interpreters.onDidChange(() => void this.configure()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.#trusted()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.#trusted()),
      context.secrets.onDidChange(() => void this.tellKey()),
    );
  }

  dispose(): void {
    void this.#client?.dispose(2000);
  }

  get health(): Health {
    return this.#health;
  }

  /** The Python that the server runs with. */
  get python(): Python | undefined {
    return this.#python;
  }

  /** Take the place of `kernelband.server.NAME`, wherever it comes from: a lens, an action, a key. */
  intercept(name: string, by: Intercept): void {
    this.#intercepts.set(`kernelband.server.${name}`, by);
  }

  /**
   * Ask for `kernelband.server.NAME`, past all intercepts.
   *
   * @throws Error with the server's sentence, which it may have shown already (`told`)
   */
  async command<T>(name: string, ...args: unknown[]): Promise<T> {
    const client = this.#client;
    if (!client?.isRunning()) throw new Error(this.#health.problem || "KernelBand's language server is still starting: try again in a moment.");
    return (await client.sendRequest(ExecuteCommandRequest.type, { command: `kernelband.server.${name}`, arguments: args })) as T;
  }

  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      this.log.error(`The language server did not start: ${String(error)}`);
      this.#failed("did not start");
    }
  }

  async #start(): Promise<void> {
    this.#say({ state: "starting", problem: "" });
    this.#python = await this.#findPython();
    if (!this.#python) {
      this.#say({ state: "stopped", problem: NEEDED });
      return;
    }
    const cache = path.join(this.context.globalStorageUri.fsPath, "pycache");
    const started = launch(this.#python, this.context.extensionPath, cache);
    const options = await this.#options(() => void this.#ended(client));
    const client: LanguageClient = new LanguageClient("kernelband", "KernelBand", { ...started, options: { cwd: this.context.extensionPath } }, options);
    client.registerFeature(OPENS);
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) this.#running(client);
    });
    client.onNotification("kernelband/runChanged", (changed: RunChanged) => this.#runChanged.fire(changed));
    this.#client = client;
    try {
      await within(client.start(), START_MS);
    } catch (error) {
      this.log.error(`The language server did not start: ${String(error)}`);
      if (this.#client === client) this.#failed("did not start");
      void client.dispose(1000).catch((late: unknown) => this.log.debug(String(late)));
    }
  }

  /** By a person, or since another interpreter shall run it. */
  async restart(): Promise<void> {
    this.#restarts.forget();
    await this.#anew();
  }

  async #anew(): Promise<void> {
    const old = this.#client;
    this.#client = undefined;
    try {
      await old?.dispose(2000);
    } catch (error) {
      this.log.debug(`The language server did not stop by itself: ${String(error)}`);
    }
    await this.start();
  }

  /** Its process is gone, and nobody asked for that. A new client takes its place: one that is restarted shows what failed on the way. */
  async #ended(client: LanguageClient): Promise<void> {
    if (this.#client !== client) return;
    if (this.#restarts.again(Date.now())) await this.#anew();
    else this.#failed("ended six times in three minutes and isn't started again");
  }

  /** Tell the settings of now. */
  async configure(): Promise<void> {
    const told = settings(await this.interpreters.byFolder(), this.search().command);
    if (this.#client?.isRunning()) await this.#client.sendNotification(DidChangeConfigurationNotification.type, { settings: { kernelband: told } });
  }

  /** Tell the model's key, from the editor's store of secrets. */
  async tellKey(): Promise<void> {
    const key = (await this.context.secrets.get(MODEL_KEY)) ?? null;
    if (this.#client?.isRunning()) await this.#client.sendNotification("kernelband/didChangeModelKey", { key });
  }

  /** A folder outside of the workspace that the user lets run. */
  async trust(folder: vscode.Uri): Promise<void> {
    this.#alsoTrusted.add(folder.toString());
    await this.#trusted();
  }

  async #trusted(): Promise<void> {
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => ({ uri: uri.toString(), trusted: vscode.workspace.isTrusted }));
    const others = [...this.#alsoTrusted].map((uri) => ({ uri, trusted: true }));
    if (this.#client?.isRunning()) await this.#client.sendNotification("kernelband/didChangeTrust", { folders: [...folders, ...others] });
    await this.configure(); // settings that a folder may not have said before may count now
  }

  #running(client: LanguageClient): void {
    if (this.#client !== client) return;
    this.#say({ state: "running", problem: "" });
    void this.#trusted().then(() => this.tellKey());
  }

  #failed(how: string): void {
    const said = `KernelBand's language server ${how}: see the log (KernelBand: Show the log), then restart it.`;
    this.#say({ state: "stopped", problem: said });
  }

  #say(health: Health): void {
    this.#health = health;
    this.#healthChanged.fire(health);
  }

  async #findPython(): Promise<Python | undefined> {
    const own = vscode.workspace.getConfiguration("kernelband.server").get<string>("interpreter");
    const open = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    const found = await firstThatServes(own ? [own] : programs(NAMES, process.env["PATH"] ?? "", open));
    if (found || own || !vscode.workspace.isTrusted) return found;
    const users = Object.values(await this.interpreters.byFolder());
    return firstThatServes(users.filter((python) => path.isAbsolute(python)));
  }

  async #options(ended: () => void): Promise<LanguageClientOptions> {
    const python = ["file", "untitled", "vscode-remote", "vscode-vfs"].map((scheme) => ({ scheme, language: "python" }));
    return {
      documentSelector: [...python, { notebook: "jupyter-notebook", language: "python" }, { scheme: "file", pattern: "**/pyproject.toml" }],
      outputChannel: this.log,
      initializationOptions: settings(await this.interpreters.byFolder(), this.search().command),
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          ended();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      initializationFailedHandler: () => false,
      middleware: { executeCommand: (command, args: unknown[], next) => this.#execute(command, args, async () => (await next(command, args)) as unknown) },
    };
  }

  async #execute(command: string, args: unknown[], next: () => Promise<unknown>): Promise<unknown> {
    try {
      return await (this.#intercepts.get(command)?.(args, next) ?? next());
    } catch (error) {
      if (!told(error)) void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}

/** The name of the model's key in the editor's store of secrets. */
export const MODEL_KEY = "kernelband.model.key";

/** Whether the server has shown the user this error itself. */
export function told(error: unknown): boolean {
  return error instanceof ResponseError && error.code === REFUSED;
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
