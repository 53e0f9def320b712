/** Which strategies were tried on which clusters of variants, and what they brought. */
import * as l10n from "@vscode/l10n";
import type { ChartConfiguration } from "chart.js";
import { useMemo } from "preact/hooks";
import { NOTHING, optional, three, whole } from "../../src/report/format.ts";
import type { Arm, Report } from "../../src/report/shape.ts";
import { armWords } from "../../src/report/words.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";
import { axis, Legend, Picture, type Draw } from "./chart.tsx";

const ROW = 26; // pixels for an arm
const AXES = 64; // pixels for the axis below

export function ArmsSection({ report }: { report: Report }) {
  const { rows, reason } = report.arms;
  const pulled = useMemo(() => rows.filter(({ pulls }) => pulls > 0), [rows]);
  const rewards = pulled.some(({ mean_reward }) => mean_reward !== null);
  const pulls = useMemo<Draw>(() => bars(pulled, l10n.t("Pulls"), (arm) => arm.pulls, "blue"), [pulled]);
  const reward = useMemo<Draw>(() => bars(pulled, l10n.t("Mean reward"), (arm) => arm.mean_reward, "orange"), [pulled]);
  const height = pulled.length * ROW + AXES;
  return (
    <Section title={l10n.t("Arms")}>
      {rows.length === 0 ? (
        <p class="none">{reason}</p>
      ) : (
        <figure>
          <figcaption>
            {l10n.t("An arm is a strategy on a cluster of variants, written strategy · cluster.")} {aboutRewards(report, rewards)}
          </figcaption>
          {pulled.length > 0 && (
            <div class={rewards ? "pair" : "pair single"}>
              <Picture label={pullsInWords(pulled)} height={height} draw={pulls} />
              {rewards && <Picture label={rewardsInWords(pulled)} height={height} draw={reward} />}
            </div>
          )}
          {rewards && (
            <Legend
              items={[
                { sign: "bar", colour: "blue", words: l10n.t("pulls") },
                { sign: "bar", colour: "orange", words: l10n.t("mean reward") },
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

function aboutRewards({ run }: Report, rewards: boolean): string {
  if (!rewards) return l10n.t("Nothing was measured, so there are no rewards.");
  return run.policy === "kernelband"
    ? l10n.t("The mean reward is what the policy expects of it, as log2 of a speedup, also before the first pull.")
    : l10n.t("The mean reward is what the policy expects of it, also before the first pull.");
}

function pullsInWords(pulled: readonly Arm[]): string {
  const [most] = [...pulled].sort((a, b) => b.pulls - a.pulls);
  const all = pulled.length === 1 ? l10n.t("Pulls of 1 arm.") : l10n.t("Pulls of {0} arms.", whole(pulled.length));
  return most ? `${all} ${l10n.t("Most: {0}, {1}.", armName(most), most.pulls)}` : all;
}

function rewardsInWords({ length }: readonly Arm[]): string {
  return length === 1 ? l10n.t("Mean reward of 1 arm; the table has each.") : l10n.t("Mean reward of {0} arms; the table has each.", whole(length));
}

function armName({ cluster, strategy }: Arm): string {
  return `${strategy.replaceAll("_", " ")} · ${cluster}`;
}

function ArmTable({ rows, rewards }: { rows: readonly Arm[]; rewards: boolean }) {
  const reward = rewards ? [{ number: l10n.t("Mean reward") }] : [];
  const names = [{ number: l10n.t("Cluster") }, l10n.t("Strategy"), { number: l10n.t("Pulls") }, ...reward, { number: l10n.t("Weight") }, l10n.t("State"), l10n.t("Why")];
  return (
    <Wide label={l10n.t("Arms")}>
      <table>
        <caption class="heard">{l10n.t("Arms")}</caption>
        <Columns names={names} />
        <tbody>
          {rows.map((arm) => (
            <tr key={armName(arm)}>
              <td class="num">{arm.cluster}</td>
              <th scope="row">{arm.strategy.replaceAll("_", " ")}</th>
              <td class="num">{arm.pulls}</td>
              {rewards && <td class="num">{optional(arm.mean_reward, (value) => value.toFixed(3).replace("-", "−"))}</td>}
              <td class="num">{arm.weight.toFixed(2)}</td>
              <td>{armWords(arm.state)}</td>
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
          x: { ...x, beginAtZero: true, ...(colour === "blue" ? { ticks: { ...x.ticks, precision: 0 } } : {}) },
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
  const percents = used.map((name) => ({ number: l10n.t("{0} used (%)", name.toUpperCase()) }));
  const names = [{ number: l10n.t("Cluster") }, { number: l10n.t("Variants") }, { number: l10n.t("Stands for them") }, l10n.t("Limited by"), ...percents];
  return (
    <Section title={l10n.t("Clusters")}>
      {rows.length === 0 ? (
        <p class="none">{reason}</p>
      ) : (
        <>
          <p class="lead">{l10n.t("Variants that behave alike; one stands for the others.")}</p>
          <Wide label={l10n.t("Clusters")}>
            <table>
              <caption class="heard">{l10n.t("Clusters")}</caption>
              <Columns names={names} />
              <tbody>
                {rows.map((row) => (
                  <tr key={row.cluster}>
                    <th scope="row" class="num">
                      {row.cluster}
                    </th>
                    <td class="num">{row.size}</td>
                    <td class="num">{row.representative || l10n.t("original")}</td>
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
