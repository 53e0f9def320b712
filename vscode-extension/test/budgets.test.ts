import assert from "node:assert/strict";
import { test } from "node:test";
import { offers, read, words, OFFERED } from "../src/optimize/budgets.ts";

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

test("the last one is offered first, and once", () => {
  const last = OFFERED[2]!;
  assert.deepEqual(offers(last)[0], last);
  assert.equal(offers(last).length, OFFERED.length);
  assert.deepEqual(offers({ trials: 3, seconds: null })[0], { trials: 3, seconds: null });
  assert.deepEqual(offers(undefined), OFFERED);
});
