/** The best so far, over trials or over seconds. */
import type { ChartConfiguration } from "chart.js";
import { useMemo } from "preact/hooks";
import { course, summary, TIERS, type Axis, type Course, type Spot } from "../../src/report/course.ts";
import { count, decimals, fixed, NOTHING, optional } from "../../src/report/format.ts";
import type { Report } from "../../src/report/shape.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";
import { axis as looks, Legend, Picture, type Draw } from "./chart.tsx";

const AXES: { axis: Axis; words: string }[] = [
  { axis: "trials", words: "Trials" },
  { axis: "seconds", words: "Seconds" },
];

export function CourseSection({ report, axis, choose }: { report: Report; axis: Axis; choose: (axis: Axis) => void }) {
  const found = useMemo(() => course(report, axis), [report, axis]);
  const draw = useMemo<Draw>(() => drawing(found, axis), [found, axis]);
  const { measured } = found;
  return (
    <Section title="Best so far">
      {report.course.length === 0 ? (
        <p class="none">{report.run.state === "running" ? "No trial has ended yet." : "No trial was executed."}</p>
      ) : (
        <figure>
          <figcaption>
            {measured
              ? "Screening score: time of the original over that of the variant. It chooses what is verified, and is no result."
              : "Tiers of a prediction; nothing was measured."}
            {found.without > 0 && ` ${count(found.without, "trial")} without a ${measured ? "score" : "tier"}: the table says why.`}
          </figcaption>
          <fieldset class="switch">
            <legend class="heard">Over</legend>
            {AXES.map((one) => (
              <label key={one.axis}>
                <input type="radio" name="axis" checked={axis === one.axis} onChange={() => choose(one.axis)} />
                <span>{one.words}</span>
              </label>
            ))}
          </fieldset>
          <Picture label={summary(report, found)} height={measured ? 260 : 180} draw={draw} />
          <Legend
            items={[
              { sign: "line", colour: "blue", words: measured ? "best screening score" : "best tier" },
              { sign: "ring", colour: "blue", words: "a trial" },
              ...(found.verified.length ? [{ sign: "diamond", colour: "orange", words: "verified ratio of that trial's variant" } as const] : []),
            ]}
          />
          <CourseTable report={report} measured={measured} />
        </figure>
      )}
    </Section>
  );
}

function CourseTable({ report, measured }: { report: Report; measured: boolean }) {
  const digits = decimals(report.course.map(({ seconds_s }) => seconds_s));
  // The outcome of a prediction is its tier.
  const values = measured ? [{ number: "Screening score (×)" }, { number: "Best so far (×)" }] : ["Best so far"];
  return (
    <Disclosed>
      <Wide label="Best so far, trial by trial">
        <table>
          <caption class="heard">Best so far, trial by trial</caption>
          <Columns names={[{ number: "Trial" }, { number: "Ended after (s)" }, { number: "Variant" }, "Outcome", ...values, { number: "Best variant" }]} />
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
                {measured ? <td class="num">{optional(step.best_screening_score, (score) => score.toFixed(2))}</td> : <td>{step.best_tier ?? NOTHING}</td>}
                <td class="num">{step.best_variant || "original"}</td>
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
    const x = { ...looks(colours, over === "trials" ? "Trials" : "Seconds since the run began (s)"), type: "linear" as const, min: 0 };
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
            ? { ...looks(colours, "Original over variant (×)"), type: "linear", min: 0, suggestedMax: top * 1.08 }
            : {
                ...looks(colours, ""),
                type: "linear",
                min: -0.4,
                max: TIERS.length - 0.6,
                afterBuildTicks: (scale) => {
                  scale.ticks = TIERS.map((_, value) => ({ value }));
                },
                ticks: { ...looks(colours, "").ticks, callback: (value) => TIERS[Number(value)] ?? "" },
              },
        },
        plugins: {
          tooltip: {
            filter: ({ datasetIndex }) => datasetIndex > 0,
            callbacks: {
              label: ({ raw, datasetIndex }) => {
                const { x: at, y, variant } = raw as Spot;
                const where = over === "trials" ? `trial ${at}` : `${at.toFixed(1)} s`;
                if (!found.measured) return `Variant ${variant}, ${where}: ${TIERS[y] ?? ""} (predicted)`;
                return `Variant ${variant}, ${where}: ${y.toFixed(2)}× ${datasetIndex === 2 ? "verified" : "in screening"}`;
              },
            },
          },
        },
      },
    } satisfies ChartConfiguration;
  };
}
