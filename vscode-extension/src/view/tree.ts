/** A tree of the side bar: asked of the server when it is seen, and again a moment after something has changed. */
import * as vscode from "vscode";
import type { Server } from "../server/server.ts";
import type { FileRow, KernelRow, RestRow, RunRow, VariantRow } from "./rows.ts";
import { Soon } from "./soon.ts";

export type AnyRow = FileRow | KernelRow | RunRow | VariantRow | RestRow;
const WAIT_MS = 400;

/** What there is now, and a sentence for above it ("" for none). `more`: it is to be asked for again soon. */
export interface Found<R> {
  rows: R[];
  message: string;
  more: boolean;
}

export class Tree<R extends AnyRow> implements vscode.TreeDataProvider<AnyRow>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #soon = new Soon(() => void this.#look(), WAIT_MS);
  readonly #view: vscode.TreeView<AnyRow>;
  #rows: R[] | undefined;
  #shown = "";
  #stale = true;
  #looking: Promise<void> | undefined;
  readonly onDidChangeTreeData = this.#changed.event;

  /** @param find asks the server; may throw what is to be read above the tree */
  constructor(
    id: string,
    private readonly server: Server,
    private readonly find: () => Promise<Found<R>>,
  ) {
    this.#view = vscode.window.createTreeView<AnyRow>(id, { treeDataProvider: this, showCollapseAll: true });
    this.#view.onDidChangeVisibility(({ visible }) => {
      if (visible) this.refresh(); // another program may have changed the history meanwhile
    });
  }

  dispose(): void {
    vscode.Disposable.from(this.#soon, this.#view, this.#changed).dispose();
  }

  /** Something has changed: ask again when it is seen. */
  refresh(): void {
    this.#stale = true;
    if (this.#view.visible) this.#soon.ask();
  }

  set badge(badge: vscode.ViewBadge | undefined) {
    this.#view.badge = badge;
  }

  async getChildren(row?: AnyRow): Promise<AnyRow[]> {
    if (row) return row.kind === "file" ? row.kernels : row.kind === "run" ? row.children : row.kind === "rest" ? row.variants : [];
    if (!this.#rows) await this.#look();
    return this.#rows ?? [];
  }

  getTreeItem(row: AnyRow): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    const has = row.kind === "file" || row.kind === "rest" || (row.kind === "run" && row.children.length > 0);
    const item = new vscode.TreeItem(row.label, has ? (row.kind === "file" ? Expanded : Collapsed) : None);
    item.id = row.id;
    item.description = row.description;
    item.tooltip = row.tooltip;
    item.contextValue = row.context;
    item.iconPath = row.kind === "file" ? vscode.ThemeIcon.File : new vscode.ThemeIcon(row.icon, row.color ? new vscode.ThemeColor(row.color) : undefined);
    if (row.kind === "file") item.resourceUri = vscode.Uri.parse(row.uri);
    if (row.kind === "kernel") item.command = { command: "vscode.open", title: vscode.l10n.t("Open"), arguments: [vscode.Uri.parse(row.uri), at(row.line)] };
    if (row.kind === "variant") item.command = { command: "kernelband.view.compare", title: vscode.l10n.t("Compare"), arguments: [row] };
    return item;
  }

  /** One look at a time: what changes during it makes another one. */
  #look(): Promise<void> {
    this.#looking ??= this.#ask().finally(() => {
      this.#looking = undefined;
      if (this.#stale) this.refresh();
    });
    return this.#looking;
  }

  async #ask(): Promise<void> {
    this.#stale = false;
    if (this.server.health.state !== "running") {
      this.#show({ rows: [], message: "", more: false });
      return;
    }
    try {
      const found = await this.find();
      this.#show(found);
      this.#stale ||= found.more;
    } catch (error) {
      this.#show({ rows: this.#rows ?? [], message: error instanceof Error ? error.message : String(error), more: false });
    }
  }

  /** Only what is new: while the editor reads a tree anew, it forgets which row an open menu belongs to. */
  #show({ rows, message }: Found<R>): void {
    this.#view.message = message;
    const shown = JSON.stringify(rows);
    if (shown === this.#shown) return;
    this.#rows = rows;
    this.#shown = shown;
    this.#changed.fire();
  }
}

/** Options of an editor that shows that line. */
function at(line: number): vscode.TextDocumentShowOptions {
  return { selection: new vscode.Range(line, 0, line, 0) };
}
