/** When a server that ends is started again: at most so often in so long, then never without being asked. */
export class Restarts {
  readonly #times: number[] = [];

  /**
   * @param limit restarts in a window
   * @param windowMs milliseconds
   */
  constructor(
    private readonly limit = 5,
    private readonly windowMs = 180_000,
  ) {}

  /** The server has ended at `now` (milliseconds): whether to start it again. */
  again(now: number): boolean {
    while (this.#times[0] !== undefined && now - this.#times[0] >= this.windowMs) this.#times.shift();
    if (this.#times.length >= this.limit) return false;
    this.#times.push(now);
    return true;
  }

  /** A person started it: what was before doesn't count. */
  forget(): void {
    this.#times.length = 0;
  }
}
