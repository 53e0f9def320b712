/** The page in another language. The sentences of the tests' own language are the English ones with other letters, so what is left in English stands in no bundle. */
import * as l10n from "@vscode/l10n";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import renderToString from "preact-render-to-string";
import { course, summary } from "../../src/report/course.ts";
import { named, summary as roofsInWords } from "../../src/report/roofs.ts";
import type { Point, Report } from "../../src/report/shape.ts";
import { ratio, report, step, variant } from "../../test/report/facts.ts";
import { FIRST_VIEW, Host, type View } from "../report/host.ts";
import { Page } from "../report/page.tsx";

const ENGLISH = Object.entries(JSON.parse(readFileSync("l10n/bundle.l10n.json", "utf8")) as Record<string, string | { message: string }>);
const FOREIGN = Object.fromEntries(ENGLISH.map(([key, value]) => [key, foreign(typeof value === "string" ? value : value.message)]));

/** Its letters are no Latin ones; what is put into it stays. */
function foreign(words: string): string {
  return words.replace(/\{\d+\}|[A-Za-z]/g, (sign) => (sign.length > 1 ? sign : "я"));
}

class Acting extends Host {
  override get acts(): boolean {
    return true;
  }

  override get view(): View {
    return { ...FIRST_VIEW, open: [1, 2] };
  }
}

function page(told: Report | null): string {
  return renderToString(<Page host={new Acting()} shown={{ run: "7", report: told, live: null, problem: "", exported_s: 1 }} />);
}

/** What a person sees and hears of it, but for what is in code. */
function words(markup: string): string[] {
  const heard = [...markup.matchAll(/aria-label="([^"]*)"/g)].map(([, label]) => label);
  const seen = markup.replace(/<code>.*?<\/code>/g, " ").replace(/<[^>]*>/g, " ");
  return [...heard, seen].join(" ").match(/[A-Za-z]{2,}/g) ?? [];
}

const COMPARED = { original_us: 65.31, variant_us: 50.02, ratio: ratio(1.31), method: "" };
const WHOLE = { quantity: "call", method: "", geometric_mean: ratio(1.62), time_weighted: 1.57, worst_case: "7", worst: ratio(1.31) } as const;
const FIGURES = { processes: 5, pairs: 15, cases: [{ case: "7", name: "7", device: COMPARED, call: COMPARED, disturbed: null }], wholes: [WHOLE], sentences: [] };
const POINT: Point = {
  variant: 0,
  how: "measured",
  stage: "baseline",
  intensity_flop_per_byte: 2,
  flops_per_s: 5e12,
  dram_bytes_per_s: 2e12,
  peak_flops_per_s: 6e13,
  device_us: 7,
  limited_by: null,
  reason: "",
};
const PEAKS = { name: "7", source: "data sheet", dram_bytes_per_s: 3e12, l2_bytes_per_s: 7e12, fp32_flops_per_s: 6e13, tensor_flops_per_s: {}, launch_us: 3 };
const QUIET = { title: "7", reason: "", explanation: null, parameters: {}, numerics: "7", author: "7", patch: "--- a/7\n+++ b/7\n@@ -1,2 +1,2 @@\n 7\n-8\n+9\n" };

/** With a row in every table, and where the server says words of its own, a figure. */
function told(mode: "measured" | "predicted"): Report {
  const measured = mode === "measured";
  const tiers = measured ? {} : ({ tier: "unclear", best_tier: "likely faster" } as const);
  return report(
    {
      course: [step(1, { outcome: "", screening_score: 0.9, ...tiers }), step(2, { outcome: "" })],
      variants: [variant(1, { ...QUIET, state: "verified", ...(measured ? { ratio: ratio(1.62), figures: FIGURES } : { tier: "likely faster" }) }), variant(2, { ...QUIET, state: "equal", decision: "reject", cluster: 1 })],
      cases: [{ id: "7", name: "7", role: "held_out", function: "f", arguments: "7", calls: 1, device_us: measured ? 7 : null, call_us: null, method: "", stage: null }],
      arms: { rows: [{ cluster: 0, strategy: "7", pulls: 2, mean_reward: measured ? 0.1 : null, weight: 1, state: "exhausted", why: "" }], reason: "" },
      clusters: { rows: [{ cluster: 0, representative: 0, members: [0], size: 1, limited_by: null, used_percent: { l2: 7 } }], reason: "" },
      roofline: { device: PEAKS, case: "7", case_name: "7", points: [POINT, { ...POINT, variant: 1, how: "predicted", flops_per_s: null }], reason: "" },
      dropped: [{ parent: 0, move: "7", outcome: "", reason: "" }],
    },
    {
      mode,
      kernel: "7",
      path: "7",
      device: "7",
      reason: "",
      policy: "7",
      author: "both",
      entry: "7",
      best: 1,
      versions: { driver: "7" },
      seconds_budget_s: 7,
      cost: { seconds_s: 60, seconds_per_trial_s: 2.5, to_verified_s: 51, to_checked_s: 12, clock_s: { 7: 20 }, model: { name: "7", calls: 2, tokens_read: 7, tokens_written: 7, dollars: null } },
    },
  );
}

afterEach(() => l10n.config({ contents: {} }));

test("a sentence that is translated is shown in the reader's language, and another one as it is", () => {
  l10n.config({ contents: { "Best so far": "Bisher am besten", "After {0} trials the best screening score is {1}, of the original.": "{1} nach {0}" } });
  const markup = page(report());
  assert.match(markup, /<h2[^>]*>Bisher am besten<\/h2>/);
  assert.match(markup, /aria-label="1\.00 nach 2 0 variants verified\."/);
  assert.match(markup, /<h2[^>]*>Roofline<\/h2>/);
});

for (const mode of ["measured", "predicted"] as const) {
  test(`nothing of the page of a ${mode} run is English where all sentences are translated`, () => {
    l10n.config({ contents: FOREIGN });
    assert.deepEqual(words(page(told(mode))), []);
    assert.deepEqual(words(page(null)), []);
  });
}

test("what charts say is translated, too", () => {
  l10n.config({ contents: FOREIGN });
  for (const mode of ["measured", "predicted"] as const) {
    const run = told(mode);
    assert.deepEqual(words([summary(run, course(run, "trials")), roofsInWords(run.roofline), named([0]), named([1, 2])].join(" ")), []);
  }
});
