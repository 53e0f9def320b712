import assert from "node:assert/strict";
import { test } from "node:test";
import { Starts } from "../src/server/starts.ts";

/** Starts that end when they are told to. */
function world(): { starts: Starts; begun: (() => boolean)[]; end: (error?: Error) => Promise<void> } {
  const begun: (() => boolean)[] = [];
  let settle: (error?: Error) => void = () => undefined;
  const starts = new Starts((isCurrent) => {
    begun.push(isCurrent);
    return new Promise((resolve, reject) => (settle = (error) => (error ? reject(error) : resolve())));
  });
  const end = async (error?: Error): Promise<void> => {
    settle(error);
    await new Promise(setImmediate);
  };
  return { starts, begun, end };
}

test("starts that are asked for while one goes on become one, after it", async () => {
  const { starts, begun, end } = world();
  const first = starts.ask();
  const asked = Promise.all([starts.ask(), starts.ask()]);
  assert.equal(begun.length, 1);
  assert.equal(begun[0]?.(), false); // it shall leave off
  await end();
  await first;
  assert.equal(begun.length, 2);
  assert.equal(begun[1]?.(), true);
  await end();
  await asked;
  assert.equal(begun.length, 2);
});

test("one that fails doesn't keep another from beginning", async () => {
  const { starts, begun, end } = world();
  const failed = assert.rejects(starts.ask(), /no/);
  await end(new Error("no"));
  await failed;
  void starts.ask();
  assert.equal(begun.length, 2);
  await end();
});

test("after the end none begins", async () => {
  const { starts, begun, end } = world();
  const asked = Promise.all([starts.ask(), starts.ask()]);
  starts.stop();
  assert.equal(begun[0]?.(), false);
  await end();
  await asked;
  await starts.ask();
  assert.equal(begun.length, 1);
});
