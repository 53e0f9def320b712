/** The whole page: what came of the run first, then how, then what it cost. */
import * as l10n from "@vscode/l10n";
import { useState } from "preact/hooks";
import type { Shown } from "../../src/report/messages.ts";
import { date, NOTHING, optional, whole } from "../../src/report/format.ts";
import type { Counts, Report } from "../../src/report/shape.ts";
import { result, state } from "../../src/report/standing.ts";
import { modeWords } from "../../src/report/words.ts";
import { ArmsSection, ClustersSection } from "./arms.tsx";
import { CasesSection } from "./cases.tsx";
import { CourseSection } from "./course.tsx";
import { CostSection, DroppedSection, RunSection } from "./facts.tsx";
import type { Host, View } from "./host.ts";
import { RooflineSection } from "./roofline.tsx";
import { rowId, VariantsSection } from "./variants.tsx";

export function Page({ host, shown }: { host: Host; shown: Shown }) {
  const { report, live } = shown;
  const [view, setView] = useState<View>(() => host.view);
  const change = (part: Partial<View>): void => {
    setView({ ...view, ...part });
    host.keep(part);
  };
  const toggle = (variant: number): void => change({ open: view.open.includes(variant) ? view.open.filter((one) => one !== variant) : [...view.open, variant] });
  const look = (variant: number): void => {
    if (!view.open.includes(variant)) toggle(variant);
    const row = document.getElementById(rowId(variant));
    row?.scrollIntoView();
    row?.querySelector("button")?.focus({ preventScroll: true });
  };
  return (
    <main>
      <Top host={host} shown={shown} />
      {report && (
        <>
          <Outcome report={report} look={look} />
          <CourseSection report={report} axis={view.axis} choose={(axis) => change({ axis })} />
          <VariantsSection report={report} host={host} order={view.order} sort={(order) => change({ order })} open={view.open} toggle={toggle} />
          <CasesSection report={report} />
          <RooflineSection report={report} />
          <ArmsSection report={report} />
          <ClustersSection report={report} />
          <DroppedSection report={report} />
          <CostSection report={report} />
          <RunSection report={report} />
        </>
      )}
      {!report && live && <Progress words={live.headline} fraction={live.fraction} />}
      {shown.exported_s !== null && <footer>{l10n.t("Report of KernelBand, exported {0}.", date(shown.exported_s))}</footer>}
    </main>
  );
}

function Top({ host, shown }: { host: Host; shown: Shown }) {
  const { report, live } = shown;
  const kernel = report?.run.kernel ?? live?.kernel;
  const tell = (does: "open" | "cancel" | "resume" | "exportHtml" | "exportJson"): void => host.tell({ type: "run", does });
  // Its row says first that it has ended: the process takes a moment more.
  const going = live?.state === "running" && (report?.run.state ?? "running") === "running";
  return (
    <header>
      <div class="title">
        <h1>{kernel ? <code>{kernel}</code> : l10n.t("Report of a run")}</h1>
        {report && <span class={`badge ${report.run.mode}`}>{modeWords(report.run.mode)}</span>}
      </div>
      {report && (
        <p class="where">
          <span class="path" title={report.run.path}>
            {report.run.path.split(/[\\/]/).at(-1)}
          </span>{" "}
          · {report.run.mode === "measured" ? report.run.gpu || report.run.device : report.run.device} · {date(report.run.created_s)}
        </p>
      )}
      <p class={`standing ${report?.run.state ?? ""}`} role="status" aria-live="polite">
        {state(shown)}
      </p>
      {report && shown.problem && <p class="problem">{shown.problem}</p>}
      {going && report && <Progress words={live.headline} fraction={live.fraction} />}
      {host.acts && (
        <div class="buttons">
          {going && (
            <button type="button" onClick={() => tell("cancel")}>
              {l10n.t("Stop")}
            </button>
          )}
          {report && report.run.state === "interrupted" && (
            <button type="button" onClick={() => tell("resume")}>
              {l10n.t("Resume")}
            </button>
          )}
          {report && (
            <>
              <button type="button" onClick={() => tell("open")}>
                {l10n.t("Open file")}
              </button>
              <button type="button" onClick={() => tell("exportHtml")}>
                {l10n.t("Export HTML")}
              </button>
              <button type="button" onClick={() => tell("exportJson")}>
                {l10n.t("Export JSON")}
              </button>
            </>
          )}
        </div>
      )}
    </header>
  );
}

function Progress({ words, fraction }: { words: string; fraction: number }) {
  return (
    <div class="progress">
      <progress max={1} value={fraction} aria-label={l10n.t("How much is done")} />
      <span>{words}</span>
    </div>
  );
}

function Outcome({ report, look }: { report: Report; look: (variant: number) => void }) {
  const { worth, known, variant } = result(report);
  return (
    <section class="outcome" aria-label={l10n.t("Outcome")}>
      <div class="best">
        <p class={variant?.ratio ? "worth figure" : "worth"}>{worth}</p>
        <p class="known">{known}</p>
        {variant && (
          <button type="button" class="link" onClick={() => look(variant.number)}>
            {l10n.t("Variant {0}: {1}", variant.number, variant.title)}
          </button>
        )}
      </div>
      <Funnel counts={report.counts} predicted={report.run.mode === "predicted"} />
    </section>
  );
}

function Funnel({ counts, predicted }: { counts: Counts; predicted: boolean }) {
  const steps = [
    { name: l10n.t("Proposed"), number: optional(counts.proposed, whole) },
    { name: l10n.t("Compiled"), number: optional(counts.compiled, whole) },
    { name: l10n.t("Executed"), number: whole(counts.executed) },
    { name: l10n.t("Verified"), number: predicted ? NOTHING : whole(counts.verified) },
  ];
  const aside = [
    counts.duplicates === 1 ? l10n.t("1 duplicate") : l10n.t("{0} duplicates", whole(counts.duplicates)),
    counts.compile_errors === 1 ? l10n.t("1 compile error") : l10n.t("{0} compile errors", whole(counts.compile_errors)),
    l10n.t("{0} failed", whole(counts.failed)),
    l10n.t("{0} wrong", whole(counts.wrong)),
  ];
  return (
    <div class="funnel">
      <dl>
        {steps.map(({ name, number }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{number}</dd>
          </div>
        ))}
      </dl>
      <p class="under">
        {aside.join(" · ")}
        {predicted && `. ${l10n.t("Verification needs a GPU.")}`}
      </p>
    </div>
  );
}
