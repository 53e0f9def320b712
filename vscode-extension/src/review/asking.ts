/** What the server says of texts under review: that one is the variant still, and what came out of verifying one. */
import * as vscode from "vscode";
import type { RunChanged, Runs } from "../protocol.ts";
import type { Report } from "../report/shape.ts";
import type { Server } from "../server/server.ts";
import { judgedBy } from "./judging.ts";
import type { Review } from "./review.ts";

const ASK_MS = 1000; // after an edit: while somebody types nothing is asked

export class Asking implements vscode.Disposable {
  readonly #timers = new Map<Review, NodeJS.Timeout>();
  readonly #subscriptions: vscode.Disposable;

  /** `learned`: something is to be said otherwise than before. */
  constructor(
    private readonly server: Server,
    private readonly log: vscode.LogOutputChannel,
    private readonly active: () => readonly Review[],
    private readonly learned: () => void,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      server.onHealthChanged(({ state }) => {
        if (state === "running") for (const review of active()) this.later(review);
      }),
      server.onRunChanged((changed) => {
        if (changed.state === "finished") void this.#verified(changed);
      }),
    );
  }

  dispose(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#subscriptions.dispose();
  }

  /** The text has changed, or a server that may know of it has come. */
  later(review: Review): void {
    this.forget(review);
    if (review.standing === "edited") this.#timers.set(review, setTimeout(() => void this.ask(review), ASK_MS));
  }

  forget(review: Review): void {
    clearTimeout(this.#timers.get(review));
    this.#timers.delete(review);
  }

  /** Take the text for the variant where the server does: it was formatted, or edited where that doesn't matter to the kernel. */
  async ask(review: Review): Promise<void> {
    const { uri, kernel, run, steps } = review.told;
    const { hash } = review;
    try {
      const { accepted } = await this.server.command<Runs>("report", uri, kernel, run);
      if (!steps.some(({ variant }) => variant === accepted)) return;
      review.confirm(hash, accepted ?? 0);
    } catch (error) {
      this.log.debug(`Nothing is known of the text under review: ${String(error)}`);
      return;
    }
    this.learned();
  }

  /** A run has ended: what it said of a text under review is said there, too, as long as it is that text. */
  async #verified({ run, uri, kernel }: RunChanged): Promise<void> {
    const name = vscode.Uri.parse(uri).toString();
    for (const review of this.active().filter(({ told }) => told.uri === name && told.kernel === kernel)) {
      const { hash } = review;
      try {
        const { accepted } = await this.server.command<Runs>("report", uri, kernel, run);
        const judged = accepted ? judgedBy(await this.server.command<Report>("runReport", run), accepted, hash) : undefined;
        if (!judged) continue;
        review.judge(judged);
        this.learned();
      } catch (error) {
        this.log.debug(`What came out of run ${run} is not known: ${String(error)}`);
      }
    }
  }
}
