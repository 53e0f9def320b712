import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { about, because, estimate } from "../src/optimize/estimate.ts";
import { obstacle, rows, type Does, type Known, type Row } from "../src/optimize/rows.ts";
import type { Environment, Plan } from "../src/protocol.ts";

const PACE = { run: "0123abcd", trial_s: 2, before_s: 10, final_s: 30 };
const PLAN: Plan = {
  refusal: "",
  entry: { entry: "scale.py::bench", how: "found", others: 2, why: "" },
  worker: null,
  python: null,
  gpu: null,
  predicts: "H100",
  pace: null,
};
const NOTHING: Plan["entry"] = { entry: null, how: "none", others: 0, why: "No test was found that runs k. Choose one (a test)." };
const BUDGET = { trials: 20, seconds: null };

function environment(gpu?: string, torch: "ok" | "missing" = "ok"): Environment {
  const checks = [
    { name: "worker", state: "ok" as const, found: "Python 3.12.3 (/usr/bin/python3), me@box", means: "" },
    { name: "torch", state: torch, found: "2.13.0, built for CUDA 13", means: "" },
    { name: "triton", state: "ok" as const, found: "3.6.0", means: "" },
    gpu ? { name: "gpu 0", state: "ok" as const, found: gpu, means: "" } : { name: "gpu", state: "note" as const, found: "none in reach", means: "" },
  ];
  return { worker: null, python: null, asked_s: 0, checks, works: { measure: Boolean(gpu), predict: torch === "ok" } };
}

function known(change: Partial<Known> = {}): Known {
  return { plan: PLAN, environment: environment(), mayRun: true, isFile: true, python: "/usr/bin/python3", budget: BUDGET, ...change };
}

function row(does: Does, change: Partial<Known> = {}): Row {
  const found = rows(known(change)).find((one) => one.does === does);
  assert.ok(found, does);
  return found;
}

test("the first line begins, and sums up what will be done", () => {
  assert.deepEqual(rows(known()).map(({ does }) => does), ["start", "python", "entry", "device", "budget"]);
  const start = row("start", { plan: { ...PLAN, pace: PACE } });
  assert.equal(start.description, "20 trials · about 80 s");
  assert.equal(start.detail, "Python 3.12.3 · torch 2.13.0 · Triton 3.6.0 · no GPU: predicted for H100");
  assert.match(row("start", { environment: environment("NVIDIA H200, driver 1") }).detail, /NVIDIA H200$/);
});

test("what isn't known yet is said to be looked for", () => {
  const asked = { plan: undefined, environment: undefined };
  assert.equal(row("start", asked).description, "20 trials");
  assert.match(row("python", asked).detail, /Looking for torch/);
  assert.match(row("entry", asked).description, /looking for a test/);
  assert.equal(obstacle(known(asked)), undefined, "who is quick begins");
  assert.equal(row("python", { environment: "The command says nothing." }).detail, "The command says nothing.");
});

test("what is missing is said first, and Enter leads to it", () => {
  const none = { plan: { ...PLAN, entry: NOTHING } };
  assert.equal(obstacle(known(none)), "entry");
  assert.equal(row("start", none).description, "choose an entry first");
  assert.deepEqual([row("entry", none).description, row("entry", none).detail], ["nothing yet: choose or write one", "No test was found that runs k."]);
  const broken = { ...none, environment: environment(undefined, "missing") };
  assert.equal(obstacle(known(broken)), "python");
  assert.match(row("python", broken).detail, /torch can't be used: choose one/);
  assert.equal(row("start", broken).detail, "");
  const untrusted = { ...broken, mayRun: false, environment: undefined };
  assert.equal(obstacle(known(untrusted)), "trust");
  assert.equal(rows(known(untrusted))[1]?.does, "trust");
  assert.match(row("python", untrusted).detail, /Not looked at/);
  assert.equal(row("start", { ...untrusted, isFile: false }).description, "save the file first");
});

test("where it runs is said as it is known", () => {
  assert.equal(row("device").description, "no GPU: predicted for H100");
  assert.equal(row("device", { environment: undefined }).description, "this machine");
  assert.equal(row("device", { environment: environment("NVIDIA H200, driver 1") }).description, "NVIDIA H200");
  const there = { plan: { ...PLAN, worker: "ssh box" } };
  assert.equal(row("device", { ...there, environment: environment("NVIDIA H200") }).description, "ssh box: NVIDIA H200");
  assert.equal(row("python", there).description, "ssh box");
  const chosen = { plan: { ...PLAN, gpu: "a100", predicts: "A100" } };
  assert.equal(row("device", { ...chosen, environment: undefined }).description, "no GPU: predicted for A100");
});

test("how the entry was come by is said", () => {
  const how = (how: Plan["entry"]["how"], others = 0): string => row("entry", { plan: { ...PLAN, entry: { entry: "t.py::t", how, others, why: "" } } }).detail;
  assert.deepEqual([how("chosen"), how("settings"), how("repository")], ["Chosen by you", "From the setting kernelband.entry", "From pyproject.toml"]);
  assert.notEqual(how("found"), how("found", 2));
  const gone = { plan: { ...PLAN, entry: { entry: null, how: "chosen" as const, others: 0, why: "There is no x in y.py." } } };
  assert.equal(row("entry", gone).detail, "There is no x in y.py.");
});

test("an estimate comes from the last run; seconds of a budget hold its verification", () => {
  assert.equal(estimate(BUDGET, null), undefined);
  assert.equal(estimate(BUDGET, PACE), 80);
  assert.equal(estimate({ trials: null, seconds: 60 }, null), 60);
  assert.equal(estimate({ trials: null, seconds: 60 }, PACE), 70);
  assert.equal(estimate({ trials: 100, seconds: 60 }, PACE), 70, "whichever ends first");
  assert.equal(estimate({ trials: 100, seconds: 60 }, null), 60);
  assert.deepEqual([about(undefined), about(1), about(61), about(119), about(300)], ["", "about 5 s", "about 65 s", "about 2 min", "about 5 min"]);
  assert.equal(because(BUDGET, PACE), "From the last run: 10 s to begin, 2 s a trial, 30 s to verify");
  assert.match(because(BUDGET, null), /after a first run/);
});

test("no line is too long for a list that is half of a window of 900 pixels", () => {
  const some = fc.constantFrom<Plan["entry"]["how"][]>("found", "chosen", "settings", "repository", "none");
  fc.assert(
    fc.property(some, fc.nat(99), fc.boolean(), fc.boolean(), fc.option(fc.constant(PACE)), (how, others, mayRun, works, pace) => {
      const entry = how === "none" ? NOTHING : { entry: "test_scale.py::test_scale", how, others, why: "" };
      const all = rows(known({ plan: { ...PLAN, entry, pace }, mayRun, environment: environment(works ? "NVIDIA H100 80GB HBM3" : undefined, works ? "ok" : "missing") }));
      for (const { label, description, detail } of all) {
        assert.ok(`${label} ${description}`.length <= 70, `${label} ${description}`);
        assert.ok(detail.length <= 90, detail);
      }
    }),
  );
});
