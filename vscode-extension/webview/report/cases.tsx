/** What the kernel was run on: each case of the original, and what a variant's final measured of it. */
import * as l10n from "@vscode/l10n";
import { decimals, fixed, interval, NOTHING, optional, ratio } from "../../src/report/format.ts";
import type { Case, CaseFigures, Compared, FinalFigures, Ratio, Report, WholeFigures } from "../../src/report/shape.ts";
import { Columns, Section, Wide } from "./parts.tsx";

const TIMES = ["device", "call"] as const;

function role(of: Case["role"]): string {
  return { time: l10n.t("timed"), check: l10n.t("checked"), held_out: l10n.t("held out"), left_out: l10n.t("left out") }[of];
}

export function CasesSection({ report }: { report: Report }) {
  const { cases } = report;
  const timed = cases.some(({ device_us }) => device_us !== null);
  const device = decimals(cases.map(({ device_us }) => device_us));
  const call = decimals(cases.map(({ call_us }) => call_us));
  const times = timed ? [{ number: l10n.t("Original, device (µs)") }, { number: l10n.t("Original, call (µs)") }] : [];
  return (
    <Section title={l10n.t("Cases")}>
      {cases.length === 0 ? (
        <p class="none">{l10n.t("No case was captured.")}</p>
      ) : (
        <>
          <p class="lead">
            {timed
              ? l10n.t("Times are medians of the original; the details of a verified variant have its own beside them.")
              : l10n.t("What the kernel was run on. Nothing was timed.")}
          </p>
          <Wide label={l10n.t("Cases")}>
            <table>
              <caption class="heard">{l10n.t("Cases")}</caption>
              <Columns names={[l10n.t("Case"), l10n.t("Used as"), l10n.t("Function"), { number: l10n.t("Calls") }, ...times]} />
              <tbody>
                {cases.map((one) => (
                  <tr key={one.id}>
                    <th scope="row" class="case" title={one.id}>
                      {one.role === "time" ? one.name : one.arguments}
                      {one.role === "time" && <div class="under">{one.arguments}</div>}
                    </th>
                    <td>{role(one.role)}</td>
                    <td>
                      <code>{one.function}</code>
                    </td>
                    <td class="num">{one.calls || NOTHING}</td>
                    {timed && <td class="num">{optional(one.device_us, (us) => fixed(us, device))}</td>}
                    {timed && <td class="num">{optional(one.call_us, (us) => fixed(us, call))}</td>}
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

/** Two rows for each case, then the score and what stands beside it. */
export function FiguresTable({ figures, variant }: { figures: FinalFigures; variant: number }) {
  const digits = decimals(figures.cases.flatMap((one) => TIMES.flatMap((time) => [one[time].original_us, one[time].variant_us])));
  const names = new Map(figures.cases.map((one) => [one.case, one.name]));
  const title = l10n.t("Times of variant {0}", variant);
  const numbers = [{ number: l10n.t("Original (µs)") }, { number: l10n.t("Variant (µs)") }, { number: l10n.t("Ratio (×)") }, { number: l10n.t("Interval (×)"), kind: "wider" }];
  const columns = [l10n.t("Case"), l10n.t("Time"), ...numbers];
  return (
    <>
      <p class="under">
        {l10n.t("Medians of {0} fresh processes, {1} pairs a case. Interval: of one more fresh process, 95 %.", figures.processes, figures.pairs)}
      </p>
      <Wide label={title}>
        <table>
          <caption class="heard">{title}</caption>
          <Columns names={columns} />
          {figures.cases.map((one) => (
            <tbody key={one.case}>
              {TIMES.map((time, index) => (
                <Times key={time} one={one} compared={one[time]} time={time} first={index === 0} digits={digits} />
              ))}
            </tbody>
          ))}
          <tbody class="wholes">
            {figures.wholes.map((whole, index) => (
              <Whole key={whole.quantity} whole={whole} score={index === 0} worst={names.get(whole.worst_case) ?? whole.worst_case} />
            ))}
          </tbody>
        </table>
      </Wide>
      {figures.sentences.map((said) => (
        <p key={said}>{said}</p>
      ))}
    </>
  );
}

function Times({ one, compared, time, first, digits }: { one: CaseFigures; compared: Compared; time: "device" | "call"; first: boolean; digits: number }) {
  return (
    <tr>
      {first && (
        <th scope="rowgroup" rowSpan={2} class="case">
          {one.name}
        </th>
      )}
      <td>
        {time === "device" ? l10n.t("device, {0}", compared.method) : l10n.t("call, {0}", compared.method)}
      </td>
      <td class="num">{fixed(compared.original_us, digits)}</td>
      <td class="num">{fixed(compared.variant_us, digits)}</td>
      <Judged ratio={compared.ratio} />
    </tr>
  );
}

/** A ratio and its interval, beside each other or, where there is no room, below. */
function Judged({ ratio: judged }: { ratio: Ratio }) {
  const bounds = interval(judged);
  return (
    <>
      <td class="num">
        {judged.value.toFixed(2)}
        <div class="under narrower">{bounds}</div>
      </td>
      <td class="num wider">{bounds}</td>
    </>
  );
}

function Whole({ whole, score, worst }: { whole: WholeFigures; score: boolean; worst: string }) {
  return (
    <tr>
      <th scope="row">{score ? l10n.t("All cases (the score)") : l10n.t("All cases")}</th>
      <td>{whole.quantity === "device" ? l10n.t("device, geometric mean") : l10n.t("call, geometric mean")}</td>
      <td class="under" colSpan={2}>
        {l10n.t("by total time {0}; worst {1} {2}", ratio(whole.time_weighted), worst, ratio(whole.worst.value))}
      </td>
      <Judged ratio={whole.geometric_mean} />
    </tr>
  );
}
