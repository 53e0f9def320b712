import assert from "node:assert/strict";
import { test } from "node:test";
import { heard } from "../../src/report/messages.ts";

test("of a page only what a page of ours can say is heard", () => {
  assert.deepEqual(heard({ type: "ready", more: 1 }), { type: "ready" });
  assert.deepEqual(heard({ type: "variant", does: "apply", variant: 3 }), { type: "variant", does: "apply", variant: 3 });
  assert.deepEqual(heard({ type: "run", does: "exportHtml" }), { type: "run", does: "exportHtml" });
  for (const other of [null, "ready", {}, { type: "run", does: "apply" }, { type: "variant", does: "apply", variant: "3; rm" }, { type: "variant", does: "delete", variant: 3 }])
    assert.equal(heard(other), undefined);
});
