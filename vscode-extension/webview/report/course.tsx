/** The best so far, over trials or over seconds. */
import * as l10n from "@vscode/l10n";
import type { ChartConfiguration } from "chart.js";
import { useMemo } from "preact/hooks";
import { course, summary, tierAt, TIERS, type Axis, type Course, type Spot } from "../../src/report/course.ts";
import { decimals, fixed, NOTHING, optional, ratio, whole } from "../../src/report/format.ts";
import type { Report } from "../../src/report/shape.ts";
import { tierWords } from "../../src/report/words.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";
import { axis as looks, Legend, Picture, type Draw } from "./chart.tsx";

const AXES: readonly Axis[] = ["trials", "seconds"];

export function CourseSection({ report, axis, choose }: { report: Report; axis: Axis; choose: (axis: Axis) => void }) {
  const found = useMemo(() => course(report, axis), [report, axis]);
  const draw = useMemo<Draw>(() => drawing(found, axis), [found, axis]);
  const { measured } = found;
  return (
    <Section title={l10n.t("Best so far")}>
      {report.course.length === 0 ? (
        <p class="none">{report.run.state === "running" ? l10n.t("No trial has ended yet.") : l10n.t("No trial was executed.")}</p>
      ) : (
        <figure>
          <figcaption>
            {measured
              ? l10n.t("Screening score: time of the original over that of the variant. It chooses what is verified, and is no result.")
              : l10n.t("Tiers of a prediction; nothing was measured.")}
            {found.without > 0 && ` ${without(found)}`}
          </figcaption>
          <fieldset class="switch">
            <legend class="heard">{l10n.t({ message: "Over", comment: "Over trials, or over seconds: what the horizontal axis of a chart shows" })}</legend>
            {AXES.map((one) => (
              <label key={one}>
                <input type="radio" name="axis" checked={axis === one} onChange={() => choose(one)} />
                <span>{one === "trials" ? l10n.t("Trials") : l10n.t("Seconds")}</span>
              </label>
            ))}
          </fieldset>
          <Picture label={summary(report, found)} height={measured ? 260 : 180} draw={draw} />
          <Legend
            items={[
              { sign: "line", colour: "blue", words: measured ? l10n.t("best screening score") : l10n.t("best tier") },
              { sign: "ring", colour: "blue", words: l10n.t("a trial") },
              ...(found.verified.length ? [{ sign: "diamond", colour: "orange", words: l10n.t("verified ratio of that trial's variant") } as const] : []),
            ]}
          />
          <CourseTable report={report} measured={measured} />
        </figure>
      )}
    </Section>
  );
}

function without({ without: trials, measured }: Course): string {
  if (measured) return trials === 1 ? l10n.t("1 trial without a score: the table says why.") : l10n.t("{0} trials without a score: the table says why.", whole(trials));
  return trials === 1 ? l10n.t("1 trial without a tier: the table says why.") : l10n.t("{0} trials without a tier: the table says why.", whole(trials));
}

function CourseTable({ report, measured }: { report: Report; measured: boolean }) {
  const digits = decimals(report.course.map(({ seconds_s }) => seconds_s));
  // The outcome of a prediction is its tier.
  const values = measured ? [{ number: l10n.t("Screening score (×)") }, { number: l10n.t("Best so far (×)") }] : [l10n.t("Best so far")];
  const step = [{ number: l10n.t("Trial") }, { number: l10n.t("Ended after (s)") }, { number: l10n.t("Variant") }, l10n.t("Outcome")];
  const title = l10n.t("Best so far, trial by trial");
  return (
    <Disclosed>
      <Wide label={title}>
        <table>
          <caption class="heard">{title}</caption>
          <Columns names={[...step, ...values, { number: l10n.t("Best variant") }]} />
          <tbody>
            {report.course.map((step) => (
              <tr key={step.trial}>
                <th scope="row" class="num">
                  {step.trial}
                </th>
                <td class="num">{fixed(step.seconds_s, Math.min(digits, 1))}</td>
                <td class="num">{step.variant}</td>
                <td>{step.outcome}</td>
                {measured && <td class="num">{optional(step.screening_score, (score) => score.toFixed(2))}</td>}
                {measured ? <td class="num">{optional(step.best_screening_score, (score) => score.toFixed(2))}</td> : <td>{step.best_tier ? tierWords(step.best_tier) : NOTHING}</td>}
                <td class="num">{step.best_variant || l10n.t("original")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Disclosed>
  );
}

function drawing(found: Course, over: Axis): Draw {
  return (colours) => {
    const last = Math.max(0, ...found.tried.map(({ x }) => x), ...found.best.map(({ x }) => x));
    const end = found.best.at(-1);
    const line = end && end.x < last ? [...found.best, { ...end, x: last }] : found.best;
    const top = Math.max(1, ...[...found.best, ...found.tried, ...found.verified].map(({ y }) => y));
    const x = { ...looks(colours, over === "trials" ? l10n.t("Trials") : l10n.t("Seconds since the run began (s)")), type: "linear" as const, min: 0 };
    const data = {
      datasets: [
        { type: "line" as const, data: line, stepped: "before" as const, borderColor: colours.blue, borderWidth: 2, pointRadius: 0, pointHitRadius: 0, order: 2 },
        { type: "scatter" as const, data: found.tried, borderColor: colours.blue, backgroundColor: "transparent", borderWidth: 1.5, pointRadius: 3.5, pointHoverRadius: 5, clip: false as const, order: 1 },
        { type: "scatter" as const, data: found.verified, pointStyle: "rectRot", backgroundColor: colours.orange, borderColor: colours.back, pointRadius: 6.5, pointHoverRadius: 8, clip: false as const, order: 0 },
      ],
    };
    return {
      type: "scatter",
      data,
      options: {
        scales: {
          x: { ...x, ...(over === "trials" ? { ticks: { ...x.ticks, precision: 0 } } : {}) },
          y: found.measured
            ? { ...looks(colours, l10n.t("Original over variant (×)")), type: "linear", min: 0, suggestedMax: top * 1.08 }
            : {
                ...looks(colours, ""),
                type: "linear",
                min: -0.4,
                max: TIERS.length - 0.6,
                afterBuildTicks: (scale) => {
                  scale.ticks = TIERS.map((_, value) => ({ value }));
                },
                ticks: { ...looks(colours, "").ticks, callback: (value) => tierAt(Number(value)) },
              },
        },
        plugins: {
          tooltip: {
            filter: ({ datasetIndex }) => datasetIndex > 0,
            callbacks: {
              label: ({ raw, datasetIndex }) => {
                const { x: at, y, variant } = raw as Spot;
                const where = over === "trials" ? l10n.t("trial {0}", at) : `${at.toFixed(1)} s`;
                if (!found.measured) return l10n.t("Variant {0}, {1}: {2} (predicted)", variant, where, tierAt(y));
                if (datasetIndex === 2) return l10n.t("Variant {0}, {1}: {2} verified", variant, where, ratio(y));
                return l10n.t("Variant {0}, {1}: {2} in screening", variant, where, ratio(y));
              },
            },
          },
        },
      },
    } satisfies ChartConfiguration;
  };
}
