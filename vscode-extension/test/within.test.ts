import assert from "node:assert/strict";
import { test } from "node:test";
import { within } from "../src/within.ts";

test("what answers in time is answered, and what fails fails as it does", async () => {
  assert.equal(await within(Promise.resolve(1), 1000), 1);
  await assert.rejects(within(Promise.reject(new Error("no")), 1000), /no/);
});

test("nobody waits for what doesn't answer, nor hears of it when it fails later", async () => {
  let fail: (error: Error) => void = () => undefined;
  const never = new Promise<never>((_, reject) => (fail = reject));
  await assert.rejects(within(never, 20), /no answer in 0.02 s/);
  fail(new Error("late"));
  await new Promise(setImmediate); // a rejection that nobody handles would end this process
});
