import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { settings } from "../src/server/settings.ts";
import { page, type Settings } from "../src/settingsQuery.ts";

const PYTHONS = { byFolder: { "/w": "/w/.venv/bin/python" }, elsewhere: "/home/me/.venv/bin/python" };

function told(ours: Record<string, unknown>): Record<string, unknown> {
  return settings({ get: (key) => ours[key] }, PYTHONS, ["/usr/bin/python3", "start.py"]);
}

test("a file in no open folder has the Python that the status names for it", () => {
  const { python, pythons, trials, model } = told({ trials: 20, "model.name": "m", python: "" });
  assert.deepEqual([python, pythons, trials, model], [PYTHONS.elsewhere, PYTHONS.byFolder, 20, "m"]);
});

test("behind a worker there is none of this machine's", () => {
  assert.equal(told({ worker: "ssh box", python: "" })["python"], "");
  assert.equal(told({ worker: "ssh box", python: "/over/there/python" })["python"], "/over/there/python");
});

test("what belongs to the machine has a page of its own in a remote window, where the user's page doesn't show it", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { configuration: { properties: Settings } } };
  const all = contributes.configuration.properties;
  const [own, remote] = ["workbench.action.openSettings", "workbench.action.openRemoteSettings"];
  assert.deepEqual(page("kernelband.python", all, true), { command: remote, query: "@id:kernelband.python" });
  assert.deepEqual(page("kernelband.python", all, false), { command: own, query: "@id:kernelband.python" });
  assert.deepEqual(page("kernelband.entry", all, true), { command: own, query: "@id:kernelband.entry" });
  assert.deepEqual(page("kernelband.search", all, true), { command: remote, query: "kernelband.search" });
  for (const [name, { scope }] of Object.entries(all)) assert.equal(page(name, all, true).command, scope === "machine" ? remote : own, name);
});
