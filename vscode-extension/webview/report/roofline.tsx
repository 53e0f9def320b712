/** Where the original and its variants stand under the roofs of the GPU. */
import * as l10n from "@vscode/l10n";
import { useMemo } from "preact/hooks";
import { NOTHING, optional, three } from "../../src/report/format.ts";
import { capital } from "../../src/report/standing.ts";
import { named, roofs, summary, type Group, type Roofs } from "../../src/report/roofs.ts";
import type { Peaks, Report, Roofline } from "../../src/report/shape.ts";
import { knownBy } from "../../src/report/words.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";
import { axis, Legend, Picture, type Draw } from "./chart.tsx";

const TERA = 1e12;

export function RooflineSection({ report }: { report: Report }) {
  const { roofline } = report;
  const found = useMemo(() => roofs(roofline), [roofline]);
  const draw = useMemo<Draw | undefined>(() => found && drawing(found), [found]);
  const measured = found?.groups.some(({ kind }) => kind === "measured");
  const unmeasured = found?.groups.some(({ kind }) => kind === "unmeasured");
  const { device } = roofline;
  return (
    <Section title={l10n.t("Roofline")}>
      {!found || !draw ? (
        <p class="none">{roofline.reason || l10n.t("Nothing of this run can be shown here: its operations or its bytes weren't counted.")}</p>
      ) : (
        <figure>
          <figcaption>
            {device && `${rates(device)} `}
            {found.roofs.map(({ ridge }) => `${l10n.t("Ridge at {0} FLOP/byte.", three(ridge.x))} `)}
            {l10n.t("Case {0}.", roofline.case_name)}
          </figcaption>
          <Picture label={summary(roofline)} height={300} draw={draw} />
          <Legend
            items={[
              { sign: "line", colour: "muted", words: l10n.t("roof: memory, then arithmetic") },
              { sign: "square", colour: "orange", words: l10n.t("original") },
              ...(measured ? [{ sign: "dot", colour: "blue", words: l10n.t("variant, measured") } as const] : []),
              ...(unmeasured ? [{ sign: "ring", colour: "blue", words: l10n.t("not measured: its intensity on the axis, and the line up to the roof") } as const] : []),
            ]}
          />
          <RooflineTable roofline={roofline} />
        </figure>
      )}
    </Section>
  );
}

function rates({ name, source, dram_bytes_per_s }: Peaks): string {
  const memory = three(dram_bytes_per_s / TERA);
  return source === "data sheet" ? l10n.t("{0}: memory {1} TB/s, rates from its data sheet.", name, memory) : l10n.t("{0}: memory {1} TB/s, rates from the GPU itself.", name, memory);
}

function RooflineTable({ roofline }: { roofline: Roofline }) {
  const numbers = [{ number: l10n.t("Intensity (FLOP/byte)") }, { number: l10n.t("Rate (TFLOP/s)") }, { number: l10n.t("Memory (TB/s)") }];
  const names = [l10n.t("Variant"), l10n.t("Known by"), ...numbers, l10n.t("Limited by"), l10n.t("Why not more")];
  const title = l10n.t("Roofline, variant by variant");
  return (
    <Disclosed>
      <Wide label={title}>
        <table>
          <caption class="heard">{title}</caption>
          <Columns names={names} />
          <tbody>
            {roofline.points.map((point) => (
              <tr key={point.variant}>
                <th scope="row">{point.variant || l10n.t("original")}</th>
                <td>{knownBy(point)}</td>
                <td class="num">{optional(point.intensity_flop_per_byte, three)}</td>
                <td class="num">{optional(point.flops_per_s, (rate) => three(rate / TERA))}</td>
                <td class="num">{optional(point.dram_bytes_per_s, (rate) => three(rate / TERA))}</td>
                <td>{point.limited_by ?? NOTHING}</td>
                <td>{point.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Disclosed>
  );
}

function drawing(found: Roofs): Draw {
  return (colours) => {
    const tera = ({ x, y }: { x: number; y: number }): { x: number; y: number } => ({ x, y: y / TERA });
    const shown = (wanted: (group: Group) => boolean): (Group & { x: number })[] => found.groups.filter(wanted).map((group) => ({ ...group, ...tera(group) }));
    const original = (group: Group): boolean => group.variants.includes(0);
    const floor = found.y[0] / TERA;
    // Its rate isn't known: it stands on the axis, and the line says up to where it may be.
    const upright = shown(({ kind }) => kind === "unmeasured").map((group) => ({
      type: "line" as const,
      data: [{ ...group, y: floor, most: group.y }, { x: group.x, y: group.y }],
      borderColor: colours.muted,
      borderWidth: 1,
      borderDash: [3, 3],
      pointBackgroundColor: "transparent",
      pointBorderColor: original(group) ? colours.orange : colours.blue,
      pointBorderWidth: 2,
      pointStyle: original(group) ? "rect" : "circle",
      pointRadius: [original(group) ? 8 : 5, 0],
      pointHoverRadius: [original(group) ? 10 : 7, 0],
      pointHitRadius: [1, 0],
      clip: 12,
      order: original(group) ? 0 : 2,
    }));
    const ringed = { backgroundColor: "transparent", borderWidth: 2 };
    const log = (title: string, [min, max]: [number, number]) => ({
      ...axis(colours, title),
      type: "logarithmic" as const,
      min,
      max,
      // Powers of ten only: between them nothing is read off.
      afterBuildTicks: (scale: { ticks: { value: number }[] }) => {
        scale.ticks = scale.ticks.filter(({ value }) => Number.isInteger(Math.round(1e6 * Math.log10(value)) / 1e6));
      },
      ticks: { ...axis(colours, title).ticks, callback: (value: string | number) => String(Number(Number(value).toPrecision(6))) },
    });
    return {
      type: "scatter",
      data: {
        datasets: [
          ...found.roofs.map(({ line }) => ({ type: "line" as const, data: line.map(tera), borderColor: colours.muted, borderWidth: 1.5, pointRadius: 0, pointHitRadius: 0, order: 3 })),
          { data: found.roofs.map(({ ridge }) => ({ ...tera(ridge), ridge: true })), pointStyle: "crossRot", borderColor: colours.muted, borderWidth: 2, pointRadius: 4, order: 3 },
          { data: shown((group) => !original(group) && group.kind === "measured"), backgroundColor: colours.blue, borderColor: colours.back, pointRadius: 5, pointHoverRadius: 7, order: 1 },
          ...upright,
          { data: shown((group) => original(group) && group.kind === "measured"), ...ringed, pointStyle: "rect", borderColor: colours.orange, pointRadius: 8, pointHoverRadius: 10, order: 0 },
        ],
      },
      options: {
        scales: {
          x: log(l10n.t("Intensity (FLOP/byte)"), found.x),
          y: log(l10n.t("Rate (TFLOP/s)"), [found.y[0] / TERA, found.y[1] / TERA]),
        },
        plugins: { tooltip: { callbacks: { label: ({ raw }) => told(raw as Told) } } },
      },
    };
  };
}

/** What a marker stands for; `most`: where only its intensity is known, TFLOP/s that the roof allows there. */
type Told = Group & { ridge?: boolean; most?: number };

function told({ x, y, ridge, kind, variants, most }: Told): string[] {
  if (ridge) return [l10n.t("Ridge: left of it memory limits, right of it arithmetic"), `${three(x)} FLOP/byte, ${three(y)} TFLOP/s`];
  const known =
    kind === "measured"
      ? l10n.t("{0} FLOP/byte, {1} TFLOP/s, measured", three(x), three(y))
      : l10n.t("{0} FLOP/byte, at most {1} TFLOP/s; not measured", three(x), three(most ?? y));
  return [capital(named(variants)), known];
}
