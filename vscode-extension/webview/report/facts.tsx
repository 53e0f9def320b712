/** What the run was, and what it cost: what a figure is worth nothing without. */
import type { ComponentChildren } from "preact";
import { count, date, duration, fixed, NOTHING } from "../../src/report/format.ts";
import type { Report } from "../../src/report/shape.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";

const VERSIONS: Record<string, string> = { kernelband: "KernelBand", triton: "Triton", torch: "torch", python: "Python", cuda: "CUDA", driver: "driver", ptxas: "ptxas" };

const AUTHORS: Record<string, string> = { rewriter: "the rewriter", model: "a model", both: "the rewriter and a model" };

export function CostSection({ report }: { report: Report }) {
  const { cost } = report.run;
  const clock = Object.entries(cost.clock_s).sort(([, a], [, b]) => b - a);
  const { model } = cost;
  return (
    <Section title="Cost">
      <dl class="facts">
        <Fact name="Time">
          {duration(cost.seconds_s)}
          {cost.seconds_per_trial_s !== null && `, ${duration(cost.seconds_per_trial_s)} a trial`}
        </Fact>
        <Fact name="Model">
          {model
            ? `${model.name}: ${count(model.calls, "call")}, ${fixed(model.tokens_read, 0)} tokens read, ${fixed(model.tokens_written, 0)} written, ${model.dollars === null ? "its price wasn't given" : `$${model.dollars.toFixed(2)}`}`
            : "none was asked"}
        </Fact>
      </dl>
      {clock.length > 0 && (
        <Disclosed words="Where the time went">
          <Wide label="Where the time went">
            <table>
              <caption class="heard">Where the time went</caption>
              <Columns names={["Work", { number: "Time (s)" }]} />
              <tbody>
                {clock.map(([name, seconds]) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td class="num">{fixed(seconds, 1)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
          <p class="under">What begins with “background” went on beside the others.</p>
        </Disclosed>
      )}
    </Section>
  );
}

export function RunSection({ report }: { report: Report }) {
  const { run } = report;
  const versions = Object.entries(run.versions).flatMap(([name, version]) => (version ? [`${VERSIONS[name] ?? name} ${version}`] : []));
  const budget = [run.trials_budget === null ? "" : count(run.trials_budget, "trial"), run.seconds_budget_s === null ? "" : duration(run.seconds_budget_s)].filter(Boolean);
  return (
    <Section title="Run">
      <dl class="facts">
        <Fact name="File">
          <code>{run.path}</code>
        </Fact>
        <Fact name="Device">{run.mode === "measured" ? run.gpu || run.device : `predicted for ${run.device}, which need not be there`}</Fact>
        <Fact name="Begun">
          {date(run.created_s)}
          {run.ended_s !== null && `, ended ${date(run.ended_s)}`}
        </Fact>
        <Fact name="Search">
          {run.against ? `one edit judged against ${run.against}` : `${run.policy} policy, seed ${run.seed}`}, for {run.objective === "device" ? "device time" : "call time"}; variants written by {AUTHORS[run.author] ?? run.author}
        </Fact>
        <Fact name="Budget">{budget.join(" or ") || NOTHING}</Fact>
        {run.entry && (
          <Fact name="Shown at work by">
            <code>{run.entry}</code>
          </Fact>
        )}
        <Fact name="Versions">{versions.join(", ")}</Fact>
        <Fact name="Run">
          <code>{run.id}</code>
        </Fact>
      </dl>
    </Section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Proposals that were never executed. */
export function DroppedSection({ report }: { report: Report }) {
  const failed = report.dropped.filter(({ outcome }) => outcome !== "duplicate");
  if (!failed.length) return null;
  return (
    <Section title="Never executed">
      <Disclosed words={`Show ${count(failed.length, "proposal")}`}>
        <Wide label="Proposals that were never executed">
          <table>
            <caption class="heard">Proposals that were never executed</caption>
            <Columns names={["Move", { number: "Made from" }, "Outcome", "Reason"]} />
            <tbody>
              {failed.map(({ move, parent, outcome, reason }, index) => (
                <tr key={index}>
                  <th scope="row">
                    <code>{move}</code>
                  </th>
                  <td class="num">{parent || "original"}</td>
                  <td>{outcome.replaceAll("_", " ")}</td>
                  <td>{reason || NOTHING}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      </Disclosed>
    </Section>
  );
}
