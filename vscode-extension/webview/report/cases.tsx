/** What the kernel was run on: each case of the original, and what a variant's final measured of it. */
import { decimals, fixed, interval, NOTHING, optional, ratio } from "../../src/report/format.ts";
import type { CaseFigures, Compared, FinalFigures, Ratio, Report, WholeFigures } from "../../src/report/shape.ts";
import { Columns, Section, Wide } from "./parts.tsx";

const ROLES = { time: "timed", check: "checked", held_out: "held out" };
const TIMES = ["device", "call"] as const;
const WORDS = { device: "device", call: "call" };

export function CasesSection({ report }: { report: Report }) {
  const { cases } = report;
  const timed = cases.some(({ device_us }) => device_us !== null);
  const device = decimals(cases.map(({ device_us }) => device_us));
  const call = decimals(cases.map(({ call_us }) => call_us));
  const times = timed ? [{ number: "Original, device (µs)" }, { number: "Original, call (µs)" }] : [];
  return (
    <Section title="Cases">
      {cases.length === 0 ? (
        <p class="none">No case was captured.</p>
      ) : (
        <>
          <p class="lead">
            {timed ? "Times are medians of the original; the details of a verified variant have its own beside them." : "What the kernel was run on. Nothing was timed."}
          </p>
          <Wide label="Cases">
            <table>
              <caption class="heard">Cases</caption>
              <Columns names={["Case", "Used as", "Function", { number: "Calls" }, ...times]} />
              <tbody>
                {cases.map((one) => (
                  <tr key={one.id}>
                    <th scope="row" class="case" title={one.id}>
                      {one.role === "time" ? one.name : one.arguments}
                      {one.role === "time" && <div class="under">{one.arguments}</div>}
                    </th>
                    <td>{ROLES[one.role]}</td>
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
  return (
    <>
      <p class="under">
        Medians of {figures.processes} fresh processes, {figures.pairs} pairs a case. Interval: of one more fresh process, 95 %.
      </p>
      <Wide label={`Times of variant ${variant}`}>
        <table>
          <caption class="heard">Times of variant {variant}</caption>
          <Columns names={["Case", "Time", { number: "Original (µs)" }, { number: "Variant (µs)" }, { number: "Ratio (×)" }, { number: "Interval (×)", kind: "wider" }]} />
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
        {WORDS[time]}, {compared.method}
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
      <th scope="row">{score ? "All cases (the score)" : "All cases"}</th>
      <td>{WORDS[whole.quantity]}, geometric mean</td>
      <td class="under" colSpan={2}>
        by total time {ratio(whole.time_weighted)}; worst {worst} {ratio(whole.worst.value)}
      </td>
      <Judged ratio={whole.geometric_mean} />
    </tr>
  );
}
