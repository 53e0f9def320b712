/** The variants: a table to sort, and for each what it changes, why, and its patch. */
import * as l10n from "@vscode/l10n";
import { useId, useMemo, useState } from "preact/hooks";
import { interval, parameters, whole } from "../../src/report/format.ts";
import type { Report, Variant } from "../../src/report/shape.ts";
import { next, sorted, type Column, type Order } from "../../src/report/sorting.ts";
import { worth } from "../../src/report/standing.ts";
import { stateWords } from "../../src/report/words.ts";
import { FiguresTable } from "./cases.tsx";
import type { Host } from "./host.ts";
import { Patch } from "./patch.tsx";
import { Section, Wide } from "./parts.tsx";

const COLUMNS: { column: Column; kind: string }[] = [
  { column: "number", kind: "num" },
  { column: "change", kind: "" },
  { column: "result", kind: "num" },
  { column: "state", kind: "wider" },
  { column: "parent", kind: "num wider" },
];

function heading(column: Column): string {
  return { number: l10n.t("No."), change: l10n.t("Change"), result: l10n.t("Result"), state: l10n.t("State"), parent: l10n.t("Made from") }[column];
}

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
    <Section title={l10n.t("Variants")}>
      {rows.length === 0 ? (
        <p class="none">{report.run.state === "running" ? l10n.t("No variant was executed yet.") : l10n.t("No variant was executed.")}</p>
      ) : (
        <>
          <p class="lead">
            {predicted
              ? l10n.t("Each was compiled and checked by interpreting it; whether it is faster is predicted, and a GPU may disagree.")
              : l10n.t("A ratio is the time of the original over that of the variant, and only verified variants have one.")}
          </p>
          <Wide label={l10n.t("Variants")}>
            <table class="variants">
              <caption class="heard">{l10n.t("Variants; activate a column's heading to sort")}</caption>
              <thead>
                <tr>
                  {COLUMNS.map(({ column, kind }) => (
                    <th key={column} scope="col" class={kind} aria-sort={order.column === column ? (order.down ? "descending" : "ascending") : "none"}>
                      <button type="button" class="sort" onClick={() => sort(next(order, column))}>
                        {heading(column)}
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
                {l10n.t("Show all {0}", rows.length)}
              </button>
            </div>
          )}
          {all && report.left_out > 0 && <p class="none">{leftOut(report.left_out)}</p>}
        </>
      )}
    </Section>
  );
}

function leftOut(variants: number): string {
  return variants === 1 ? l10n.t("1 more variant isn't listed: it comes after these.") : l10n.t("{0} more variants aren't listed: they come after these.", whole(variants));
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
            {best && <span class="tag">{l10n.t("start here")}</span>}
            {variant.decision && <span class="tag">{variant.decision === "accept" ? l10n.t("accepted") : l10n.t("rejected")}</span>}
          </div>
        </th>
        <td class={`num result ${variant.ratio ? "figure" : ""}`}>
          {worth(variant)}
          {variant.ratio && <div class="under">{interval(variant.ratio)}</div>}
          {variant.tier && <div class="under">{l10n.t("predicted")}</div>}
          <div class="under narrower">{stateWords(variant.state)}</div>
        </td>
        <td class={variant.state === "verified" ? "state wider good" : "state wider"}>{stateWords(variant.state)}</td>
        <td class="num wider">{variant.parent || l10n.t("original")}</td>
      </tr>
      <tr id={id} hidden={!open} class="more">
        <td colSpan={COLUMNS.length}>{open && <More variant={variant} host={host} />}</td>
      </tr>
    </tbody>
  );
}

function More({ variant, host }: { variant: Variant; host: Host }) {
  const tell = (does: "apply" | "compare" | "explain" | "copyPatch"): void => host.tell({ type: "variant", does, variant: variant.number });
  return (
    <div class="details" role="group" aria-label={l10n.t("Variant {0}", variant.number)}>
      {host.acts && (
        <div class="buttons">
          {!NOT_OFFERED.includes(variant.state) && (
            <button type="button" class="primary" onClick={() => tell("apply")}>
              {l10n.t("Review in editor")}
            </button>
          )}
          <button type="button" onClick={() => tell("compare")}>
            {l10n.t("Compare")}
          </button>
          <button type="button" onClick={() => tell("explain")}>
            {l10n.t("Explain")}
          </button>
          {variant.patch && (
            <button type="button" onClick={() => tell("copyPatch")}>
              {l10n.t("Copy patch")}
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
        <p class="none">{host.acts ? l10n.t("There are too many variants to describe each here; Explain does it.") : l10n.t("There are too many variants to describe each here.")}</p>
      )}
      {variant.reason && <p>{variant.reason}</p>}
      {variant.figures && <FiguresTable figures={variant.figures} variant={variant.number} />}
      <p class="under">
        {origin(variant).join(" · ")}
      </p>
      {variant.patch && <Patch text={variant.patch} />}
    </div>
  );
}

function origin({ trial, parameters: given, numerics, author, cluster }: Variant): string[] {
  const of = [l10n.t("trial {0}", trial), parameters(given), l10n.t("numerics {0}", numerics), l10n.t("written by {0}", author)];
  return [...of, cluster === null ? "" : l10n.t("cluster {0}", cluster)].filter(Boolean);
}
