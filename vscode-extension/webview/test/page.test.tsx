/** The page as markup: what it says and what it doesn't, and that text stays text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import renderToString from "preact-render-to-string";
import type { Shown } from "../../src/report/messages.ts";
import type { Report, Variant } from "../../src/report/shape.ts";
import { live, ratio, report, step, variant } from "../../test/report/facts.ts";
import { FIRST_VIEW, Host, type View } from "../report/host.ts";
import { Page } from "../report/page.tsx";

const HOSTILE = `<img src=x onerror="alert(1)">`;

/** As in an exported file, with these variants open. */
class Still extends Host {
  constructor(private readonly opened: number[]) {
    super();
  }

  override get view(): View {
    return { ...FIRST_VIEW, open: this.opened };
  }
}

function page(told: Report | null, { open = [], ...more }: Partial<Shown> & { open?: number[] } = {}): string {
  return renderToString(<Page host={new Still(open)} shown={{ run: "a1b2c3d4", report: told, live: null, problem: "", exported_s: null, ...more }} />);
}

test("hostile text stays text, wherever it stands", () => {
  const cases = [{ id: "c", name: HOSTILE, role: "time", function: HOSTILE, arguments: HOSTILE, calls: 1, device_us: null, call_us: null, method: "", stage: null }] as const;
  const told = report(
    {
      cases: [...cases],
      variants: [
        variant(1, {
          title: HOSTILE,
          move: HOSTILE,
          parameters: { [HOSTILE]: HOSTILE },
          reason: HOSTILE,
          explanation: [{ text: HOSTILE, below: true }],
          patch: `--- a/${HOSTILE}\n+++ b/${HOSTILE}\n@@ -1,1 +1,1 @@\n-${HOSTILE}\n+${HOSTILE}\n`,
        }),
      ],
      arms: { rows: [{ cluster: 0, strategy: HOSTILE, pulls: 1, mean_reward: 0, weight: 1, state: "open", why: HOSTILE }], reason: "" },
      clusters: { rows: [{ cluster: 0, representative: 1, members: [1], size: 1, limited_by: HOSTILE, used_percent: { [HOSTILE]: 1 } }], reason: "" },
      dropped: [{ parent: 0, move: HOSTILE, outcome: HOSTILE, reason: HOSTILE }],
    },
    { kernel: HOSTILE, path: `/w/${HOSTILE}.py`, reason: HOSTILE, entry: HOSTILE, versions: { triton: HOSTILE } },
  );
  const markup = page(told, { open: [1] });
  assert.doesNotMatch(markup, /<img/i);
  assert.ok(markup.split("&lt;img").length > 15, "all of it is shown");
});

test("a prediction shows tiers and no figure beside a variant", () => {
  const told = report(
    {
      course: [step(1, { tier: "likely faster", best_tier: "likely faster", best_variant: 1, outcome: "likely faster", stage: "predicted", best_screening_score: null })],
      variants: [variant(1, { state: "checked", outcome: "likely faster", tier: "likely faster", reason: "Interpreted.", title: "One block holds the row" })],
      counts: { proposed: 3, compiled: 3, executed: 1, verified: 0, duplicates: 0, compile_errors: 0, failed: 0, wrong: 0 },
    },
    { mode: "predicted", best: 1, reason: "predicted: variant 1 is likely faster" },
  );
  const text = page(told, { open: [1] }).replace(/<[^>]*>/g, " ");
  assert.match(text, /predicted/);
  assert.match(text, /Likely faster/);
  assert.doesNotMatch(text, /\d\s?[x×](?!\w)/);
  assert.doesNotMatch(text, /µs|\bRatio\b|verified,/);
});

test("figures of a verified variant have unit, interval and both times", () => {
  const compared = { original_us: 65.31, variant_us: 50.02, ratio: ratio(1.31), method: "events" };
  const one = { case: "c", name: "M=4096", device: compared, call: { ...compared, method: "wall" }, disturbed: null };
  const whole = { quantity: "device", method: "events", geometric_mean: ratio(1.62), time_weighted: 1.57, worst_case: "c", worst: ratio(1.31) } as const;
  const told = variant(2, { state: "verified", ratio: ratio(1.62), figures: { processes: 5, pairs: 15, cases: [one], wholes: [whole], sentences: ["One more thing."] } });
  const markup = page(report({ variants: [told] }, { best: 2 }), { open: [2] });
  const text = markup.replace(/<[^>]*>/g, "|");
  for (const said of ["1.62×", "1.57 to 1.67", "Original (µs)", "65.3", "50.0", "1.26 to 1.36", "wall", "worst M=4096 1.31×", "5 fresh processes, 15 pairs", "One more thing.", "✓ verified"])
    assert.ok(text.includes(said), said);
});

test("what is empty, running, stopped or failed says so", () => {
  assert.match(page(null), /The report is being read\./);
  assert.match(page(null, { live: live({ headline: "capturing", fraction: 0 }) }), /The run has started \(capturing\)[\s\S]*<progress/);
  const going = page(report({ course: [], variants: [], cases: [] }, { state: "running", reason: "" }), { live: live() });
  for (const said of ["Searching;", "No trial has ended yet.", "No variant was executed yet.", "Nothing verified yet", "3/20"]) assert.ok(going.includes(said), said);
  assert.doesNotMatch(page(report(), { live: live() }), /<progress/);
  assert.match(page(report({}, { state: "interrupted", reason: "stopped by you" })), /Stopped before its end: stopped by you\./);
  assert.match(page(report({}, { state: "failed", reason: "torch is missing" })), /class="standing failed"[^>]*>This run failed: torch is missing\./);
  assert.match(page(report(), { problem: "There is no run a1b2c3d4." }), /class="problem">There is no run a1b2c3d4\./);
});

test("every table has a caption, every heading cell a scope, every chart words", () => {
  const told = report({ variants: [variant(1)], cases: [], arms: { rows: [{ cluster: 0, strategy: "tiling", pulls: 2, mean_reward: 0.1, weight: 1, state: "open", why: "" }], reason: "" } });
  const markup = page(told, { open: [1] });
  assert.equal(markup.match(/<table/g)?.length, markup.match(/<caption/g)?.length);
  assert.doesNotMatch(markup, /<th(?![^>]*scope=)[ >]/);
  for (const canvas of markup.match(/<canvas[^>]*>/g) ?? []) assert.match(canvas, /role="img" aria-label="[^"]{10,}/);
  assert.doesNotMatch(markup, /<button(?![^>]*type="button")/);
  assert.match(markup, /role="status" aria-live="polite"/);
});

test("what is wrong can be compared and isn't offered for the file", () => {
  const acts = (state: Variant["state"]): string[] => {
    const host = new Still([1]);
    Object.defineProperty(host, "acts", { value: true });
    const shown = { run: "a1b2c3d4", report: report({ variants: [variant(1, { state })] }), live: null, problem: "", exported_s: null };
    const details = renderToString(<Page host={host} shown={shown} />).split('class="details"')[1] ?? "";
    return [...details.matchAll(/<button[^>]*>([^<]*)/g)].map(([, words]) => words ?? "").slice(0, 4);
  };
  assert.deepEqual(acts("screened"), ["Review in editor", "Compare", "Explain", "Copy patch"]);
  assert.deepEqual(acts("wrong"), ["Compare", "Explain", "Copy patch"]);
});

test("a file has no buttons that need an editor", () => {
  assert.doesNotMatch(page(report(), { open: [1], exported_s: 1 }), /Review in editor|Export HTML/);
});
