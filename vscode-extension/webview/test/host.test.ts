/** What a page remembers in the editor, and finds again when it is shown the next time. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { FIRST_VIEW, Host } from "../report/host.ts";

type Api = ReturnType<NonNullable<typeof globalThis.acquireVsCodeApi>>;
type State = ReturnType<Api["getState"]>;

/** An editor with what was left in it; gives what is in it now. */
function editor(state?: State): () => State {
  globalThis.acquireVsCodeApi = () => ({ postMessage: () => undefined, getState: () => state, setState: (told) => (state = told) });
  return () => state;
}

afterEach(() => (globalThis.acquireVsCodeApi = undefined));

test("what a person has set is there each time the page is shown, and stays until they set it otherwise", () => {
  const left = { run: "r1", axis: "seconds", order: FIRST_VIEW.order, open: [2, 5], scroll: 640 } as const;
  const kept = editor({ ...left, open: [...left.open] });
  for (let showing = 0; showing < 3; showing++) {
    const host = new Host();
    assert.deepEqual([host.view, host.scroll], [{ axis: "seconds", order: FIRST_VIEW.order, open: [2, 5] }, 640]);
    host.keep({ run: "r1" }); // the first thing that a page does
    assert.deepEqual(kept(), left);
  }
  const host = new Host();
  host.keep({ open: [5] });
  host.keep({ scroll: 10 });
  assert.deepEqual(kept(), { ...left, open: [5], scroll: 10 });
});

test("a new page begins with the first view, and is kept once its run is known", () => {
  const kept = editor();
  const host = new Host();
  assert.deepEqual([host.view, host.scroll], [FIRST_VIEW, 0]);
  host.keep({ scroll: 3 });
  assert.equal(kept(), undefined);
  host.keep({ run: "r1" });
  assert.deepEqual(kept(), { ...FIRST_VIEW, run: "r1", scroll: 3 });
});

test("in a file of its own nothing is kept, and nothing breaks", () => {
  const host = new Host();
  host.keep({ run: "r1", scroll: 3 });
  assert.equal(host.acts, false);
});
