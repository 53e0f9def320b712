import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { install } from "../src/search/install.ts";
import { command, failure, folder, installation, progress } from "../src/search/plan.ts";
import { temporaryFolder } from "./folders.ts";

const PYTHON = { path: "/usr/bin/python3", version: [3, 11] as [number, number], tag: "cpython-311-x86_64-linux-gnu", pip: "own" as const };

test("another lock or another Python is another folder", () => {
  const one = folder("/storage", PYTHON, "numpy==1");
  assert.equal(one, folder("/storage", PYTHON, "numpy==1"));
  assert.notEqual(one, folder("/storage", PYTHON, "numpy==2"));
  assert.notEqual(one, folder("/storage", { ...PYTHON, tag: "cpython-312-x86_64-linux-gnu" }, "numpy==1"));
});

test("wheels only, by their hashes, and with a wheelhouse from nowhere else", () => {
  const plain = installation("/x/search.txt", "/t");
  assert.ok(plain.includes("--require-hashes") && plain.includes("--only-binary=:all:") && plain.includes("--target=/t"));
  assert.ok(!plain.includes("--no-index"));
  const offline = installation("/x/search.txt", "/t", "/wheels");
  assert.ok(offline.includes("--no-index") && offline.includes("--find-links=/wheels"));
});

test("the command of a search names its packages only where there are some", () => {
  assert.deepEqual(command("/p", "/ext"), ["/p", path.join("/ext", "bundled", "start.py")]);
  assert.deepEqual(command("/p", "/ext", "/t").slice(2), ["--packages", "/t"]);
});

test("pip's lines become names", () => {
  assert.equal(progress("Collecting numpy==2.4.6 (from -r search.txt)"), "numpy");
  assert.equal(progress("  Downloading scikit_learn-1.9.1-cp311.whl (9 MB)"), "scikit_learn");
  assert.equal(progress("Processing /wheels/scipy-1.17.1-cp311-abi.whl"), "scipy");
  assert.equal(progress("something else"), "");
});

test("a failure says what is missing and what to do", () => {
  const none = "ERROR: No matching distribution found for numpy==2.4.6";
  assert.match(failure(none, "/wheels"), /^\/wheels has no wheel of numpy==2.4.6/);
  assert.match(failure(none), /index can't be reached.*kernelband.search.wheelhouse/);
  assert.match(failure("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"), /No space left/);
});

/** A program that stands for a Python. */
function program(text: string): string {
  const file = path.join(temporaryFolder(), "python");
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

const TARGET = 'for a in "$@"; do case "$a" in --target=*) target="${a#--target=}";; esac; done';

async function installed(text: string, cancelled = new AbortController().signal): Promise<{ target: string; said: string[] }> {
  const target = path.join(temporaryFolder(), "search", "cp311");
  const said: string[] = [];
  await install({ python: { path: program(text), pip: "own" }, lockFile: "search.txt", target }, (name) => said.push(name), () => undefined, cancelled);
  return { target, said };
}

test("what is whole is put in its place, and what is said on the way is told", async () => {
  const { target, said } = await installed(`${TARGET}; mkdir -p "$target"; echo "Collecting numpy==1"; touch "$target/numpy"`);
  assert.deepEqual(said, ["numpy"]);
  assert.ok(existsSync(path.join(target, "numpy")));
  assert.deepEqual(readdirSync(path.dirname(target)), ["cp311"]);
});

test("a Python without pip gets one for the time of the installation", async () => {
  const target = path.join(temporaryFolder(), "search", "cp311");
  const inner = `#!/bin/sh\n${TARGET}; mkdir -p "$target"; touch "$target/numpy"`;
  const text = `for folder in "$@"; do :; done; mkdir -p "$folder/bin"; cat > "$folder/bin/python" <<'EOF'\n${inner}\nEOF\nchmod +x "$folder/bin/python"`;
  await install({ python: { path: program(text), pip: "venv" }, lockFile: "search.txt", target }, () => undefined, () => undefined, new AbortController().signal);
  assert.deepEqual(readdirSync(target), ["numpy"]);
  assert.deepEqual(readdirSync(path.dirname(target)), ["cp311"]);
});

test("what fails half-way leaves nothing", async () => {
  let parent = "";
  const text = `${TARGET}; mkdir -p "$target"; echo "ERROR: it broke"; exit 1`;
  await assert.rejects(async () => {
    const target = path.join(temporaryFolder(), "search", "cp311");
    parent = path.dirname(target);
    await install({ python: { path: program(text), pip: "own" }, lockFile: "search.txt", target }, () => undefined, () => undefined, new AbortController().signal);
  }, /pip could not install.*it broke/);
  assert.deepEqual(readdirSync(parent), []);
});

test("who stops it needn't wait", async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 100);
  const began = Date.now();
  await assert.rejects(installed("sleep 60", stop.signal), /you stopped it/);
  assert.ok(Date.now() - began < 50000);
});
