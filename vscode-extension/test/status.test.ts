import assert from "node:assert/strict";
import { test } from "node:test";
import type { Environment } from "../src/protocol.ts";
import { environmentWords, shortPath } from "../src/status/words.ts";

type State = "ok" | "missing" | "note";

function environment(works: Record<string, boolean>, ...checks: [name: string, state: State, found: string, means?: string][]): Environment {
  return { worker: null, python: "python3", asked_s: 0, works, checks: checks.map(([name, state, found, means = "m."]) => ({ name, state, found, means })) };
}

const WORKER = ["worker", "ok", "Python 3.12.3 (/usr/bin/python3), me@box, 16 cores"] as const;

test("a GPU is named, and what else is known of it stands beside", () => {
  const told = environmentWords(
    environment(
      { measure: true, predict: true, inspect: true },
      [...WORKER],
      ["torch", "ok", "2.11.0, built for CUDA 13.0"],
      ["triton", "ok", "3.6.0"],
      ["gpu 0", "ok", "NVIDIA H200, driver 580.1, 120 of 139 GiB free"],
    ),
  );
  assert.deepEqual([told.packages, told.gpu, told.hasGpu, told.broken], ["torch 2.11.0 · Triton 3.6.0", "NVIDIA H200", true, false]);
  assert.equal(told.aboutPackages, "Python 3.12.3");
  assert.equal(told.aboutGpu, "variants are measured on it, driver 580.1, 120 of 139 GiB free");
});

test("without a GPU it says that variants are predicted", () => {
  const told = environmentWords(
    environment({ predict: true, inspect: true }, [...WORKER], ["torch", "ok", "2.11.0, built without CUDA"], ["triton", "ok", "3.6.0"], ["gpu", "note", "none available"]),
  );
  assert.deepEqual([told.gpu, told.hasGpu, told.broken], ["no GPU: predicted", false, false]);
  assert.match(told.aboutGpu, /checked, and not timed/);
});

test("what is missing is said first, with what was found", () => {
  const none = environmentWords(environment({}, ["torch", "missing", "/usr/bin/python3 has no torch", "Nothing can be optimized."]));
  assert.deepEqual([none.packages, none.aboutPackages, none.broken], ["torch can't be used", "/usr/bin/python3 has no torch. Nothing can be optimized.", true]);
  assert.equal(environmentWords(environment({}, ["worker", "missing", "no such file"])).packages, "The interpreter can't be started");
  assert.equal(environmentWords(environment({}, ["versions", "missing", "torch 1.9"])).packages, "torch or Triton is too old");
});

test("a long path is shown by its end, a short one whole", () => {
  assert.equal(shortPath("/home/somebody/projects/kernels/.venv/bin/python"), "…/.venv/bin/python");
  assert.equal(shortPath("C:\\Users\\somebody\\kernels\\.venv\\Scripts\\python.exe"), "…/.venv/Scripts/python.exe");
  assert.equal(shortPath("/usr/bin/python3"), "/usr/bin/python3");
});
