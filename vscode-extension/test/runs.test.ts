import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunChanged } from "../src/protocol.ts";
import { EndedRuns } from "../src/runs/ended.ts";
import { LiveRuns } from "../src/runs/live.ts";

function changed(run: string, more: Partial<RunChanged> = {}): RunChanged {
  const none = { mode: null, device: null, score: null, tier: null, verified: [], counts: {}, reason: "", error: "", phase: "start" } as const;
  return { ...none, verified: [], run, uri: "file:///k.py", kernel: `k_${run}`, state: "running", headline: "3/20", fraction: 0.1, trials: 3, ...more };
}

test("the status says the run heard of last, and how many others there are", () => {
  const runs = new LiveRuns();
  assert.equal(runs.words, "");
  runs.hear(changed("a"));
  assert.equal(runs.words, "k_a 3/20");
  runs.hear(changed("b", { headline: "starting" }));
  assert.equal(runs.words, "k_b starting (+1)");
  runs.hear(changed("a", { headline: "4/20" }));
  assert.equal(runs.words, "k_a 4/20 (+1)");
});

test("a run that has ended is no longer live, whatever its end", () => {
  const runs = new LiveRuns();
  for (const state of ["finished", "failed", "interrupted"] as const) {
    runs.hear(changed("a"));
    runs.hear(changed("a", { state }));
    assert.deepEqual(runs.all, []);
  }
  runs.hear(changed("a"));
  runs.clear();
  assert.equal(runs.words, "");
});

test("what ended while nobody looked is said until somebody does", () => {
  const shown = new Set<string>();
  const ended = new EndedRuns(({ uri }) => shown.has(uri));
  const news = (): typeof ended.news => ended.news;
  ended.hear(changed("a"));
  assert.equal(news(), undefined);
  ended.hear(changed("a", { state: "finished", headline: "verified 1.84×" }));
  assert.deepEqual(news(), { run: "a", words: "k_a: verified 1.84×" });
  ended.tell({ run: "b", uri: "file:///other.py", kernel: "k_b", headline: "nothing verified" });
  ended.tell({ run: "b", uri: "file:///other.py", kernel: "k_b", headline: "nothing verified" });
  assert.deepEqual(news(), { run: "b", words: "k_b: nothing verified (+1)" });
  ended.seen("b");
  assert.equal(news()?.run, "a");
  shown.add("file:///k.py");
  ended.look();
  assert.equal(news(), undefined);
  ended.hear(changed("c", { state: "finished" }));
  assert.equal(news(), undefined, "its file is on the screen");
});

test("a run that failed or was stopped is no news, and another run of the kernel takes the news away", () => {
  const ended = new EndedRuns(() => false);
  const news = (): typeof ended.news => ended.news;
  for (const state of ["failed", "interrupted"] as const) ended.hear(changed("a", { state }));
  assert.equal(news(), undefined);
  ended.hear(changed("a", { state: "finished" }));
  ended.hear(changed("again", { kernel: "k_a" }));
  assert.equal(news(), undefined);
});
