import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buttons } from "../src/refusals/remedies.ts";

const NOTHING = { uri: "", kernel: "", run: "" };
const ALL = { uri: "file:///k.py", kernel: "k", run: "0123abcd" };

test("what helps has a button where enough is known to do it", () => {
  assert.deepEqual([...buttons(["python", "resume"], ALL).values()], ["python", "resume"]);
  assert.deepEqual([...buttons(["entry", "resume", "log"], NOTHING).values()], ["log"]);
  assert.deepEqual([...buttons(["trust"], { ...NOTHING, uri: "file:///k.py" }).keys()], ["Trust the folder"]);
});

test("a newer server's word is passed over, and buttons are few and short", () => {
  assert.deepEqual([...buttons(["something new", "db"], ALL).values()], ["db"]);
  const many = buttons(["trust", "save", "entry", "python", "worker"], ALL);
  assert.equal(many.size, 3);
  for (const remedy of ["trust", "save", "entry", "python", "worker", "device", "budget", "db", "search", "model", "key", "resume", "optimize", "cancel", "verify", "variants", "accept", "reject", "log", "restart", "interpreter", "wheelhouse", "searchPython", "file"]) {
    const [label] = buttons([remedy], ALL).keys();
    assert.ok(label && label.length <= 28, remedy);
  }
});

test("no sentence of the editor names an option of the command line", () => {
  for (const file of ["l10n/bundle.l10n.json", "package.nls.json"]) {
    const said = Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>).flat().map((text) => JSON.stringify(text));
    assert.ok(said.length > 50);
    assert.deepEqual(said.filter((text) => /(?<![\w-])--[a-z]/.test(text)), []);
  }
});
