import assert from "node:assert/strict";
import { test } from "node:test";
import type { Shown } from "../../src/report/messages.ts";
import { result, state, worth } from "../../src/report/standing.ts";
import { live, ratio, report, variant } from "./facts.ts";

function shown(more: Partial<Shown>): Shown {
  return { run: "a1b2c3d4", report: null, live: null, problem: "", exported_s: null, ...more };
}

test("before there is a report, a sentence says why", () => {
  assert.equal(state(shown({})), "The report is being read.");
  assert.equal(state(shown({ problem: "There is no run x." })), "There is no run x.");
  assert.equal(state(shown({ live: live({ headline: "capturing" }), problem: "nothing yet" })), "The run has started (capturing); its report begins when the kernel's program is captured.");
  assert.equal(state(shown({ live: live({ state: "failed", error: "k.py has an error in line 3" }) })), "This run failed: k.py has an error in line 3.");
  assert.equal(state(shown({ live: live({ state: "interrupted", reason: "stopped by you" }) })), "This run was stopped before it recorded anything: stopped by you.");
});

test("a run that goes on says what it does, by phases and not by trials", () => {
  const going = report({}, { state: "running", reason: "" });
  const said = (more: Parameters<typeof live>[0]): string => state(shown({ report: going, live: live(more) }));
  assert.equal(said({ trials: 3, headline: "3/20" }), said({ trials: 4, headline: "4/20" }));
  assert.match(said({}), /^Searching; scores are of screening/);
  assert.equal(said({ trials: 0, phase: "baseline" }), "Examining the original.");
  assert.equal(said({ headline: "verifying" }), "Verifying the best candidates in fresh processes.");
  assert.equal(said({ headline: "stopping" }), "Stopping; what was found so far is kept.");
  assert.equal(said({ state: "finished" }), "The run has ended; its report is being read.");
  assert.match(state(shown({ report: going })), /in another window or terminal/);
  assert.equal(state(shown({ report: going, exported_s: 1 })), "This run was still going on when its report was exported.");
});

test("a run that has ended says how", () => {
  assert.equal(state(shown({ report: report() })), "Finished. 1 verified; the 20 trials are used up.");
  assert.equal(state(shown({ report: report({}, { reason: "" }) })), "Finished.");
  assert.match(state(shown({ report: report({}, { state: "interrupted", reason: "stopped by you" }) })), /^Stopped before its end: stopped by you\. .*resumed\.$/);
  assert.equal(state(shown({ report: report({}, { state: "failed", reason: "torch is missing." }) })), "This run failed: torch is missing.");
});

test("the biggest words are a ratio only where it is verified", () => {
  const verified = variant(2, { state: "verified", ratio: ratio(1.84) });
  assert.equal(result(report({ variants: [verified, variant(1)] }, { best: 2 })).worth, "1.84×");
  assert.match(result(report({ variants: [verified] }, { best: 2 })).known, /^verified, 95 % interval 1\.79 to 1\.89, device time$/);
  assert.deepEqual([result(report()).worth, result(report()).variant], ["Nothing verified", null]);
  assert.equal(result(report({}, { state: "running" })).worth, "Nothing verified yet");
  // the search's own best that the final refused
  assert.equal(result(report({ variants: [variant(1, { state: "not verified" })] }, { best: 1 })).worth, "Nothing verified");
});

test("a prediction has a tier and says so", () => {
  const likely = variant(3, { state: "checked", tier: "likely faster" });
  const found = result(report({ variants: [likely] }, { mode: "predicted", best: 3 }));
  assert.deepEqual([found.worth, found.variant?.number], ["Likely faster", 3]);
  assert.match(found.known, /predicted.*nothing was measured/);
  assert.equal(result(report({ variants: [variant(1, { tier: "unclear" })] }, { mode: "predicted" })).worth, "Nothing likely faster");
});

test("a variant's cell", () => {
  assert.deepEqual([worth(variant(1, { ratio: ratio(2) })), worth(variant(1, { tier: "unclear" })), worth(variant(1))], ["2.00×", "unclear", "–"]);
});
