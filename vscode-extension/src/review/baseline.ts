/** The text from before a review: a document of its own, what the gutter and its peek compare with, and the left side of a diff. */
import * as vscode from "vscode";
import type { Review } from "./review.ts";
import type { Reviews } from "./reviews.ts";

export const SCHEME = "kernelband-base";

export class Baselines implements vscode.TextDocumentContentProvider, vscode.QuickDiffProvider, vscode.Disposable {
  readonly #numbers = new WeakMap<Review, number>(); // the editor remembers a text by its address, so that of each review is another
  #count = 0;
  readonly #controls = new Map<string, vscode.SourceControl>(); // by the address of the text from before
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
    for (const control of this.#controls.values()) control.dispose();
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

  /** One for each file under review: of several changes at a line the gutter shows first what is of the nearest root, so ours before git's. */
  #list(): void {
    const files = this.reviews.active.flatMap((review) => review.files.map(({ uri }) => vscode.Uri.parse(uri)));
    const open = new Map(files.map((file) => [String(this.address(file)), file]));
    for (const [address, control] of this.#controls) {
      if (open.has(address)) continue;
      control.dispose();
      this.#controls.delete(address);
    }
    for (const [address, file] of open) {
      if (this.#controls.has(address)) continue;
      const control = vscode.scm.createSourceControl("kernelband", vscode.l10n.t("KernelBand review"), file);
      control.inputBox.visible = false;
      control.quickDiffProvider = this;
      control.count = 0;
      const title = vscode.l10n.t("Compare with the text from before");
      const group = control.createResourceGroup("review", vscode.l10n.t("Under review"));
      group.resourceStates = [{ resourceUri: file, command: { command: "vscode.diff", title, arguments: [this.address(file), file] } }];
      this.#controls.set(address, control);
    }
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
