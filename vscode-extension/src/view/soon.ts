/** Does something a moment after it was last asked for, and at the latest so long after it was first. */
export class Soon {
  #timer: NodeJS.Timeout | undefined;
  #first = 0;

  /**
   * @param work what is done
   * @param waitMs after the last call
   * @param mostMs after the first one of a row of calls
   */
  constructor(
    private readonly work: () => void,
    private readonly waitMs: number,
    private readonly mostMs = waitMs * 4,
  ) {}

  ask(now = Date.now()): void {
    if (this.#timer === undefined) this.#first = now;
    clearTimeout(this.#timer);
    const wait = Math.max(0, Math.min(this.waitMs, this.#first + this.mostMs - now));
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.work();
    }, wait);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
