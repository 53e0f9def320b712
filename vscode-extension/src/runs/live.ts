/** The runs of this window, as the server tells of them. */
import type { RunChanged } from "../protocol.ts";

export class LiveRuns {
  readonly #runs = new Map<string, RunChanged>();

  hear(changed: RunChanged): void {
    this.#runs.delete(changed.run);
    if (changed.state === "running") this.#runs.set(changed.run, changed);
  }

  /** None goes on: their server has ended. */
  clear(): void {
    this.#runs.clear();
  }

  /** Those that go on, the one heard of last at the end. */
  get all(): RunChanged[] {
    return [...this.#runs.values()];
  }

  /** What the status bar says of them; "" for none. */
  get words(): string {
    const last = this.all.at(-1);
    if (!last) return "";
    const others = this.#runs.size - 1;
    return `${last.kernel} ${last.headline}${others ? ` (+${others})` : ""}`;
  }
}
