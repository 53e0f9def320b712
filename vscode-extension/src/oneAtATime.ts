/** Work that is asked for more often than it can be done: one at a time, and once more after it if it was asked for meanwhile. */
export class OneAtATime {
  #now: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  /** Ends when work has ended that began after the call. */
  ask(): Promise<void> {
    if (!this.#now) {
      this.#now = this.work().finally(() => {
        this.#now = undefined;
      });
      return this.#now;
    }
    this.#next ??= this.#now.then(
      () => this.#follow(),
      () => this.#follow(),
    );
    return this.#next;
  }

  #follow(): Promise<void> {
    this.#next = undefined;
    return this.ask();
  }
}
