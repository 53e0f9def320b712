/** Lenses of a review: what it is worth and what can be done with it above the kernel, keep and undo above each hunk. */
import * as vscode from "vscode";
import { headerLine, type Place, type Review } from "./review.ts";
import type { Reviews } from "./reviews.ts";
import { before, explained, isKnown, label, left, worth } from "./words.ts";

export class ReviewLenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscription: vscode.Disposable;
  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(private readonly reviews: Reviews) {
    this.#subscription = vscode.Disposable.from(
      this.#changed,
      reviews.onDidChange(() => this.#changed.fire()),
      vscode.languages.registerCodeLensProvider({ language: "python" }, this),
    );
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const review = this.reviews.of(document.uri);
    if (!review) return [];
    const uri = document.uri.toString();
    const own = review.open.filter(({ file }) => file.uri === uri);
    const here = own.flatMap((place) => this.#hunk(review, place, document));
    if (uri !== review.told.uri) return here;
    const line = headerLine(review.file(uri)?.text.lines ?? [], review.told.kernel) ?? own[0]?.region.start ?? 0;
    return [...this.#header(review, at(document, line)), ...here];
  }

  #header(review: Review, range: vscode.Range): vscode.CodeLens[] {
    const lens = (title: string, name: string, tooltip = ""): vscode.CodeLens => new vscode.CodeLens(range, { title, tooltip, command: name && `kernelband.review.${name}`, arguments: [review.id] });
    const { now } = review;
    return [
      lens(worth(review), review.open.length ? "next" : "", explained(review)),
      ...(review.open.length ? [lens(left(review), "next", vscode.l10n.t("Go to the next change"))] : []),
      ...(isKnown(review) ? [] : [lens(vscode.l10n.t("Verify this version"), "verify", vscode.l10n.t("Check and time the text as it is against the text from before"))]),
      lens(vscode.l10n.t("Accept"), "accept", now ? vscode.l10n.t("Keep the variant") : vscode.l10n.t("Keep the text as it is")),
      lens(vscode.l10n.t("Reject"), "reject", vscode.l10n.t("Restore the original")),
      lens(vscode.l10n.t("Next variant"), "nextVariant", vscode.l10n.t("Restore the original, and apply the next variant")),
      lens(vscode.l10n.t("Side by side"), "sideBySide", vscode.l10n.t("Compare with the text from before")),
    ];
  }

  #hunk(review: Review, { step, region, state, hunk }: Place, document: vscode.TextDocument): vscode.CodeLens[] {
    const range = at(document, region.start);
    const lens = (title: string, name: string, tooltip = ""): vscode.CodeLens =>
      new vscode.CodeLens(range, { title, tooltip, command: name && `kernelband.review.${name}`, arguments: [review.id, step] });
    const isLast = step === review.told.steps.length - 1;
    const name = state === "edited" ? vscode.l10n.t("{0} (edited)", label(review, step)) : label(review, step);
    const was: vscode.Command = { title: before(hunk.was), tooltip: vscode.l10n.t("Show what was there before"), command: "kernelband.review.before", arguments: [review.id, document.uri, region] };
    return [
      lens(name, ""),
      ...(hunk.was.length ? [new vscode.CodeLens(range, was)] : []),
      lens(vscode.l10n.t("Keep"), "keep", step ? vscode.l10n.t("Keep this change at all its places, and those that it builds on") : vscode.l10n.t("Keep this change at all its places")),
      lens(vscode.l10n.t("Undo"), "undo", isLast ? vscode.l10n.t("Restore the original lines, at all its places") : vscode.l10n.t("Restore the original lines at all its places, also of the changes that build on this one")),
    ];
  }
}

function at(document: vscode.TextDocument, line: number): vscode.Range {
  const there = Math.min(line, document.lineCount - 1);
  return new vscode.Range(there, 0, there, 0);
}
