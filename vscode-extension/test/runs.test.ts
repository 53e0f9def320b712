import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunChanged } from "../src/protocol.ts";
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
