/** Work that a person asks for faster than it is done: each begins when what was asked for before it has ended. */
export class InOrder {
  #last: Promise<unknown> = Promise.resolve();

  do<T>(work: () => T | Promise<T>): Promise<T> {
    const now = this.#last.then(work);
    this.#last = now.catch(() => undefined); // whoever asked for it is told; the next one is done all the same
    return now;
  }
}
