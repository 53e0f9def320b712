/** Colours of a review's lines in every editor of its files, what a hover says of them, and its item in the status bar. */
import * as vscode from "vscode";
import type { Place, Review } from "./review.ts";
import type { Reviews } from "./reviews.ts";
import { explained, label, left, worth } from "./words.ts";

export class ReviewDecorations implements vscode.Disposable {
  readonly #added = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.OpenOpen,
  });
  /** High contrast themes draw lines and no areas. */
  readonly #edge = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderStyle: "solid",
    borderWidth: "0 0 0 3px",
    borderColor: new vscode.ThemeColor("diffEditor.insertedTextBorder"),
  });
  readonly #removed = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderStyle: "solid",
    borderWidth: "1px 0 0 0",
    borderColor: new vscode.ThemeColor("editorGutter.deletedBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.deletedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  readonly #item = vscode.window.createStatusBarItem("kernelband.review", vscode.StatusBarAlignment.Left, 0);
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly reviews: Reviews) {
    this.#item.name = vscode.l10n.t("KernelBand review");
    this.#subscriptions = vscode.Disposable.from(
      this.#added,
      this.#edge,
      this.#removed,
      this.#item,
      reviews.onDidChange(() => this.#draw()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#draw()),
    );
    this.#draw();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors) this.#paint(editor, this.reviews.of(editor.document.uri));
    const active = vscode.window.activeTextEditor?.document.uri;
    const review = this.reviews.of(active) ?? this.reviews.active.at(-1);
    if (!review) {
      this.#item.hide();
      return;
    }
    this.#item.text = `$(diff) ${review.told.kernel} · ${worth(review)}`;
    this.#item.tooltip = [explained(review), left(review)].join("\n\n");
    this.#item.command = { command: "kernelband.review.next", title: vscode.l10n.t("Next change"), arguments: [review.id] };
    this.#item.show();
  }

  #paint(editor: vscode.TextEditor, review: Review | undefined): void {
    const uri = editor.document.uri.toString();
    const own = review?.open.filter(({ file }) => file.uri === uri) ?? [];
    const last = editor.document.lineCount - 1;
    const options = (place: Place): vscode.DecorationOptions => {
      const { start, end } = place.region;
      const range = new vscode.Range(Math.min(start, last), 0, Math.min(Math.max(end - 1, start), last), 0);
      return { range, ...(review ? { hoverMessage: hover(review, place) } : {}) };
    };
    const [put, gone] = [own.filter(({ region }) => region.end > region.start), own.filter(({ region }) => region.end === region.start)];
    editor.setDecorations(this.#added, put.map(options));
    editor.setDecorations(
      this.#edge,
      put.map((place) => options(place).range),
    );
    editor.setDecorations(this.#removed, gone.map(options));
  }
}

function hover(review: Review, { hunk, step }: Place): vscode.MarkdownString {
  const said = new vscode.MarkdownString("", true);
  said.appendMarkdown("**").appendText(worth(review)).appendMarkdown("**  \n");
  said.appendText(label(review, step));
  if (hunk.was.length) said.appendMarkdown(`\n\n${vscode.l10n.t("Before:")}\n`).appendCodeblock(hunk.was.join("\n"), "python");
  return said;
}
