/** Reviews as the editor has them: their commands, what takes the place of the server's own, and what keys and menus depend on. */
import * as vscode from "vscode";
import { InOrder } from "../inOrder.ts";
import type { Runs } from "../protocol.ts";
import { Refusal } from "../refusals/remedies.ts";
import { registering } from "../registering.ts";
import type { Server } from "../server/server.ts";
import { Baselines } from "./baseline.ts";
import { compare, following, meant, type Meant } from "./compare.ts";
import { ReviewDecorations } from "./decorations.ts";
import { ReviewLenses } from "./lenses.ts";
import { pickVariant } from "./pick.ts";
import { meantBy, Review, type Place } from "./review.ts";
import { Reviews } from "./reviews.ts";
import { after, offers } from "./runs.ts";
import type { Region } from "./track.ts";
import { isKnown } from "./words.ts";

/** So long after a review has ended, a key that was meant for it is nobody's mistake. */
const LATE_MS = 2000;

export function registerReview(context: vscode.ExtensionContext, server: Server, log: vscode.LogOutputChannel): Reviews {
  const reviews = new Reviews(server, context.workspaceState, log);
  const baselines = new Baselines(reviews);
  context.subscriptions.push(
    reviews,
    baselines,
    new ReviewLenses(reviews),
    new ReviewDecorations(reviews),
    reviews.onDidChange(() => tell(reviews, baselines)),
    vscode.window.onDidChangeActiveTextEditor(() => tell(reviews, baselines)),
  );
  tell(reviews, baselines);
  registerCommands(context, server, reviews, baselines);
  return reviews;
}

/** What keys and menus ask for. */
function tell(reviews: Reviews, baselines: Baselines): void {
  const active = vscode.window.activeTextEditor?.document.uri;
  const here = active && reviews.of(baselines.file(active));
  const set = (name: string, value: unknown): Thenable<unknown> => vscode.commands.executeCommand("setContext", `kernelband.${name}`, value);
  const files = reviews.active.flatMap((review) => review.files.map((file) => vscode.Uri.parse(file.uri)));
  void set("reviewing", files.length > 0);
  // A file of another machine has another address in the editor's menus, and the same path.
  void set("underReview", [...new Set(files.flatMap((uri) => [uri.path, uri.fsPath]))]);
  void set("reviewHere", here !== undefined);
  void set("reviewKnown", here !== undefined && isKnown(here));
}

function registerCommands(context: vscode.ExtensionContext, server: Server, reviews: Reviews, baselines: Baselines): void {
  const on = registering(context);
  const order = new InOrder(); // a key may come before the one before it has moved the cursor or changed the text
  /** By its id, from a lens; by the file, from its title; else the one of the active editor, else the only one. */
  const meantNow = (by: unknown): Review | undefined => {
    if (typeof by === "string") return meantBy(reviews.active, { id: by });
    const active = vscode.window.activeTextEditor?.document.uri;
    return meantBy(reviews.active, by instanceof vscode.Uri ? { file: baselines.file(by).toString() } : { here: active && baselines.file(active).toString() });
  };
  let ended = -Infinity;
  context.subscriptions.push(reviews.onDidEnd(() => (ended = Date.now())));
  /** Undefined: it ended before this click, or while this key was pressed: the editor hears of an end a moment later. */
  const given = (by: unknown): Review | undefined => {
    const found = meantNow(by);
    if (!found && typeof by !== "string" && Date.now() - ended > LATE_MS) throw new Refusal(vscode.l10n.t("No variant is under review here: pick one of a kernel's variants first."), ["variants"]);
    return found;
  };
  const go = async (review: Review, step: 1 | -1): Promise<void> => {
    const editor = vscode.window.activeTextEditor;
    const place = review.next(editor?.document.uri.toString() ?? "", editor?.selection.active.line ?? -1, step);
    if (place) await show(place);
  };
  const start = async ({ uri, kernel, run, number }: Meant): Promise<Review | undefined> => {
    const review = await reviews.start(uri, kernel, run, number);
    if (!(review instanceof Review)) return undefined;
    const first = review.next(review.told.uri, -1, 1);
    if (first) await show(first);
    return review;
  };
  /** From a lens with the step; by keys that of the cursor; from the gutter's peek that of the change. */
  const stepOf = (review: Review, of: unknown, line?: number): number => {
    const editor = vscode.window.activeTextEditor;
    const place = typeof of === "number" ? undefined : review.at(editor?.document.uri.toString() ?? "", line ?? editor?.selection.active.line ?? 0);
    const found = typeof of === "number" ? of : place?.step;
    if (found === undefined) throw new Refusal(vscode.l10n.t("No change that could be kept or undone is left in this file."), []);
    return found;
  };
  const nextVariant = async (review: Review): Promise<void> => {
    const { uri, kernel, run, variant } = review.told;
    const next = after(offers(await server.command<Runs>("report", uri, kernel), run), variant);
    if (!next) throw new Refusal(vscode.l10n.t("There is no other variant of {0} to look at.", kernel), []);
    if (await reviews.reject(review)) await start({ uri, kernel, run, number: next.number });
  };

  /** Work on the review that a command is given, with what else it is given. */
  const of =
    <T extends unknown[]>(work: (review: Review, ...more: T) => unknown) =>
    (by: unknown, ...more: T): unknown => {
      const review = given(by);
      return review && work(review, ...more);
    };
  /** The same, after what was asked for before: that may have ended the review, or begun another one. */
  const inOrder =
    <T extends unknown[]>(work: (review: Review, ...more: T) => unknown) =>
    (by: unknown, ...more: T): unknown =>
      given(by) &&
      order.do(() => {
        const review = meantNow(by);
        return review && work(review, ...more);
      });
  /** The original of a kernel, in place of the variant that is there: under review, or accepted. */
  const putBack = async (uri: string, kernel: string): Promise<void> => {
    const review = reviews.of(vscode.Uri.parse(uri));
    if (review?.told.kernel === kernel) {
      await reviews.reject(review);
      return;
    }
    const there = await reviews.present(uri, kernel);
    if (there) await server.command("revert", uri, kernel, there.run, there.number);
  };

  on("review.next", inOrder((review) => go(review, 1)));
  on("review.previous", inOrder((review) => go(review, -1)));
  on("review.keep", inOrder((review, which: unknown) => reviews.keep(review, stepOf(review, which))));
  on("review.undo", inOrder((review, which: unknown) => reviews.undo(review, stepOf(review, which))));
  // The gutter's peek gives the file, its changes (lines from 1) and which one is shown.
  on("review.keepChange", inOrder((review, changes: Change[], index: number) => reviews.keep(review, stepOf(review, undefined, lineOf(changes, index)))));
  on("review.undoChange", inOrder((review, changes: Change[], index: number) => reviews.undo(review, stepOf(review, undefined, lineOf(changes, index)))));
  on("review.accept", inOrder((review) => reviews.accept(review)));
  on("review.reject", inOrder((review) => reviews.reject(review)));
  on("review.verify", of((review) => reviews.verify(review)));
  on("review.nextVariant", inOrder(nextVariant));
  on("review.sideBySide", of((review) => baselines.compare(review)));
  on("review.before", of((_, file: vscode.Uri, region: Region) => showBefore(file, region)));
  on("review.explain", of(({ told: { uri, kernel, run, variant }, now }) => server.execute("explain", uri, kernel, run, now?.variant ?? variant)));

  // A variant beside the original, from its address: buttons of that diff.
  const shown = async (address: unknown): Promise<Meant> => {
    const uri = address instanceof vscode.Uri ? address : vscode.window.activeTextEditor?.document.uri;
    const found = uri && (await meant(server, uri));
    if (!found) throw new Refusal(vscode.l10n.t("This document isn't a variant of a kernel."), []);
    return found;
  };
  const startShown = async (address: unknown): Promise<Review | undefined> => {
    const found = await shown(address);
    await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(found.uri), { preview: false }); // as what it is: it may be a notebook
    return start(found);
  };
  on("compare.accept", (address: unknown) =>
    order.do(async () => {
      const review = await startShown(address); // none where a person keeps the one that is there
      if (review) await reviews.accept(review);
    }),
  );
  on("compare.review", (address: unknown) => order.do(() => startShown(address)));
  on("compare.next", async (address: unknown) => {
    const found = await shown(address);
    const next = await following(server, found);
    if (!next) throw new Refusal(vscode.l10n.t("There is no other variant of {0} to look at.", found.kernel), []);
    await compare(server, next);
  });
  on("compare.explain", async (address: unknown) => {
    const { uri, kernel, run, number } = await shown(address);
    await server.execute("explain", uri, kernel, run, number);
  });

  server.intercept("compare", ([uri, kernel, run, number]) => compare(server, { uri, kernel, run, number } as Meant));
  server.intercept("apply", async ([uri, kernel, run, number]) => {
    await order.do(() => start({ uri, kernel, run, number } as Meant)); // whoever called for it isn't given the review
  });
  server.intercept("choose", async (args) => {
    const [uri, kernel] = args as [string, string];
    const isInFile = reviews.of(vscode.Uri.parse(uri))?.told.kernel === kernel || (await reviews.present(uri, kernel)) !== undefined;
    const picked = await pickVariant(server, uri, kernel, isInFile);
    if (picked === "revert") await order.do(() => putBack(uri, kernel));
    else if (picked) await server.execute("apply", uri, kernel, picked.run, picked.number);
  });
}

/** A change as the gutter tells of it; its lines count from 1. */
interface Change {
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

/** Where nothing is left of the old lines, `modifiedEndLineNumber` is 0 and the start is the line before. */
function lineOf(changes: readonly Change[], index: number): number {
  const change = changes[index];
  if (!change) return 0;
  return change.modifiedEndLineNumber ? change.modifiedStartLineNumber - 1 : change.modifiedStartLineNumber;
}

async function show({ file, region }: Place): Promise<void> {
  const editor = await vscode.window.showTextDocument(vscode.Uri.parse(file.uri), { preview: false });
  const line = Math.min(region.start, editor.document.lineCount - 1);
  editor.selection = new vscode.Selection(line, 0, line, 0);
  const end = Math.min(Math.max(region.end, line), editor.document.lineCount - 1);
  editor.revealRange(new vscode.Range(Math.max(line - 1, 0), 0, end, 0), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** The change in the gutter's peek, which shows the lines from before between those of now. Where only old lines went, it is at the line before. */
async function showBefore(file: vscode.Uri, { start, end }: Region): Promise<void> {
  const editor = await vscode.window.showTextDocument(file, { preview: false });
  const line = Math.max(end > start ? start : start - 1, 0);
  editor.selection = new vscode.Selection(line, 0, line, 0);
  await vscode.commands.executeCommand("editor.action.dirtydiff.next");
}
