import assert from "node:assert/strict";
import { test } from "node:test";
import { BEST_FIRST, next, sorted } from "../../src/report/sorting.ts";
import { ratio, variant } from "./facts.ts";

const GIVEN = [variant(4, { ratio: ratio(2), state: "verified", parent: 2 }), variant(2, { move: "fusion.rsqrt" }), variant(3, { parent: 4, state: "wrong" })];
const order = (column: Parameters<typeof next>[1], down: boolean): number[] => sorted(GIVEN, { column, down }).map(({ number }) => number);

test("the best first is the server's own order", () => {
  assert.deepEqual(
    sorted(GIVEN, BEST_FIRST).map(({ number }) => number),
    [4, 2, 3],
  );
  assert.deepEqual(order("result", false), [3, 2, 4]);
});

test("by each column, ties by number", () => {
  assert.deepEqual(order("number", false), [2, 3, 4]);
  assert.deepEqual(order("number", true), [4, 3, 2]);
  assert.deepEqual(order("change", false), [2, 3, 4]);
  assert.deepEqual(order("state", false), [2, 4, 3]);
  assert.deepEqual(order("parent", true), [3, 4, 2]);
});

test("nothing that is sorted is changed", () => {
  sorted(GIVEN, { column: "number", down: false });
  assert.deepEqual(
    GIVEN.map(({ number }) => number),
    [4, 2, 3],
  );
});

test("a heading begins where it is useful, and turns around", () => {
  assert.deepEqual(next(BEST_FIRST, "result"), { column: "result", down: false });
  assert.deepEqual(next(BEST_FIRST, "number"), { column: "number", down: false });
  assert.deepEqual(next({ column: "number", down: false }, "result"), BEST_FIRST);
});
