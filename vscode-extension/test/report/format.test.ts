import assert from "node:assert/strict";
import { test } from "node:test";
import { decimals, duration, fixed, interval, optional, parameters, ratio, three, whole } from "../../src/report/format.ts";

test("ratios and intervals are as the command line has them", () => {
  assert.equal(ratio(1.8449), "1.84×");
  assert.equal(interval({ value: 1.8, low: 1.7949, high: 1.9 }), "1.79 to 1.90");
  assert.equal(interval({ value: 1.8, low: 0, high: null }), "unknown");
});

test("a column has the decimals that its smallest number needs for three digits", () => {
  assert.equal(decimals([1234, 65.3]), 1);
  assert.equal(decimals([8.31, 412]), 2);
  assert.equal(decimals([0.0001]), 3);
  assert.equal(decimals([1000, null]), 0);
  assert.equal(decimals([null, 0]), 0);
  assert.equal(decimals([]), 0);
});

test("thousands stand apart, and not in decimals", () => {
  assert.equal(fixed(1234567.891, 2), "1\u202f234\u202f567.89");
  assert.equal(fixed(999, 0), "999");
  assert.equal(fixed(0.12345, 5), "0.12345");
  assert.equal(fixed(-1234, 0), "-1\u202f234");
});

test("three digits", () => {
  assert.deepEqual([0.08123, 4.0749, 63.21, 1978.9, 0].map(three), ["0.0812", "4.07", "63.2", "1\u202f979", "0"]);
});

test("durations", () => {
  assert.deepEqual([0.0071, 0.5, 12.34, 98.8, 119.9, 125, 3599, 4320].map(duration), [
    "0.0071 s",
    "0.5 s",
    "12.3 s",
    "98.8 s",
    "119.9 s",
    "2 min 5 s",
    "59 min 59 s",
    "1 h 12 min",
  ]);
});

test("what isn't known is a dash, never a zero", () => {
  assert.equal(optional(null, three), "–");
  assert.equal(optional(0, three), "0");
});

test("counts and parameters", () => {
  assert.deepEqual([1, 0, 1200].map(whole), ["1", "0", "1\u202f200"]);
  assert.equal(parameters({ BLOCK: 256, order: "row", empty: "", sizes: [1, 2] }), "BLOCK = 256, order = row, sizes = [1,2]");
});
