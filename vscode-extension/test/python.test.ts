import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { active, programs, within } from "../src/python/path.ts";
import { firstThatServes, probe, type Python } from "../src/python/probe.ts";
import { temporaryFolder } from "./folders.ts";

function folderWith(name: string, text = "#!/bin/sh\n"): string {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, name), text);
  chmodSync(path.join(folder, name), 0o755);
  return folder;
}

test("programs are found in the order of names, then of folders", () => {
  const [a, b] = [folderWith("python3"), folderWith("python3")];
  writeFileSync(path.join(b, "python3.12"), "", { mode: 0o755 });
  writeFileSync(path.join(b, "python3.11"), "", { mode: 0o644 }); // can't be run
  const found = programs(["python3", "python3.12", "python3.11"], [a, b].join(path.delimiter), [], false);
  assert.deepEqual(found, [path.join(a, "python3"), path.join(b, "python3"), path.join(b, "python3.12")]);
});

test("nothing of an open folder or a relative one is a candidate", () => {
  const open = folderWith("README");
  mkdirSync(path.join(open, "bin"));
  writeFileSync(path.join(open, "bin", "python3"), "", { mode: 0o755 });
  assert.deepEqual(programs(["python3"], [path.join(open, "bin"), ".", "bin"].join(path.delimiter), [open], false), []);
  assert.deepEqual(programs(["python3"], path.join(open, "bin"), [], false), [path.join(open, "bin", "python3")]);
});

test("the active environment's Python is found, a virtual one before conda's, and only where it is there", () => {
  const [virtual, conda] = [temporaryFolder(), temporaryFolder()];
  for (const folder of [virtual, conda]) mkdirSync(path.join(folder, "bin"));
  const both = { VIRTUAL_ENV: virtual, CONDA_PREFIX: conda };
  assert.equal(active(both, false), "");
  writeFileSync(path.join(conda, "bin", "python"), "", { mode: 0o755 });
  assert.equal(active(both, false), path.join(conda, "bin", "python"));
  writeFileSync(path.join(virtual, "bin", "python"), "", { mode: 0o755 });
  assert.equal(active(both, false), path.join(virtual, "bin", "python"));
  assert.equal(active({}, false), "");
});

test("a name that begins like a folder's isn't in it", () => {
  assert.equal(within("/a/bc", "/a/b"), false);
  assert.equal(within("/a/b", "/a/b"), true);
  assert.equal(within("/a/b/c", "/a/b"), true);
  assert.equal(within("/a/..b", "/a"), true);
  assert.equal(within("/", "/a"), false);
});

test("this machine's python3 says what it is", async () => {
  const [path_] = programs(["python3"], process.env["PATH"] ?? "", []);
  assert.ok(path_);
  const python = await probe(path_);
  assert.ok(python);
  assert.equal(python.version[0], 3);
  assert.match(python.tag, /cpython|cp/);
  assert.ok(["own", "venv", "none"].includes(python.pip));
});

test("what is no Python is passed over, silent or talkative", async () => {
  assert.equal(await probe(path.join(folderWith("python3"), "python3")), undefined);
  assert.equal(await probe(path.join(folderWith("python3", "#!/bin/sh\necho hello\n"), "python3")), undefined);
  assert.equal(await probe("/nowhere/python3"), undefined);
});

test("the first Python that is new enough serves", async () => {
  const known: Record<string, Python> = {
    old: { path: "old", version: [3, 9], tag: "x", pip: "own" },
    good: { path: "good", version: [3, 10], tag: "x", pip: "own" },
    better: { path: "better", version: [3, 13], tag: "x", pip: "own" },
  };
  const found = await firstThatServes(["gone", "old", "good", "better"], (name) => Promise.resolve(known[name]));
  assert.equal(found?.path, "good");
});
