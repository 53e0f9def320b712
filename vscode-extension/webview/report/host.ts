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

interface Editor {
  postMessage: (message: FromPage) => void;
  getState: () => (View & { run: string; scroll: number }) | undefined;
  setState: (state: View & { run: string; scroll: number }) => void;
}

declare global {
  /** In the editor only, and only once. */
  var acquireVsCodeApi: (() => Editor) | undefined;
}

export class Host {
  readonly #editor = globalThis.acquireVsCodeApi?.();
  #view = FIRST_VIEW;
  #run = "";

  /** Whether there is an editor that can do things. */
  get acts(): boolean {
    return this.#editor !== undefined;
  }

  tell(message: FromPage): void {
    this.#editor?.postMessage(message);
  }

  /** The view of last time. */
  get view(): View {
    const kept = this.#editor?.getState();
    return kept ? { axis: kept.axis, order: kept.order, open: kept.open } : FIRST_VIEW;
  }

  get scroll(): number {
    return this.#editor?.getState()?.scroll ?? 0;
  }

  /** Remember; the editor finds the run again by it, too. */
  keep(run = this.#run, view = this.#view): void {
    this.#run = run;
    this.#view = view;
    if (run) this.#editor?.setState({ run, ...view, scroll: window.scrollY });
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
