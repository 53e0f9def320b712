/** The language server: started, restarted, told of settings and trust, asked. One for the window, whatever folders are open. */
import { once } from "node:events";
import path from "node:path";
import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  ExecuteCommandRequest,
  State,
  type LanguageClientOptions,
  ShowMessageRequest,
} from "vscode-languageclient/node";
import type { Refused, RunChanged, RunEnded } from "../protocol.ts";
import type { Interpreters } from "../python/interpreters.ts";
import { NAMES, programs } from "../python/path.ts";
import { firstThatServes, type Python } from "../python/probe.ts";
import { Refusal, type Remedy } from "../refusals/remedies.ts";
import { showError } from "../refusals/show.ts";
import type { SearchEnvironment } from "../search/environment.ts";
import { Late, within } from "../within.ts";
import { Client } from "./client.ts";
import { launch } from "./launch.ts";
import { picked } from "./questions.ts";
import { Restarts } from "./restarts.ts";
import { settings } from "./settings.ts";
import { Starts } from "./starts.ts";
import { asked, Trust } from "./trust.ts";

const START_MS = 30_000;
const END_MS = 2000;

/** `problem`: one sentence on why there is no server, and what helps. */
export type Health = { state: "starting" | "running" | "stopped"; problem: string; remedies: readonly Remedy[] };

/** Does something of ours in place of a command of the server's, or around it. */
export type Intercept = (args: unknown[], next: () => Promise<unknown>) => Promise<unknown>;

export class Server implements vscode.Disposable {
  readonly #runChanged = new vscode.EventEmitter<RunChanged>();
  readonly #runEnded = new vscode.EventEmitter<RunEnded>();
  readonly #healthChanged = new vscode.EventEmitter<Health>();
  readonly #restarts = new Restarts();
  readonly #starts = new Starts((isCurrent) => this.#begin(isCurrent));
  readonly #intercepts = new Map<string, Intercept>();
  readonly #trust = new Trust();
  #client: Client | undefined;
  #python: Python | undefined;
  #health: Health = { state: "starting", problem: "", remedies: [] };
  readonly #refused = new vscode.EventEmitter<Refused>();
  readonly onRunChanged = this.#runChanged.event;
  /** One that wasn't started here. */
  readonly onRunEnded = this.#runEnded.event;
  /** Something can't be done, or has failed: a sentence for the user, with what helps. */
  readonly onRefused = this.#refused.event;
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
        if (event.affectsConfiguration("kernelband.server")) this.#aside(this.restart());
        else if (event.affectsConfiguration("kernelband") || event.affectsConfiguration("python")) this.#aside(this.configure());
      }),
      interpreters.onDidChange(() => this.#aside(this.configure())),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.#aside(this.#trusted())),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.#aside(this.#trusted())),
      context.secrets.onDidChange(() => this.#aside(this.tellKey())),
    );
  }

  dispose(): void {
    this.#starts.stop();
    const client = this.#client;
    this.#client = undefined;
    if (client) void this.#end(client).catch(() => undefined); // the log may be gone before it
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
    return (await this.mustRun().sendRequest(ExecuteCommandRequest.type, { command: `kernelband.server.${name}`, arguments: args })) as T;
  }

  /**
   * Run `kernelband.server.NAME` as a lens does, with all intercepts. The editor knows of these commands while the server runs, and only then.
   *
   * @throws Error with the sentence on why there is no server
   */
  async execute(name: string, ...args: unknown[]): Promise<unknown> {
    this.mustRun();
    return vscode.commands.executeCommand(`kernelband.server.${name}`, ...args);
  }

  /** @throws Error with the sentence on why there is none */
  mustRun(): Client {
    const client = this.#client;
    if (!client?.isRunning()) {
      const starting = vscode.l10n.t("KernelBand's language server is still starting: try again in a moment.");
      throw new Refusal(this.#health.problem || starting, this.#health.problem ? this.#health.remedies : ["log"]);
    }
    return client;
  }

  start(): Promise<void> {
    return this.#starts.ask();
  }

  /** By a person, or since another interpreter shall run it. */
  restart(): Promise<void> {
    this.#restarts.forget();
    return this.#starts.ask();
  }

  /** End what there is, then start; how that goes is said. */
  async #begin(isCurrent: () => boolean): Promise<void> {
    this.#say({ state: "starting", problem: "", remedies: [] });
    const old = this.#client;
    this.#client = undefined;
    if (old) await this.#end(old);
    let client: Client | undefined;
    try {
      client = await this.#made(isCurrent);
      if (!client) return;
      this.#client = client;
      await within(client.start(), START_MS);
    } catch (error) {
      this.log.error(`The language server did not start: ${String(error)}`);
      // Unless it is known already that it has ended: then another start waits, or it was said that it ended too often.
      if (isCurrent() && this.#client === client && this.#health.state !== "stopped") {
        if (client && !(error instanceof Late)) this.#aside(this.#ended(client));
        else this.#stopped(vscode.l10n.t("KernelBand's language server did not start: see the log (KernelBand: Show the log), then restart it."));
      }
      this.#client = undefined;
      if (client) await this.#end(client);
    }
  }

  /** Undefined without a Python, or where another start waits for this one. */
  async #made(isCurrent: () => boolean): Promise<Client | undefined> {
    const python = isCurrent() ? await this.#findPython() : undefined;
    if (!isCurrent()) return undefined;
    this.#python = python;
    if (!python) {
      this.#stopped(noPython(), ["interpreter", "restart"]);
      return undefined;
    }
    const options = await this.#options(() => this.#aside(this.#ended(client)));
    if (!isCurrent()) return undefined;
    const cache = path.join(this.context.globalStorageUri.fsPath, "pycache");
    const started = launch(python, this.context.extensionPath, cache);
    const client: Client = new Client({ ...started, options: { cwd: this.context.extensionPath } }, options);
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) this.#greet(client);
    });
    client.onRequest(ShowMessageRequest.type, picked); // in place of a toast, which cuts its buttons off
    client.onNotification("kernelband/runChanged", (changed: RunChanged) => this.#runChanged.fire(changed));
    client.onNotification("kernelband/runEnded", (ended: RunEnded) => this.#runEnded.fire(ended));
    client.onNotification("kernelband/refused", (refused: Refused) => this.#refused.fire(refused));
    return client;
  }

  /** One that has not come up can't be asked to stop, and could still register its commands: its process goes first. */
  async #end(client: Client): Promise<void> {
    const process = client.serverProcess;
    try {
      await client.dispose(END_MS);
    } catch (error) {
      this.log.debug(`The language server did not stop by itself: ${String(error)}`);
      if (!process || process.exitCode !== null || process.signalCode !== null) return;
      const gone = once(process, "exit");
      process.kill("SIGKILL");
      await within(gone, END_MS).catch((late: unknown) => this.log.warn(`The language server's process did not end: ${String(late)}`));
    }
  }

  /** Its process is gone, and nobody asked for that. A new client takes its place: one that is restarted shows what failed on the way. */
  async #ended(client: Client): Promise<void> {
    if (this.#client !== client) return;
    if (this.#restarts.again(Date.now())) await this.#starts.ask();
    else this.#stopped(vscode.l10n.t("KernelBand's language server ended six times in three minutes and isn't started again: see the log (KernelBand: Show the log), then restart it."));
  }

  /** Tell the settings of now. */
  async configure(): Promise<void> {
    const told = await this.#settings();
    if (this.#client?.isRunning()) await this.#client.sendNotification(DidChangeConfigurationNotification.type, { settings: { kernelband: told } });
  }

  /** Tell the model's key, from the editor's store of secrets. */
  async tellKey(): Promise<void> {
    const key = (await this.context.secrets.get(MODEL_KEY)) ?? null;
    if (this.#client?.isRunning()) await this.#client.sendNotification("kernelband/didChangeModelKey", { key });
  }

  /** A folder outside of the workspace that the user lets run. */
  async trust(folder: vscode.Uri): Promise<void> {
    this.#trust.add(folder.fsPath);
    await this.#trusted();
  }

  /** Before something of a document runs: false where its user, who was asked for its folder, has said no. */
  async mayRun(uri: string): Promise<boolean> {
    const folder = this.#trust.unasked(uri);
    if (folder === undefined) return true;
    if (!(await asked(folder))) return false;
    await this.trust(vscode.Uri.file(folder));
    return true;
  }

  /** Whether something of a document may run as it is, without a question. */
  allows(uri: string): boolean {
    return !this.#trust.refuses(uri) && this.#trust.unasked(uri) === undefined;
  }

  /** The open folder of a document. */
  folder(uri: string): vscode.Uri | undefined {
    return this.#trust.folder(uri);
  }

  /** Whether a document, or a cell's notebook, is a file. */
  isFile(uri: string): boolean {
    return this.#trust.isFile(uri);
  }

  /** Whether the server refuses to run something of a document, whatever else there is. */
  refuses(uri: string): boolean {
    return this.#trust.refuses(uri);
  }

  async #trusted(): Promise<void> {
    if (this.#client?.isRunning()) await this.#client.sendNotification("kernelband/didChangeTrust", { folders: this.#trust.words });
    await this.configure(); // settings that a folder may not have said before may count now
  }

  /** It runs: what else it has to know. */
  #greet(client: Client): void {
    if (this.#client !== client) return;
    this.#say({ state: "running", problem: "", remedies: [] });
    this.#aside(this.#trusted().then(() => this.tellKey()));
  }

  /** Nobody waits for it: such as for what is told to a server that ends just then. */
  #aside(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.log.warn(String(error)));
  }

  async #settings(): Promise<Record<string, unknown>> {
    return settings(vscode.workspace.getConfiguration("kernelband"), await this.interpreters.all(), this.search().command);
  }

  #stopped(problem: string, remedies: readonly Remedy[] = ["restart", "log"]): void {
    this.#say({ state: "stopped", problem, remedies });
  }

  #say(health: Health): void {
    this.#health = health;
    this.#healthChanged.fire(health);
  }

  async #findPython(): Promise<Python | undefined> {
    const own = ownInterpreter();
    const open = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    const found = await firstThatServes(own ? [own] : programs(NAMES, process.env["PATH"] ?? "", open));
    if (found || own || !vscode.workspace.isTrusted) return found;
    const { byFolder, elsewhere } = await this.interpreters.all();
    return firstThatServes([...Object.values(byFolder), elsewhere].filter((python) => path.isAbsolute(python)));
  }

  async #options(ended: () => void): Promise<LanguageClientOptions> {
    const python = ["file", "untitled", "vscode-remote", "vscode-vfs"].map((scheme) => ({ scheme, language: "python" }));
    return {
      documentSelector: [...python, { notebook: "jupyter-notebook", language: "python" }, { scheme: "file", pattern: "**/pyproject.toml" }],
      outputChannel: this.log,
      initializationOptions: await this.#settings(),
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
      showError(error);
      return undefined;
    }
  }
}

function ownInterpreter(): string {
  return vscode.workspace.getConfiguration("kernelband.server").get<string>("interpreter") ?? "";
}

/** Why there is no server: the user's own interpreter is none, or there is none. */
function noPython(): string {
  const own = ownInterpreter();
  return own
    ? vscode.l10n.t("kernelband.server.interpreter is {0}, which isn't a Python 3.10 or newer that can be started: change it, or leave it empty.", own)
    : vscode.l10n.t("KernelBand's language server needs Python 3.10 or newer, and none was found: install one, or set kernelband.server.interpreter.");
}

/** The name of the model's key in the editor's store of secrets. */
export const MODEL_KEY = "kernelband.model.key";
