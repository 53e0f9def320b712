/** `kernelband.kernels`: whether the active document has a kernel, for the `when` of menus. */
import * as vscode from "vscode";
import type { KernelsAt } from "../protocol.ts";
import type { Server } from "../server/server.ts";
import { Soon } from "./soon.ts";

const KEY = "kernelband.kernels";
const WAIT_MS = 250;

export class KernelContext implements vscode.Disposable {
  readonly #soon = new Soon(() => void this.#look(), WAIT_MS);
  readonly #subscriptions: { dispose(): unknown }[];
  #said: boolean | undefined;
  #looks = 0;

  constructor(
    private readonly server: Server,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.#subscriptions = [
      this.#soon,
      server.onHealthChanged(() => this.#soon.ask()),
      // at once, as a right-click may come next: a menu that is open shows what was so when it opened
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor) void this.#look(); // in front of what is no text the key says nothing: the text that comes back is the last one
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document === vscode.window.activeTextEditor?.document) this.#soon.ask();
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  async #look(): Promise<void> {
    const look = ++this.#looks;
    const has = await this.#has(vscode.window.activeTextEditor?.document);
    if (look !== this.#looks || has === this.#said) return; // an answer that comes late is about what was in front before
    this.#said = has;
    await vscode.commands.executeCommand("setContext", KEY, has);
  }

  async #has(document: vscode.TextDocument | undefined): Promise<boolean> {
    if (document?.languageId !== "python" || this.server.health.state !== "running") return false;
    try {
      const { all } = await this.server.command<KernelsAt>("kernelsAt", document.uri.toString(), 0, 0);
      return all.length > 0;
    } catch (error) {
      this.log.debug(`Kernels of ${document.uri.toString()} are not known: ${String(error)}`); // such as a document that has closed
      return false;
    }
  }
}
