/** Starts of the server, one after the other: two at a time would register the same commands. */
import { OneAtATime } from "../oneAtATime.ts";

export class Starts {
  readonly #starts: OneAtATime;
  #turn = 0;
  #stopped = false;

  /** @param begin is told by `isCurrent` whether to go on: false once another start is asked for, which comes after it */
  constructor(begin: (isCurrent: () => boolean) => Promise<void>) {
    this.#starts = new OneAtATime(async () => {
      const turn = this.#turn;
      if (!this.#stopped) await begin(() => turn === this.#turn && !this.#stopped);
    });
  }

  /** However often it is asked for while one goes on, one more follows. */
  ask(): Promise<void> {
    this.#turn++;
    return this.#starts.ask();
  }

  /** None begins any more, and the one that goes on shall leave off. */
  stop(): void {
    this.#stopped = true;
  }
}
