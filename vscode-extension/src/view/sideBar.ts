/** The side bar: the workspace's kernels, and their runs with the variants. */
import * as vscode from "vscode";
import type { WorkspaceKernels, WorkspaceRun } from "../protocol.ts";
import type { LiveRuns } from "../runs/live.ts";
import type { Server } from "../server/server.ts";
import { fileRows, runRows, type FileRow, type RunRow } from "./rows.ts";
import { Tree } from "./tree.ts";

const MOST_RUNS = 100;
const MOST_LOOKS = 10; // for one question: each reads some seconds' worth of files

export class SideBar implements vscode.Disposable {
  readonly #kernels: Tree<FileRow>;
  readonly #runs: Tree<RunRow>;
  readonly #subscriptions: { dispose(): unknown }[];
  #looks = 0;

  constructor(
    private readonly server: Server,
    private readonly live: LiveRuns,
  ) {
    this.#kernels = new Tree("kernelband.workspaceKernels", server, () => this.#findKernels());
    this.#runs = new Tree("kernelband.runs", server, () => this.#findRuns());
    this.#subscriptions = [
      this.#kernels,
      this.#runs,
      server.onRunChanged(() => this.refresh()),
      server.onRunEnded(() => this.refresh()),
      server.onHealthChanged(({ state }) => {
        void vscode.commands.executeCommand("setContext", "kernelband.server", state);
        this.refresh();
      }),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) this.refresh(); // a terminal's `kernelband` writes the same history
      }),
      vscode.workspace.onDidSaveTextDocument(() => this.refresh()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.refresh()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.refresh()),
      vscode.workspace.onDidDeleteFiles(() => this.refresh()),
      vscode.workspace.onDidRenameFiles(() => this.refresh()),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  refresh(): void {
    const going = this.live.all.length;
    const tooltip = going === 1 ? vscode.l10n.t("1 run in progress") : vscode.l10n.t("{0} runs in progress", going);
    this.#runs.badge = going ? { value: going, tooltip } : undefined;
    void vscode.commands.executeCommand("setContext", "kernelband.live", going > 0);
    this.#looks = 0;
    this.#kernels.refresh();
    this.#runs.refresh();
  }

  async #findKernels(): Promise<{ rows: FileRow[]; message: string; more: boolean }> {
    const { kernels, truncated } = await this.server.command<WorkspaceKernels>("kernels");
    const more = truncated && ++this.#looks < MOST_LOOKS;
    const message = truncated && !more ? vscode.l10n.t("There are more files than could be read: refresh to look further.") : "";
    return { rows: fileRows(kernels, this.live.all, relative), message, more };
  }

  async #findRuns(): Promise<{ rows: RunRow[]; message: string; more: boolean }> {
    const { runs } = await this.server.command<{ runs: WorkspaceRun[] }>("runs", MOST_RUNS);
    return { rows: runRows(runs, this.live.all, Date.now(), relative), message: "", more: false };
  }
}

function relative(uri: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(uri).with({ fragment: "" }));
}
