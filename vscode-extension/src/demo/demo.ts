/** A kernel that the extension brings, as a real file in a folder of its own, which runs only once the user has said so. */
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import type { Optimizer, Target } from "../optimize/optimize.ts";
import { registering } from "../registering.ts";
import type { Server } from "../server/server.ts";

const FILE = "layer_norm.py";
const KERNEL = "_layer_norm_fwd_kernel";
const ALLOWED = "kernelband.demo.allowed";

export function registerDemo(context: vscode.ExtensionContext, server: Server, optimizer: Optimizer): void {
  const on = registering(context);
  const demo = new Demo(context, server);
  on("demo.open", () => demo.open());
  on("demo.optimize", async () => {
    if (await demo.mayRun()) await optimizer.optimize(await demo.show());
  });
  on("demo.review", async () => {
    const { uri, kernel } = await demo.show();
    await server.execute("choose", uri, kernel);
  });
  on("demo.report", async () => {
    const { uri, kernel } = await demo.show();
    await vscode.commands.executeCommand("kernelband.report", { uri, kernel });
  });
}

class Demo {
  readonly #folder: vscode.Uri;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.#folder = vscode.Uri.joinPath(context.globalStorageUri, "demo");
    if (this.#allowed) void server.trust(this.#folder);
  }

  get #allowed(): boolean {
    return this.context.globalState.get(ALLOWED, false);
  }

  /** By a click beside which it says what will run. */
  async open(): Promise<void> {
    await this.context.globalState.update(ALLOWED, true);
    await this.server.trust(this.#folder);
    await this.show();
  }

  /** Asks once. */
  async mayRun(): Promise<boolean> {
    if (this.#allowed) return true;
    const yes = vscode.l10n.t("Let it run");
    const said = vscode.l10n.t("Let the demo kernel run?");
    const detail = vscode.l10n.t(
      "Its file is in {0}. To optimize it, its bench function and variants of its kernel run with your Python, as you. No other folder is trusted by this.",
      this.#folder.fsPath,
    );
    if ((await vscode.window.showInformationMessage(said, { modal: true, detail }, yes)) !== yes) return false;
    await this.open();
    return true;
  }

  /** As it was left: what the user has changed in it stays. Opening runs nothing. */
  async show(): Promise<Target> {
    const file = path.join(this.#folder.fsPath, FILE);
    if (!existsSync(file)) {
      mkdirSync(this.#folder.fsPath, { recursive: true });
      copyFileSync(path.join(this.context.extensionPath, "bundled", "demo", FILE), file);
    }
    const document = await vscode.workspace.openTextDocument(file);
    await vscode.window.showTextDocument(document, { preview: false });
    return { uri: document.uri.toString(), kernel: KERNEL };
  }
}
