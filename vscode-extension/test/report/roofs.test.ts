import assert from "node:assert/strict";
import { test } from "node:test";
import { named, roofs, summary } from "../../src/report/roofs.ts";
import type { Point, Roofline } from "../../src/report/shape.ts";

function point(variant: number, more: Partial<Point> = {}): Point {
  const none = { stage: null, intensity_flop_per_byte: 2, flops_per_s: null, dram_bytes_per_s: null, device_us: null, limited_by: "memory", reason: "" };
  return { variant, how: "predicted", peak_flops_per_s: 60e12, ...none, ...more };
}

function roofline(...points: Point[]): Roofline {
  const device = { name: "GPU", source: "data sheet", dram_bytes_per_s: 3e12, l2_bytes_per_s: 7e12, fp32_flops_per_s: 60e12, tensor_flops_per_s: {}, launch_us: 3 };
  return { device, case: "c", case_name: "n=2", points, reason: "" };
}

test("the ridge is where memory's slope meets the peak, and the line goes through it", () => {
  const found = roofs(roofline(point(0)));
  assert.deepEqual(found?.roofs[0]?.ridge, { x: 20, y: 60e12 });
  assert.deepEqual(found.roofs[0].line, [
    { x: 1, y: 3e12 },
    { x: 20, y: 60e12 },
    { x: 100, y: 60e12 },
  ]);
});

test("a measured point has its rate; of another only the most that its roof allows is known, and it says so", () => {
  const found = roofs(roofline(point(0, { how: "measured", flops_per_s: 5e12 }), point(1), point(2, { intensity_flop_per_byte: 50 })));
  assert.deepEqual(
    found?.groups.map(({ kind, y }) => [kind, y]),
    [
      ["measured", 5e12],
      ["unmeasured", 6e12],
      ["unmeasured", 60e12],
    ],
  );
});

test("variants on one place are one point, but never with the original", () => {
  const found = roofs(roofline(point(0), point(1), point(2), point(3, { intensity_flop_per_byte: 4 })));
  assert.deepEqual(
    found?.groups.map(({ variants }) => variants),
    [[0], [1, 2], [3]],
  );
});

test("units with other peaks have roofs of their own", () => {
  const found = roofs(roofline(point(0), point(1, { peak_flops_per_s: 900e12 })));
  assert.deepEqual(
    found?.roofs.map(({ flops_per_s }) => flops_per_s),
    [60e12, 900e12],
  );
});

test("everything lies within the axes", () => {
  const found = roofs(roofline(point(0, { intensity_flop_per_byte: 0.07, flops_per_s: 1e9, how: "measured" }), point(1, { intensity_flop_per_byte: 900 })));
  assert.ok(found);
  for (const { x, y } of [...found.groups, ...found.roofs.flatMap(({ line }) => line)]) {
    assert.ok(x >= found.x[0] && x <= found.x[1], `${x} in ${String(found.x)}`);
    assert.ok(y >= found.y[0] && y <= found.y[1], `${y} in ${String(found.y)}`);
  }
});

test("nothing to draw", () => {
  assert.equal(roofs({ ...roofline(), device: null }), undefined);
  assert.equal(roofs(roofline(point(0, { intensity_flop_per_byte: null }), point(1, { intensity_flop_per_byte: 0 }))), undefined);
});

test("names of those that stand on one place", () => {
  assert.deepEqual([[0], [3], [3, 4], [1, 2, 5]].map(named), ["the original", "variant 3", "variants 3 and 4", "variants 1, 2 and 5"]);
  assert.equal(named([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), "variants 1, 2, 3, 4, 5, 6, 7, 8 and 2 more");
});

test("words say what is measured and what isn't", () => {
  assert.equal(
    summary(roofline(point(0, { how: "measured", flops_per_s: 5e12 }), point(1))),
    "Roofline of GPU on case n=2, the original among them: 1 measured, 1 by their intensity only.",
  );
});
