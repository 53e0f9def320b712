import assert from "node:assert/strict";
import { test } from "node:test";
import { settings } from "../src/server/settings.ts";

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
