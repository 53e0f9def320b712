import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunChanged, RunVariant, WorkspaceKernel, WorkspaceRun } from "../src/protocol.ts";
import { deviceWords, fileRows, runRows, when, worthOf, type RestRow, type VariantRow } from "../src/view/rows.ts";
import { Soon } from "../src/view/soon.ts";

const NOW = new Date(2026, 10, 22, 15, 0).getTime();
const relative = (uri: string): string => uri.replace("file:///w/", "").replace(/#.*/, "");

function kernel(uri: string, name: string, line: number, more: Partial<WorkspaceKernel> = {}): WorkspaceKernel {
  return { uri, kernel: name, line, told: "", live: null, latest: null, variants: 0, ...more };
}

function variant(number: number, more: Partial<RunVariant> = {}): RunVariant {
  return { number, title: `what ${number} does`, ratio: null, tier: null, verified: false, decision: null, ...more };
}

function run(id: string, more: Partial<WorkspaceRun> = {}): WorkspaceRun {
  const place = { uri: "file:///w/a/k.py", path: "/w/a/k.py", kernel: "scale" };
  return { run: id, ...place, state: "finished", headline: "nothing verified", device: "NVIDIA H200 SXM", mode: "measured", created: NOW / 1000, variants: [], ...more };
}

function live(id: string, headline: string): RunChanged {
  const none = { mode: null, device: null, score: null, tier: null, counts: {}, reason: "", error: "", phase: "" } as const;
  return { ...none, verified: [], run: id, uri: "file:///w/a/k.py", kernel: "scale", state: "running", headline, fraction: 0.5, trials: 10 };
}

test("kernels stand under their files, in the order of paths and lines; cells of a notebook are one file", () => {
  const found = [
    kernel("file:///w/b.py", "late", 40),
    kernel("file:///w/b.py", "early", 4),
    kernel("file:///w/a/n.ipynb#c2", "second", 0),
    kernel("file:///w/a/n.ipynb#c1", "first", 3),
  ];
  const rows = fileRows(found, [], relative);
  assert.deepEqual(rows.map(({ label, description }) => [label, description]), [["n.ipynb", "a"], ["b.py", ""]]);
  assert.deepEqual(rows.map(({ kernels }) => kernels.map(({ label }) => label)), [["second", "first"], ["early", "late"]]);
  assert.equal(new Set(rows.flatMap(({ id, kernels }) => [id, ...kernels.map((row) => row.id)])).size, 6);
});

test("kernels of one name in a file have rows of their own, the same ones each time", () => {
  const found = [kernel("file:///w/k.py", "k", 9), kernel("file:///w/k.py", "k", 4), kernel("file:///w/k.py", "other", 20)];
  const ids = (kernels: WorkspaceKernel[]): string[] => fileRows(kernels, [], relative)[0]!.kernels.map(({ id }) => id);
  assert.equal(new Set(ids(found)).size, 3);
  assert.deepEqual(ids([...found].reverse()), ids(found));
});

test("a kernel says what its lens says, and while a run goes on, how far it is", () => {
  const found = [
    kernel("file:///w/k.py", "known", 0, { told: "1.84× on H200 · 3 variants", latest: "r1" }),
    kernel("file:///w/k.py", "going", 9, { told: "1.84× on H200 · 3 variants", latest: "r1", live: "r2" }),
    kernel("file:///w/k.py", "new", 20),
  ];
  const [known, going, fresh] = fileRows(found, [live("r2", "12/20 · best 1.61×")], relative)[0]!.kernels;
  assert.equal(known!.description, "1.84× on H200 · 3 variants");
  assert.equal(known!.context, "kernel known quiet");
  assert.deepEqual([going!.description, going!.run, going!.icon, going!.context], ["12/20 · best 1.61×", "r2", "loading~spin", "kernel known live"]);
  assert.deepEqual([fresh!.description, fresh!.run, fresh!.context], ["", null, "kernel new quiet"]);
});

test("runs come the newest first, with device and time, and only those of this window can be stopped", () => {
  const runs = [
    run("old", { created: NOW / 1000 - 86_400, state: "interrupted", headline: "stopped" }),
    run("new", { state: "running", headline: "3 trials so far" }),
    run("other", { created: NOW / 1000 - 60, state: "running", headline: "9 trials so far" }),
  ];
  const rows = runRows(runs, [live("new", "4/20")], NOW, relative);
  assert.deepEqual(rows.map(({ run, context }) => [run, context]), [["new", "run live"], ["other", "run elsewhere"], ["old", "run interrupted"]]);
  assert.equal(rows[0]!.description, "4/20 · H200 · 15:00");
  assert.match(rows[2]!.description, /^stopped · H200 · .*21/);
});

test("a ratio is shown only where it was verified, and never for a prediction", () => {
  assert.equal(worthOf(variant(1, { verified: true, ratio: 1.8449 })), "1.84×");
  assert.equal(worthOf(variant(1, { verified: false, ratio: 1.8449 })), "not verified");
  assert.equal(worthOf(variant(1, { tier: "likely faster" })), "likely faster");
  const predicted = runRows([run("p", { mode: "predicted", device: "NVIDIA H100", variants: [variant(1, { tier: "likely faster" })] })], [], NOW, relative)[0]!;
  const row = predicted.children[0] as VariantRow;
  assert.deepEqual([row.label, row.icon, row.tooltip.includes("predicted, not measured")], ["likely faster", "circle-outline", true]);
  assert.match(predicted.description, /H100 \(predicted\)/);
});

test("a verified variant has a tick, unless it was rejected; what was decided is said", () => {
  const made = (more: Partial<RunVariant>): VariantRow =>
    runRows([run("r", { variants: [variant(3, { verified: true, ratio: 2, ...more })] })], [], NOW, relative)[0]!.children[0] as VariantRow;
  assert.deepEqual([made({}).icon, made({}).description, made({}).context], ["verified-filled", "what 3 does", "variant open"]);
  assert.deepEqual([made({ decision: "accept" }).icon, made({ decision: "accept" }).description], ["verified-filled", "accepted · what 3 does"]);
  assert.deepEqual([made({ decision: "reject" }).icon, made({ decision: "reject" }).color], ["circle-slash", undefined]);
});

test("what nobody would put in is out of the way, but there", () => {
  const variants = [variant(1, { tier: "likely faster" }), variant(2, { tier: "unclear" }), variant(3, { tier: "likely slower" }), variant(4, { tier: "unclear", decision: "accept" })];
  const children = runRows([run("p", { mode: "predicted", variants })], [], NOW, relative)[0]!.children;
  assert.deepEqual(children.map(({ kind, label }) => [kind, label]), [["variant", "likely faster"], ["variant", "unclear"], ["rest", "2 unclear or likely slower"]]);
  assert.deepEqual((children[2] as RestRow).variants.map(({ number }) => number), [2, 3]);
});

test("devices by their short names, dates as short as they can be", () => {
  assert.equal(deviceWords("NVIDIA H200 SXM", "measured"), "H200");
  assert.equal(deviceWords("AMD Instinct MI300X", "measured"), "Instinct MI300X");
  assert.equal(deviceWords(null, null), "");
  assert.equal(deviceWords("", "predicted"), "predicted");
  assert.equal(when(NOW / 1000 - 3600, NOW), "14:00");
  assert.equal(when(new Date(2024, 1, 3, 4, 5).getTime() / 1000, NOW), "2024-02-03");
});

test("what is asked for again and again is done once, and not put off for ever", async () => {
  let done = 0;
  const soon = new Soon(() => done++, 30, 90);
  const begin = Date.now();
  while (done === 0) {
    soon.ask();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(Date.now() - begin >= 80, "it waited");
  assert.ok(Date.now() - begin < 20000, "it was done though it was asked for all the time");
  soon.ask();
  soon.dispose();
  const before = done;
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(done, before, "nothing after dispose");
});
