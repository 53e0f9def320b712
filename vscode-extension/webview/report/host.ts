/** Where the page is: in the editor, which does things for it, or in a file of its own, where it only shows. */
import type { FromPage, Shown } from "../../src/report/messages.ts";
import type { Axis } from "../../src/report/course.ts";
import { BEST_FIRST, type Order } from "../../src/report/sorting.ts";

/** What a person has set on the page. It outlives the page. */
export interface View {
  axis: Axis;
  order: Order;
  open: number[];
}

export const FIRST_VIEW: View = { axis: "trials", order: BEST_FIRST, open: [] };

/** All that outlives the page. The editor finds the run again by it, too. */
interface Kept extends View {
  run: string;
  scroll: number;
}

interface Editor {
  postMessage: (message: FromPage) => void;
  getState: () => Kept | undefined;
  setState: (state: Kept) => void;
}

declare global {
  /** In the editor only, and only once. */
  var acquireVsCodeApi: (() => Editor) | undefined;
}

export class Host {
  readonly #editor = globalThis.acquireVsCodeApi?.();
  #kept: Kept = this.#editor?.getState() ?? { ...FIRST_VIEW, run: "", scroll: 0 };

  /** Whether there is an editor that can do things. */
  get acts(): boolean {
    return this.#editor !== undefined;
  }

  tell(message: FromPage): void {
    this.#editor?.postMessage(message);
  }

  /** As it was left, also by a page that was closed. */
  get view(): View {
    const { axis, order, open } = this.#kept;
    return { axis, order, open };
  }

  get scroll(): number {
    return this.#kept.scroll;
  }

  /** Remember what has changed. */
  keep(changed: Partial<Kept>): void {
    this.#kept = { ...this.#kept, ...changed };
    if (this.#kept.run) this.#editor?.setState(this.#kept);
  }

  /** What the file was made with. */
  get told(): Shown | undefined {
    return embedded("shown") as Shown | undefined;
  }

  /** The page's sentences in the language of who reads; undefined where they stay as they are. */
  get sentences(): Record<string, string> | undefined {
    return embedded("sentences") as Record<string, string> | undefined;
  }
}

function embedded(id: string): unknown {
  const data = document.getElementById(id)?.textContent;
  return data ? JSON.parse(data) : undefined;
}
