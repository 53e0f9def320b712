/** Which strategies were tried on which clusters of variants, and what they brought. */
import type { ChartConfiguration } from "chart.js";
import { useMemo } from "preact/hooks";
import { count, NOTHING, optional, three } from "../../src/report/format.ts";
import type { Arm, Report } from "../../src/report/shape.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";
import { axis, Legend, Picture, type Draw } from "./chart.tsx";

const ROW = 26; // pixels for an arm
const AXES = 64; // pixels for the axis below

export function ArmsSection({ report }: { report: Report }) {
  const { rows, reason } = report.arms;
  const pulled = useMemo(() => rows.filter(({ pulls }) => pulls > 0), [rows]);
  const rewards = pulled.some(({ mean_reward }) => mean_reward !== null);
  const pulls = useMemo<Draw>(() => bars(pulled, "Pulls", (arm) => arm.pulls, "blue"), [pulled]);
  const reward = useMemo<Draw>(() => bars(pulled, "Mean reward", (arm) => arm.mean_reward, "orange"), [pulled]);
  const height = pulled.length * ROW + AXES;
  const most = [...pulled].sort((a, b) => b.pulls - a.pulls)[0];
  return (
    <Section title="Arms">
      {rows.length === 0 ? (
        <p class="none">{reason}</p>
      ) : (
        <figure>
          <figcaption>
            An arm is a strategy on a cluster of variants, written strategy · cluster.{" "}
            {rewards
              ? `The mean reward is what the policy expects of it${report.run.policy === "kernelband" ? ", as log2 of a speedup" : ""}, also before the first pull.`
              : "Nothing was measured, so there are no rewards."}
          </figcaption>
          {pulled.length > 0 && (
            <div class={rewards ? "pair" : "pair single"}>
              <Picture label={`Pulls of ${count(pulled.length, "arm")}. ${most ? `Most: ${armName(most)}, ${most.pulls}.` : ""}`} height={height} draw={pulls} />
              {rewards && <Picture label={`Mean reward of ${count(pulled.length, "arm")}; the table has each.`} height={height} draw={reward} />}
            </div>
          )}
          {rewards && (
            <Legend
              items={[
                { sign: "bar", colour: "blue", words: "pulls" },
                { sign: "bar", colour: "orange", words: "mean reward" },
              ]}
            />
          )}
          <Disclosed>
            <ArmTable rows={rows} rewards={rewards} />
          </Disclosed>
        </figure>
      )}
    </Section>
  );
}

function armName({ cluster, strategy }: Arm): string {
  return `${strategy.replaceAll("_", " ")} · ${cluster}`;
}

function ArmTable({ rows, rewards }: { rows: readonly Arm[]; rewards: boolean }) {
  return (
    <Wide label="Arms">
      <table>
        <caption class="heard">Arms</caption>
        <Columns names={[{ number: "Cluster" }, "Strategy", { number: "Pulls" }, ...(rewards ? [{ number: "Mean reward" }] : []), { number: "Weight" }, "State", "Why"]} />
        <tbody>
          {rows.map((arm) => (
            <tr key={armName(arm)}>
              <td class="num">{arm.cluster}</td>
              <th scope="row">{arm.strategy.replaceAll("_", " ")}</th>
              <td class="num">{arm.pulls}</td>
              {rewards && <td class="num">{optional(arm.mean_reward, (value) => value.toFixed(3).replace("-", "−"))}</td>}
              <td class="num">{arm.weight.toFixed(2)}</td>
              <td>{arm.state}</td>
              <td>{arm.why.replace(/^exhausted: /, "") || NOTHING}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function bars(arms: readonly Arm[], title: string, value: (arm: Arm) => number | null, colour: "blue" | "orange"): Draw {
  return (colours) => {
    const x = axis(colours, title);
    const y = axis(colours, "");
    return {
      type: "bar",
      data: { labels: arms.map(armName), datasets: [{ data: arms.map(value), backgroundColor: colours[colour], maxBarThickness: 14 }] },
      options: {
        indexAxis: "y",
        scales: {
          x: { ...x, beginAtZero: true, ...(title === "Pulls" ? { ticks: { ...x.ticks, precision: 0 } } : {}) },
          y: { ...y, grid: { display: false }, ticks: { ...y.ticks, autoSkip: false } },
        },
        plugins: { tooltip: { callbacks: { label: ({ raw }) => `${title}: ${typeof raw === "number" ? three(raw) : NOTHING}` } } },
      },
    } satisfies ChartConfiguration;
  };
}

export function ClustersSection({ report }: { report: Report }) {
  const { rows, reason } = report.clusters;
  const used = [...new Set(rows.flatMap(({ used_percent }) => Object.keys(used_percent ?? {})))];
  return (
    <Section title="Clusters">
      {rows.length === 0 ? (
        <p class="none">{reason}</p>
      ) : (
        <>
          <p class="lead">Variants that behave alike; one stands for the others.</p>
          <Wide label="Clusters">
            <table>
              <caption class="heard">Clusters</caption>
              <Columns
                names={[{ number: "Cluster" }, { number: "Variants" }, { number: "Stands for them" }, "Limited by", ...used.map((name) => ({ number: `${name.toUpperCase()} used (%)` }))]}
              />
              <tbody>
                {rows.map((row) => (
                  <tr key={row.cluster}>
                    <th scope="row" class="num">
                      {row.cluster}
                    </th>
                    <td class="num">{row.size}</td>
                    <td class="num">{row.representative || "original"}</td>
                    <td>{row.limited_by ?? NOTHING}</td>
                    {used.map((name) => (
                      <td key={name} class="num">
                        {optional(row.used_percent?.[name] ?? null, (percent) => percent.toFixed(1))}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
        </>
      )}
    </Section>
  );
}
