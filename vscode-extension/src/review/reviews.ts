/** The reviews of this window: begun, followed through every edit, taken in part, ended, kept over a reload. */
import * as vscode from "vscode";
import type { Reviewed, Runs } from "../protocol.ts";
import { Refusal } from "../refusals/remedies.ts";
import type { Server } from "../server/server.ts";
import { Asking } from "./asking.ts";
import { Disk } from "./disk.ts";
import { apply, isAt, isInTab } from "./documents.ts";
import { linesOf } from "./lines.ts";
import { inNotebook } from "./notebook.ts";
import { fromKept, isMoved, moved, newest, toKept, type KeptReview, type Moves } from "./persist.ts";
import { Review } from "./review.ts";
import { present } from "./runs.ts";

const KEPT = "kernelband.reviewed";
const SAVE_MS = 250; // after a key, until what is under review is kept for a reload
const RELOADED_MS = 50; // in which a text that a person edited has become unsaved, if it wasn't saved, too

/** The variant is in the text, and somebody edits that. */
class AlreadyIn extends Error {}

export class Reviews implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #ended = new vscode.EventEmitter<Review>();
  readonly #subscriptions: vscode.Disposable;
  readonly #watchers = new Map<Review, vscode.Disposable>();
  readonly #disk = new Disk();
  readonly #asking: Asking;
  #active: Review[] = [];
  #waiting: KeptReview[];
  #saving: NodeJS.Timeout | undefined;
  readonly onDidChange = this.#changed.event;
  readonly onDidEnd = this.#ended.event;

  constructor(
    private readonly server: Server,
    private readonly state: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.#waiting = state.get<KeptReview[]>(KEPT, []);
    this.#asking = new Asking(server, log, () => this.#active, () => this.#later());
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      this.#ended,
      this.#asking,
      vscode.workspace.onDidChangeTextDocument((event) => this.#edited(event)),
      vscode.workspace.onDidSaveTextDocument((document) => this.#disk.markOurs(document)),
      vscode.workspace.onDidRenameFiles(({ files }) => this.#renamed(files.map(({ oldUri, newUri }) => [oldUri.toString(), newUri.toString()]))),
      vscode.workspace.onDidOpenTextDocument(({ uri }) => void this.#resume(uri.toString())),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => void this.#closed(uri.toString())),
    );
    for (const { uri } of vscode.workspace.textDocuments) void this.#resume(uri.toString());
  }

  dispose(): void {
    if (this.#saving) this.#save();
    vscode.Disposable.from(...this.#watchers.values(), this.#subscriptions).dispose();
  }

  get active(): readonly Review[] {
    return this.#active;
  }

  /** The one that a document is in. */
  of(uri: vscode.Uri | string | undefined): Review | undefined {
    const name = uri?.toString();
    return name === undefined ? undefined : this.#active.find((review) => review.file(name));
  }

  // ------------------------------------------------------------ beginning

  /**
   * Put a variant in as one edit, for a person to look at; in a notebook it is "applied", without a review. Undefined: a person rather kept their text.
   * A variant that is there goes first, and comes back where this one can't be put in; under review again where it was.
   *
   * @throws Error with a sentence, where the text isn't what the variant was made for, or somebody types
   */
  async start(uri: string, kernel: string, run: string, variant: number): Promise<Review | "applied" | undefined> {
    const before = this.of(vscode.Uri.parse(uri));
    if (before && before.told.kernel !== kernel) {
      throw new Refusal(vscode.l10n.t("A variant of {0} is under review in this file: accept or reject it first.", before.told.kernel), ["accept", "reject"]);
    }
    if (before && !(await this.reject(before))) return undefined;
    const isBook = inNotebook(uri);
    if (!isBook) await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)); // the server edits what is open
    const there = await this.present(uri, kernel, run); // also what a review began with may be another run's variant
    if (there) await this.server.command("revert", uri, kernel, there.run, there.number);
    try {
      if (!isBook) return await this.#review(uri, kernel, run, variant);
      await this.server.command("apply", uri, kernel, run, variant);
      return "applied";
    } catch (error) {
      if (!(error instanceof AlreadyIn)) await this.#putBack(uri, kernel, there, before);
      throw error;
    }
  }

  /** What hinders it is for the log: why the other one isn't in is told. */
  async #putBack(uri: string, kernel: string, there: { run: string; number: number } | undefined, before: Review | undefined): Promise<void> {
    try {
      if (there) await this.server.command("apply", uri, kernel, there.run, there.number);
      if (before) await this.#review(uri, kernel, before.told.run, before.told.variant);
    } catch (error) {
      this.log.warn(`What was there before can't be put back: ${String(error)}`);
    }
  }

  /** The variant that a kernel's text is, of that run or of any. */
  present(uri: string, kernel: string, run?: string): Promise<{ run: string; number: number } | undefined> {
    return present((of) => this.server.command<Runs>("report", uri, kernel, ...(of === undefined ? [] : [of])), run);
  }

  async #review(uri: string, kernel: string, run: string, variant: number): Promise<Review> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const answer = named(await this.server.command<Reviewed>("review", uri, kernel, run, variant));
      const documents = await Promise.all(answer.files.map((file) => vscode.workspace.openTextDocument(vscode.Uri.parse(file.uri))));
      const busy = documents.map((document) => this.of(document.uri)).find((review) => review);
      if (busy) throw new Refusal(vscode.l10n.t("A variant of {0} is under review in a file that this one changes, too: accept or reject it first.", busy.told.kernel), []);
      if (documents.every((document, at) => document.version === answer.files[at]?.version)) return this.#put(answer, documents);
    }
    throw new Refusal(vscode.l10n.t("The text changed while the variant was applied, so nothing was edited: try again."), []);
  }

  async #put(answer: Reviewed, documents: readonly vscode.TextDocument[]): Promise<Review> {
    const review = Review.of(answer, new Map(documents.map((document) => [document.uri.toString(), document.getText()])));
    const edits = answer.files.map(({ uri, hunks }) => [uri, hunks.map((h) => ({ at: h.start, removed: h.end - h.start, lines: h.lines }))] as const);
    if (!(await apply(new Map(edits)))) throw new Refusal(vscode.l10n.t("The editor did not accept the edit, so nothing was changed: try again."), []);
    if (!documents.every((document) => isAt(review, document))) {
      throw new AlreadyIn(vscode.l10n.t("The text changed right after the variant was applied, so it isn't under review: undo removes it."));
    }
    this.#begin(review);
    return review;
  }

  #begin(review: Review): void {
    this.#active.push(review);
    const watched = review.files.map(({ uri }) => vscode.Uri.parse(uri)).filter(({ scheme }) => scheme === "file");
    const watchers = watched.map((uri) => {
      const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.joinPath(uri, ".."), "*"), true, true);
      watcher.onDidDelete((gone) => {
        if (gone.toString() === uri.toString()) void this.#deleted(review, uri);
      });
      return watcher;
    });
    this.#watchers.set(review, vscode.Disposable.from(...watchers));
    this.#later();
  }

  // ------------------------------------------------------------ deciding

  async keep(review: Review, step: number): Promise<void> {
    const isLast = review.open.every((place) => place.step <= step) && review.now !== undefined;
    if (isLast) {
      await this.accept(review); // where that fails, the change waits for its decision still
      return;
    }
    review.keep(step);
    this.#later();
  }

  /** A step, and what was made on it. */
  async undo(review: Review, step: number): Promise<void> {
    if (review.isLostFrom(step)) {
      throw new Refusal(vscode.l10n.t("An edit goes across the border of this change, so it can't be undone by itself: undo that edit, or reject the variant."), []);
    }
    if (!(await apply(review.undo(step)))) throw new Refusal(vscode.l10n.t("The editor did not accept the edit, so nothing was changed: try again."), []);
  }

  /**
   * It stays as it is. That a person accepts it is written down where it is a variant, or what its first steps lead to.
   *
   * @throws Error with a sentence, where that can't be written down; then it stays under review
   */
  async accept(review: Review): Promise<void> {
    if (review.standing === "edited") {
      this.server.mustRun(); // only it can say whether this is the variant still
      await this.#asking.ask(review);
    }
    if (review.now) await this.server.command("accept", review.told.run, review.now.variant);
    this.#end(review);
  }

  /** Restore the original, as one edit. False: a person rather kept their text. */
  async reject(review: Review): Promise<boolean> {
    if (review.isLost && !(await this.#mayRestore(review))) return false;
    const edits = review.isLost ? new Map(review.files.map(({ uri, baseline, text }) => [uri, [{ at: 0, removed: text.lines.length, lines: linesOf(baseline) }]])) : review.undo();
    if (!(await apply(edits))) throw new Refusal(vscode.l10n.t("The editor did not accept the edit, so nothing was changed: try again."), []);
    this.#end(review);
    return true;
  }

  async #mayRestore(review: Review): Promise<boolean> {
    const yes = vscode.l10n.t("Restore the file");
    const asked = vscode.l10n.t("Restore the text from before the review of {0}?", review.told.kernel);
    const detail = vscode.l10n.t("An edit goes across the border of a change, so the original lines can't be told apart from yours: what was edited since goes, too. Undo brings it back.");
    return (await vscode.window.showWarningMessage(asked, { modal: true, detail }, yes)) === yes;
  }

  /** Judge the text as it is, against the one from before the review. */
  async verify(review: Review): Promise<void> {
    await this.server.execute("verify", review.told.uri, review.told.kernel);
  }

  /** What an edit of a kernel is judged against while a variant of it is under review: texts by URI. */
  baseOf(uri: string, kernel: string): Record<string, string> | undefined {
    const review = this.of(vscode.Uri.parse(uri));
    return review?.told.kernel === kernel ? Object.fromEntries(review.files.map((file) => [file.uri, file.baseline])) : undefined;
  }

  // ------------------------------------------------------------ following

  #edited({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): void {
    if (document.isDirty) this.#disk.markOurs(document); // also told without a change, once an edit has made it so
    const review = this.of(document.uri);
    if (!review || !contentChanges.length) return;
    review.change(document.uri.toString(), contentChanges);
    if (review.standing === "none") {
      this.#end(review);
      return;
    }
    if (!isAt(review, document)) {
      this.log.warn(`The review of ${review.id} lost its place in ${document.uri.toString()}, so it has ended.`);
      this.#end(review);
      return;
    }
    if (!document.isDirty && reason === undefined) {
      const { version } = document;
      setTimeout(() => {
        if (this.#disk.hasWritten(document, version)) this.#end(review);
      }, RELOADED_MS);
    }
    this.#asking.later(review);
    this.#later();
  }

  async #deleted(review: Review, uri: vscode.Uri): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 300)); // some programs write a file by putting another in its place
    try {
      await vscode.workspace.fs.stat(uri);
    } catch {
      this.#end(review); // it is gone, whatever the reason
    }
  }

  /** Its text stays as it is. */
  #end(review: Review): void {
    if (!this.#active.includes(review)) return;
    this.#forget(review);
    this.#ended.fire(review);
    this.#later();
  }

  #forget(review: Review): void {
    this.#active = this.#active.filter((other) => other !== review);
    this.#watchers.get(review)?.dispose();
    this.#watchers.delete(review);
    this.#asking.forget(review);
  }

  // ------------------------------------------------------------ closing and reloading

  /** A review waits while none of its files is in a tab. What is in none the editor closes after some minutes: it is opened again for the others. */
  async #closed(uri: string): Promise<void> {
    const review = this.of(uri);
    if (!review) return;
    const others = review.files.filter((file) => file.uri !== uri);
    if (others.some((file) => isInTab(file.uri)) && (await this.#reopened(review, uri))) return;
    if (!this.#active.includes(review)) return;
    this.#waiting.push(toKept(review));
    this.#forget(review);
    this.#later();
  }

  /** Whether it is open again, with the text that it had. */
  async #reopened(review: Review, uri: string): Promise<boolean> {
    try {
      return isAt(review, await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)));
    } catch (error) {
      this.log.debug(`A file under review is gone: ${String(error)}`);
      return false;
    }
  }

  /** Files have other names, or are in another folder. */
  #renamed(moves: Moves): void {
    for (const review of this.#active.filter((one) => isMoved(toKept(one), moves))) {
      this.#waiting.push(toKept(review));
      this.#forget(review);
    }
    this.#waiting = this.#waiting.map((kept) => moved(kept, moves));
    for (const { uri } of vscode.workspace.textDocuments) void this.#resume(uri.toString());
    this.#later();
  }

  /** A document has come: what waits for it goes on where every text is as it was left, and is dropped otherwise. */
  async #resume(uri: string): Promise<void> {
    const found = this.#waiting.filter(({ files }) => files.some((file) => file.uri === uri));
    if (!found.length) return;
    this.#waiting = this.#waiting.filter((kept) => !found.includes(kept));
    for (const kept of found) {
      try {
        const documents = await Promise.all(kept.files.map((file) => vscode.workspace.openTextDocument(vscode.Uri.parse(file.uri))));
        const review = fromKept(kept, new Map(documents.map((document) => [document.uri.toString(), document.getText()])));
        if (review && review.standing !== "none" && !documents.some((document) => this.of(document.uri))) {
          this.#begin(review);
          this.#asking.later(review);
        }
      } catch (error) {
        this.log.debug(`A review that waited is dropped: ${String(error)}`);
      }
    }
    this.#later();
  }

  /** Show what is now, and keep it soon. */
  #later(): void {
    this.#changed.fire();
    this.#saving ??= setTimeout(() => this.#save(), SAVE_MS);
  }

  #save(): void {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    const kept = newest([...this.#waiting, ...this.#active.map(toKept)]);
    void this.state.update(KEPT, kept.length ? kept : undefined);
  }
}

/** The answer with addresses as the editor writes them. */
function named(answer: Reviewed): Reviewed {
  const name = (uri: string): string => vscode.Uri.parse(uri).toString();
  return { ...answer, uri: name(answer.uri), files: answer.files.map((file) => ({ ...file, uri: name(file.uri) })) };
}
