/** Where the original and its variants stand under the roofs of the GPU. */
import { useMemo } from "preact/hooks";
import { NOTHING, optional, three } from "../../src/report/format.ts";
import { capital } from "../../src/report/standing.ts";
import { named, roofs, summary, type Group, type Roofs } from "../../src/report/roofs.ts";
import type { Report, Roofline } from "../../src/report/shape.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";
import { axis, Legend, Picture, type Draw } from "./chart.tsx";

const TERA = 1e12;

export function RooflineSection({ report }: { report: Report }) {
  const { roofline } = report;
  const found = useMemo(() => roofs(roofline), [roofline]);
  const draw = useMemo<Draw | undefined>(() => found && drawing(found), [found]);
  const measured = found?.groups.some(({ kind }) => kind === "measured");
  const bound = found?.groups.some(({ kind }) => kind === "bound");
  const { device } = roofline;
  return (
    <Section title="Roofline">
      {!found || !draw ? (
        <p class="none">{roofline.reason || "Nothing of this run has a place here: its operations or its bytes weren't counted."}</p>
      ) : (
        <figure>
          <figcaption>
            {device && `${device.name}: memory ${three(device.dram_bytes_per_s / TERA)} TB/s, rates from ${device.source === "data sheet" ? "its data sheet" : "the GPU itself"}. `}
            {found.roofs.map(({ ridge }) => `Ridge at ${three(ridge.x)} FLOP/byte. `)}Case {roofline.case_name}.
          </figcaption>
          <Picture label={summary(roofline)} height={300} draw={draw} />
          <Legend
            items={[
              { sign: "line", colour: "muted", words: "roof: memory, then arithmetic" },
              { sign: "square", colour: "orange", words: "original" },
              ...(measured ? [{ sign: "dot", colour: "blue", words: "variant, measured" } as const] : []),
              ...(bound ? [{ sign: "ring", colour: "blue", words: "not measured: its intensity, at the most the roof allows" } as const] : []),
            ]}
          />
          <RooflineTable roofline={roofline} />
        </figure>
      )}
    </Section>
  );
}

function RooflineTable({ roofline }: { roofline: Roofline }) {
  const names = ["Variant", "Known by", { number: "Intensity (FLOP/byte)" }, { number: "Rate (TFLOP/s)" }, { number: "Memory (TB/s)" }, "Limited by", "Why not more"];
  return (
    <Disclosed>
      <Wide label="Roofline, variant by variant">
        <table>
          <caption class="heard">Roofline, variant by variant</caption>
          <Columns names={names} />
          <tbody>
            {roofline.points.map((point) => (
              <tr key={point.variant}>
                <th scope="row">{point.variant || "original"}</th>
                <td>{point.how === "measured" ? `measured (${point.stage ?? "final"})` : "predicted"}</td>
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
          { data: shown((group) => !original(group) && group.kind === "bound"), ...ringed, borderColor: colours.blue, pointRadius: 5, pointHoverRadius: 7, order: 2 },
          { data: shown(original), ...ringed, pointStyle: "rect", borderColor: colours.orange, pointRadius: 8, pointHoverRadius: 10, order: 0 },
        ],
      },
      options: {
        scales: {
          x: log("Intensity (FLOP/byte)", found.x),
          y: log("Rate (TFLOP/s)", [found.y[0] / TERA, found.y[1] / TERA]),
        },
        plugins: { tooltip: { callbacks: { label: ({ raw }) => told(raw as Group & { ridge?: boolean }) } } },
      },
    };
  };
}

function told({ x, y, ridge, kind, variants }: Group & { ridge?: boolean }): string[] {
  const at = `${three(x)} FLOP/byte, ${three(y)} TFLOP/s`;
  if (ridge) return ["Ridge: left of it memory limits, right of it arithmetic", at];
  const who = named(variants);
  return [capital(who), kind === "measured" ? `${at}, measured` : `${three(x)} FLOP/byte, at most ${three(y)} TFLOP/s; not measured`];
}
