/** Runs that ended while nobody looked: the last of them stands at the bottom of the window until somebody does. */
import type { RunChanged, RunEnded } from "../protocol.ts";

export class EndedRuns {
  #ended: RunEnded[] = [];

  /** @param isSeen whether a person has the run before their eyes: its file, or its report */
  constructor(private readonly isSeen: (run: { run: string; uri: string }) => boolean) {}

  /** A run of this window has changed. That one failed is said by a message; who stopped one knows. */
  hear(changed: RunChanged): void {
    if (changed.state === "running") this.#ended = this.#ended.filter(({ uri, kernel }) => uri !== changed.uri || kernel !== changed.kernel);
    if (changed.state === "finished") this.tell(changed);
  }

  /** It has ended, here or elsewhere. */
  tell({ run, uri, kernel, headline }: RunEnded): void {
    this.seen(run);
    if (!this.isSeen({ run, uri })) this.#ended.push({ run, uri, kernel, headline });
  }

  /** What a person has before their eyes is no news any more. */
  look(): void {
    this.#ended = this.#ended.filter((run) => !this.isSeen(run));
  }

  /** Its report was asked for. */
  seen(run: string): void {
    this.#ended = this.#ended.filter((other) => other.run !== run);
  }

  /** The newest, and what is said of them; undefined for none. */
  get news(): { run: string; words: string } | undefined {
    const last = this.#ended.at(-1);
    const others = this.#ended.length - 1;
    return last && { run: last.run, words: `${last.kernel}: ${last.headline}${others ? ` (+${others})` : ""}` };
  }
}
