import assert from "node:assert/strict";
import { test } from "node:test";
import { InOrder } from "../src/inOrder.ts";

const after = (ms: number): Promise<void> => new Promise((ended) => setTimeout(ended, ms));

test("what takes longer is done before what was asked for after it", async () => {
  const order = new InOrder();
  const done: string[] = [];
  const slow = order.do(async () => {
    await after(10);
    done.push("slow");
  });
  const quick = order.do(() => done.push("quick"));
  await Promise.all([slow, quick]);
  assert.deepEqual(done, ["slow", "quick"]);
});

test("what fails is told to whoever asked for it, and to nobody else", async () => {
  const order = new InOrder();
  const failed = order.do(() => Promise.reject(new Error("no")));
  const next = order.do(() => 2);
  await assert.rejects(failed, /no/);
  assert.equal(await next, 2);
});
