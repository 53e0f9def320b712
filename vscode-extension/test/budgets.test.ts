import assert from "node:assert/strict";
import { test } from "node:test";
import { last, offers, ofSettings, read, words, OFFERED, type Budget } from "../src/optimize/budgets.ts";

test("budgets are read as people write them", () => {
  assert.deepEqual(read("20"), { trials: 20, seconds: null });
  assert.deepEqual(read(" 1 trial "), { trials: 1, seconds: null });
  assert.deepEqual(read("90 s"), { trials: null, seconds: 90 });
  assert.deepEqual(read("1.5 min"), { trials: null, seconds: 90 });
  assert.deepEqual(read("20 trials, 2 minutes"), { trials: 20, seconds: 120 });
  assert.deepEqual(read("20 trials or 30s"), { trials: 20, seconds: 30 });
});

test("what is no budget is none", () => {
  for (const text of ["", "0", "-3", "1.5 trials", "20 30", "5 s, 6 s", "soon", "20 trials,", "1e9"]) assert.equal(read(text), undefined, text);
});

test("every budget is read as it is written", () => {
  for (const budget of [...OFFERED, { trials: 1, seconds: 90 }, { trials: 7, seconds: 600 }]) assert.deepEqual(read(words(budget)), budget);
});

test("what counts without a question is offered first, then what the settings say, each once", () => {
  const [minute, twenty] = [OFFERED[0]!, OFFERED[1]!];
  const three = { trials: 3, seconds: null };
  const firsts = (last?: Budget, settings?: Budget): unknown[] => offers(last, settings).slice(0, 2).map(({ budget, of }) => [of, budget]);
  assert.deepEqual(firsts(), [["us", minute], ["us", twenty]]);
  assert.deepEqual(firsts(undefined, three), [["settings", three], ["us", minute]]);
  assert.deepEqual(firsts(twenty, three), [["last", twenty], ["settings", three]]);
  assert.deepEqual(firsts(three, three), [["settings", three], ["us", minute]]);
  for (const budget of OFFERED) assert.equal(offers(budget, budget).length, OFFERED.length);
});

test("settings that are changed count from then on, before what was picked under others", () => {
  const [picked, set, other] = [{ trials: 5, seconds: null }, { trials: 20, seconds: 60 }, { trials: 20, seconds: 90 }];
  assert.deepEqual(last({ budget: picked, settings: set }, { ...set }), picked);
  assert.deepEqual(last({ budget: picked, settings: null }, undefined), picked);
  for (const [then, now] of [[set, other], [set, undefined], [null, set]] as const) assert.equal(last({ budget: picked, settings: then }, now), undefined);
  assert.equal(last(undefined, set), undefined);
});

test("settings are a budget where they say one", () => {
  assert.deepEqual(ofSettings(20, null), { trials: 20, seconds: null });
  assert.deepEqual(ofSettings(undefined, 1.5), { trials: null, seconds: 1.5 });
  for (const [trials, seconds] of [[null, undefined], ["20", 0], [-1, NaN]]) assert.equal(ofSettings(trials, seconds), undefined);
});
