import assert from "node:assert/strict";
import { test } from "node:test";
import { patchRows } from "../../src/report/patch.ts";

const PATCH = `diff --git a/src/k.py b/src/k.py
--- a/src/k.py
+++ b/src/k.py
@@ -3,3 +3,4 @@
 def f():
-    a = 1
+    a = 2
+    b = 3
     return a
@@ -20,2 +21,1 @@
 x
-y
\\ No newline at end of file
diff --git a/host.py b/host.py
--- a/host.py
+++ b/host.py
@@ -1,1 +1,1 @@
---flag
+++flag
`;

test("rows have the line numbers of both sides", () => {
  const files = patchRows(PATCH);
  assert.deepEqual(
    files?.map(({ path, added, removed }) => [path, added, removed]),
    [
      ["src/k.py", 2, 2],
      ["host.py", 1, 1],
    ],
  );
  assert.deepEqual(files[0]?.hunks[0]?.rows, [
    { kind: "same", before: 3, after: 3, text: "def f():" },
    { kind: "removed", before: 4, after: null, text: "    a = 1" },
    { kind: "added", before: null, after: 4, text: "    a = 2" },
    { kind: "added", before: null, after: 5, text: "    b = 3" },
    { kind: "same", before: 5, after: 6, text: "    return a" },
  ]);
  assert.deepEqual(files[0].hunks[1]?.rows.at(-1), { kind: "removed", before: 21, after: null, text: "y" });
  assert.equal(files[0].hunks[1].heading, "Lines 20 to 21");
});

test("lines that look like headings are lines", () => {
  assert.deepEqual(
    patchRows(PATCH)?.[1]?.hunks[0]?.rows.map(({ text }) => text),
    ["--flag", "++flag"],
  );
});

test("ends of lines are not shown", () => {
  assert.equal(patchRows("--- a/k\n+++ b/k\n@@ -1,1 +1,1 @@\n-a\r\n+b\r\n")?.[0]?.hunks[0]?.rows[1]?.text, "b");
});

test("what is no patch is shown as it is", () => {
  assert.equal(patchRows("--- a/k\n+++ b/k\n@@ -1,5 +1,1 @@\n-a\n"), undefined);
  assert.equal(patchRows(""), undefined);
  assert.equal(patchRows("no patch\n"), undefined);
});
