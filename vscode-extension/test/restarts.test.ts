import assert from "node:assert/strict";
import { test } from "node:test";
import { Restarts } from "../src/server/restarts.ts";

test("a server that ends is started five times in three minutes, and no more", () => {
  const restarts = new Restarts();
  assert.deepEqual([0, 1, 2, 3, 4].map((s) => restarts.again(s * 1000)), [true, true, true, true, true]);
  assert.equal(restarts.again(179_999), false);
  assert.equal(restarts.again(180_000), true); // the first is three minutes old
  assert.equal(restarts.again(180_500), false);
});

test("who starts it by hand begins anew", () => {
  const restarts = new Restarts(1);
  assert.equal(restarts.again(0), true);
  assert.equal(restarts.again(1), false);
  restarts.forget();
  assert.equal(restarts.again(2), true);
});
