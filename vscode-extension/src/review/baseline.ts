/** The text from before a review: a document of its own, what the gutter and its peek compare with, and the left side of a diff. */
import * as vscode from "vscode";
import type { Review } from "./review.ts";
import type { Reviews } from "./reviews.ts";

export const SCHEME = "kernelband-base";

export class Baselines implements vscode.TextDocumentContentProvider, vscode.QuickDiffProvider, vscode.Disposable {
  readonly #numbers = new WeakMap<Review, number>(); // the editor remembers a text by its address, so that of each review is another
  #count = 0;
  #control: { group: vscode.SourceControlResourceGroup; all: vscode.SourceControl } | undefined;
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly reviews: Reviews) {
    this.#subscriptions = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      reviews.onDidChange(() => this.#list()),
      reviews.onDidEnd((review) => void this.#close(review)),
    );
    this.#list();
  }

  dispose(): void {
    this.#control?.all.dispose();
    this.#subscriptions.dispose();
  }

  /** Where the text of a file before its review is. */
  address(uri: vscode.Uri): vscode.Uri | undefined {
    const review = this.reviews.of(uri);
    if (!review) return undefined;
    const number = this.#numbers.get(review) ?? ++this.#count;
    this.#numbers.set(review, number);
    return vscode.Uri.from({ scheme: SCHEME, path: uri.path, query: uri.toString(), fragment: String(number) });
  }

  /** The file that an address is about. */
  file(address: vscode.Uri): vscode.Uri {
    return address.scheme === SCHEME ? vscode.Uri.parse(address.query) : address;
  }

  provideTextDocumentContent(address: vscode.Uri): string | undefined {
    return this.reviews.of(address.query)?.file(address.query)?.baseline;
  }

  provideOriginalResource(uri: vscode.Uri): vscode.Uri | undefined {
    return this.address(uri);
  }

  /** Every file of the review against its text from before: VS Code's own diff, as the user has it. */
  async compare(review: Review): Promise<void> {
    const uris = review.files.map(({ uri }) => vscode.Uri.parse(uri));
    const title = vscode.l10n.t("Before ↔ variant {0} of {1}", review.told.variant, review.told.kernel);
    const [first] = uris;
    if (uris.length === 1 && first) await vscode.commands.executeCommand("vscode.diff", this.address(first), first, title);
    else await vscode.commands.executeCommand("vscode.changes", title, uris.map((uri) => [uri, this.address(uri), uri]));
  }

  /** There while something is under review. */
  #list(): void {
    if (!this.reviews.active.length) {
      this.#control?.all.dispose();
      this.#control = undefined;
      return;
    }
    if (!this.#control) {
      const all = vscode.scm.createSourceControl("kernelband", vscode.l10n.t("KernelBand review"));
      all.inputBox.visible = false;
      all.quickDiffProvider = this;
      all.count = 0;
      this.#control = { all, group: all.createResourceGroup("review", vscode.l10n.t("Under review")) };
    }
    const uris = this.reviews.active.flatMap(({ files }) => files.map(({ uri }) => vscode.Uri.parse(uri)));
    this.#control.group.resourceStates = uris.map((uri) => {
      const title = vscode.l10n.t("Compare with the text from before");
      return { resourceUri: uri, command: { command: "vscode.diff", title, arguments: [this.address(uri), uri] } };
    });
  }

  /** Diffs with a text from before that isn't anything's before any more. */
  async #close(review: Review): Promise<void> {
    const uris = review.files.map(({ uri }) => uri);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const old = tabs.filter(({ input }) => input instanceof vscode.TabInputTextDiff && input.original.scheme === SCHEME && uris.includes(input.original.query));
    const { activeTab } = vscode.window.tabGroups.activeTabGroup;
    if (!old.length) return;
    // First the files: the editor asks what shall become of an unsaved text that is in no other tab.
    for (const tab of [...old.filter((one) => one !== activeTab), ...old.filter((one) => one === activeTab)]) {
      const { input, group, isActive, isDirty } = tab;
      if (!(input instanceof vscode.TabInputTextDiff) || !(isActive || isDirty)) continue;
      await vscode.window.showTextDocument(input.modified, { viewColumn: group.viewColumn, preview: false, preserveFocus: tab !== activeTab });
    }
    await vscode.window.tabGroups.close(old, true);
  }
}
