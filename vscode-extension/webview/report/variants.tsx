/** The variants: a table to sort, and for each what it changes, why, and its patch. */
import { useId, useMemo, useState } from "preact/hooks";
import { count, interval, parameters } from "../../src/report/format.ts";
import type { Report, Variant } from "../../src/report/shape.ts";
import { next, sorted, type Column, type Order } from "../../src/report/sorting.ts";
import { worth } from "../../src/report/standing.ts";
import { FiguresTable } from "./cases.tsx";
import type { Host } from "./host.ts";
import { Patch } from "./patch.tsx";
import { Section, Wide } from "./parts.tsx";

const COLUMNS: { column: Column; words: string; kind: string }[] = [
  { column: "number", words: "No.", kind: "num" },
  { column: "change", words: "Change", kind: "" },
  { column: "result", words: "Result", kind: "num" },
  { column: "state", words: "State", kind: "wider" },
  { column: "parent", words: "Made from", kind: "num wider" },
];

/** Nobody wants these in a file; their patch can be looked at. */
const NOT_OFFERED: readonly Variant["state"][] = ["wrong", "nondeterministic", "rejected", "failed", "equal"];
const FIRST = 15; // rows that are shown without being asked for

interface Given {
  report: Report;
  host: Host;
  order: Order;
  sort: (order: Order) => void;
  open: readonly number[];
  toggle: (variant: number) => void;
}

export function VariantsSection({ report, host, order, sort, open, toggle }: Given) {
  const rows = useMemo(() => sorted(report.variants, order), [report, order]);
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, FIRST);
  const predicted = report.run.mode === "predicted";
  return (
    <Section title="Variants">
      {rows.length === 0 ? (
        <p class="none">{report.run.state === "running" ? "No variant was executed yet." : "No variant was executed."}</p>
      ) : (
        <>
          <p class="lead">
            {predicted
              ? "Each was compiled and checked by interpreting it; whether it is faster is predicted, and a GPU may disagree."
              : "A ratio is the time of the original over that of the variant, and only verified variants have one."}
          </p>
          <Wide label="Variants">
            <table class="variants">
              <caption class="heard">Variants; activate a column's heading to sort</caption>
              <thead>
                <tr>
                  {COLUMNS.map(({ column, words, kind }) => (
                    <th key={column} scope="col" class={kind} aria-sort={order.column === column ? (order.down ? "descending" : "ascending") : "none"}>
                      <button type="button" class="sort" onClick={() => sort(next(order, column))}>
                        {words}
                        <span class="arrow" aria-hidden="true">
                          {order.column === column ? (order.down ? "▾" : "▴") : ""}
                        </span>
                      </button>
                    </th>
                  ))}
                </tr>
              </thead>
              {shown.map((variant) => (
                <Row key={variant.number} variant={variant} host={host} report={report} open={open.includes(variant.number)} toggle={toggle} />
              ))}
            </table>
          </Wide>
          {shown.length < rows.length && (
            <div class="buttons">
              <button type="button" onClick={() => setAll(true)}>
                Show all {rows.length}
              </button>
            </div>
          )}
          {all && report.left_out > 0 && <p class="none">{count(report.left_out, "more variant")} aren't listed: they come after these.</p>}
        </>
      )}
    </Section>
  );
}

/** Where a variant stands in the table. */
export function rowId(variant: number): string {
  return `variant-${variant}`;
}

function Row({ variant, report, host, open, toggle }: { variant: Variant; report: Report; host: Host; open: boolean; toggle: (variant: number) => void }) {
  const id = useId();
  const best = report.run.best === variant.number;
  return (
    <tbody id={rowId(variant.number)} class={open ? "open" : ""}>
      <tr>
        <td class="num">{variant.number}</td>
        <th scope="row" class="change">
          <button type="button" class="disclose" aria-expanded={open} aria-controls={id} onClick={() => toggle(variant.number)}>
            <span class="chevron" aria-hidden="true" />
            <span>{variant.title}</span>
          </button>
          <div class="under">
            <code>{variant.move}</code>
            {best && <span class="tag">look here first</span>}
            {variant.decision && <span class="tag">{variant.decision === "accept" ? "accepted" : "rejected"}</span>}
          </div>
        </th>
        <td class={`num result ${variant.ratio ? "figure" : ""}`}>
          {worth(variant)}
          {variant.ratio && <div class="under">{interval(variant.ratio)}</div>}
          {variant.tier && <div class="under">predicted</div>}
          <div class="under narrower">{stateWords(variant)}</div>
        </td>
        <td class={variant.state === "verified" ? "state wider good" : "state wider"}>{stateWords(variant)}</td>
        <td class="num wider">{variant.parent || "original"}</td>
      </tr>
      <tr id={id} hidden={!open} class="more">
        <td colSpan={COLUMNS.length}>{open && <More variant={variant} host={host} />}</td>
      </tr>
    </tbody>
  );
}

function stateWords({ state }: Variant): string {
  return state === "verified" ? "✓ verified" : state === "equal" ? "same machine code" : state;
}

function More({ variant, host }: { variant: Variant; host: Host }) {
  const tell = (does: "apply" | "compare" | "explain" | "copyPatch"): void => host.tell({ type: "variant", does, variant: variant.number });
  const made = parameters(variant.parameters);
  return (
    <div class="details" role="group" aria-label={`Variant ${variant.number}`}>
      {host.acts && (
        <div class="buttons">
          {!NOT_OFFERED.includes(variant.state) && (
            <button type="button" class="primary" onClick={() => tell("apply")}>
              Review in editor
            </button>
          )}
          <button type="button" onClick={() => tell("compare")}>
            Compare
          </button>
          <button type="button" onClick={() => tell("explain")}>
            Explain
          </button>
          {variant.patch && (
            <button type="button" onClick={() => tell("copyPatch")}>
              Copy patch
            </button>
          )}
        </div>
      )}
      {variant.explanation ? (
        <ul class="explanation">
          {variant.explanation.map(({ text, below }, index) => (
            <li key={index} class={below ? "below" : ""}>
              {text}
            </li>
          ))}
        </ul>
      ) : (
        <p class="none">There are too many variants to tell of each here{host.acts ? "; Explain says it" : ""}.</p>
      )}
      {variant.reason && <p>{variant.reason}</p>}
      {variant.figures && <FiguresTable figures={variant.figures} variant={variant.number} />}
      <p class="under">
        {[`trial ${variant.trial}`, made, `numerics ${variant.numerics}`, `written by ${variant.author}`, variant.cluster === null ? "" : `cluster ${variant.cluster}`]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {variant.patch && <Patch text={variant.patch} />}
    </div>
  );
}
