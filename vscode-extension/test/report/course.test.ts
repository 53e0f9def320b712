import assert from "node:assert/strict";
import { test } from "node:test";
import { course, summary } from "../../src/report/course.ts";
import { ratio, report, step, variant } from "./facts.ts";

const MEASURED = report({
  course: [
    step(1, { screening_score: 0.8, best_screening_score: 1 }),
    step(2, { screening_score: null, outcome: "wrong", best_screening_score: 1 }),
    step(3, { screening_score: 1.9, best_screening_score: 1.9, best_variant: 3 }),
  ],
  variants: [variant(3, { state: "verified", ratio: ratio(1.84) }), variant(1)],
});

test("the best so far begins at the original, over trials and over seconds", () => {
  const trials = course(MEASURED, "trials");
  assert.deepEqual(
    trials.best.map(({ x, y }) => [x, y]),
    [
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 1.9],
    ],
  );
  assert.deepEqual(
    course(MEASURED, "seconds").best.map(({ x }) => x),
    [0, 2.5, 5, 7.5],
  );
});

test("a trial without a score is no point, and counted", () => {
  const found = course(MEASURED, "trials");
  assert.deepEqual(
    found.tried.map(({ variant: number }) => number),
    [1, 3],
  );
  assert.equal(found.without, 1);
});

test("a verified ratio is the final's, at its variant's trial", () => {
  assert.deepEqual(course(MEASURED, "seconds").verified, [{ x: 7.5, y: 1.84, variant: 3 }]);
  assert.match(summary(MEASURED, course(MEASURED, "trials")), /^After 3 trials the best screening score is 1\.90, of variant 3\. 1 variant verified\.$/);
});

test("a prediction has tiers as heights, no original, and no figure in its words", () => {
  const predicted = report(
    {
      course: [step(1, { tier: "unclear", best_tier: "unclear", best_screening_score: null }), step(2, { tier: "likely faster", best_tier: "likely faster", best_variant: 2 })],
    },
    { mode: "predicted" },
  );
  const found = course(predicted, "trials");
  assert.deepEqual(
    found.best.map(({ y }) => y),
    [1, 2],
  );
  assert.deepEqual(found.verified, []);
  assert.match(summary(predicted, found), /likely faster, of variant 2\. Predicted/);
  assert.doesNotMatch(summary(predicted, found), /\d\.\d|×/);
});

test("an empty course", () => {
  const empty = report({ course: [], variants: [] });
  assert.deepEqual(course(empty, "trials").best, []);
  assert.equal(summary(empty, course(empty, "trials")), "0 trials, none with a score yet.");
});
