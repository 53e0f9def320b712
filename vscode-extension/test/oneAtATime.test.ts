import assert from "node:assert/strict";
import { test } from "node:test";
import { OneAtATime } from "../src/oneAtATime.ts";

test("what is asked for meanwhile is done once more, after it", async () => {
  let running = 0;
  let most = 0;
  let done = 0;
  const work = new OneAtATime(async () => {
    most = Math.max(most, ++running);
    await new Promise((ended) => setTimeout(ended, 5));
    running--;
    done++;
  });
  const first = work.ask();
  const others = [work.ask(), work.ask(), work.ask()];
  await first;
  assert.equal(done, 1);
  await Promise.all(others);
  assert.deepEqual([done, most], [2, 1]);
  await work.ask();
  assert.equal(done, 3);
});

test("work that fails is not the end of it", async () => {
  let times = 0;
  const work = new OneAtATime(() => (++times === 1 ? Promise.reject(new Error("no")) : Promise.resolve()));
  const first = work.ask();
  const second = work.ask();
  await assert.rejects(first, /no/);
  await second;
  assert.equal(times, 2);
});
