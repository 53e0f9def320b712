/** What the run was, and what it cost: what a figure is worth nothing without. */
import * as l10n from "@vscode/l10n";
import type { ComponentChildren } from "preact";
import { date, duration, fixed, NOTHING, whole } from "../../src/report/format.ts";
import type { About, ModelCost, Report } from "../../src/report/shape.ts";
import { authorWords } from "../../src/report/words.ts";
import { Columns, Disclosed, Section, Wide } from "./parts.tsx";

const VERSIONS: Record<string, string> = { kernelband: "KernelBand", triton: "Triton", torch: "torch", python: "Python", cuda: "CUDA", ptxas: "ptxas" };

export function CostSection({ report }: { report: Report }) {
  const { cost } = report.run;
  const clock = Object.entries(cost.clock_s).sort(([, a], [, b]) => b - a);
  const { model } = cost;
  return (
    <Section title={l10n.t("Cost")}>
      <dl class="facts">
        <Fact name={l10n.t("Time")}>
          {cost.seconds_per_trial_s === null ? duration(cost.seconds_s) : l10n.t("{0}, {1} a trial", duration(cost.seconds_s), duration(cost.seconds_per_trial_s))}
        </Fact>
        {cost.to_verified_s !== null && <Fact name={l10n.t("First verified after")}>{duration(cost.to_verified_s)}</Fact>}
        {cost.to_checked_s !== null && <Fact name={l10n.t("First checked after")}>{duration(cost.to_checked_s)}</Fact>}
        <Fact name={l10n.t("Model")}>{model ? asked(model) : l10n.t("none was asked")}</Fact>
      </dl>
      {clock.length > 0 && (
        <Disclosed words={l10n.t("Where the time went")}>
          <Wide label={l10n.t("Where the time went")}>
            <table>
              <caption class="heard">{l10n.t("Where the time went")}</caption>
              <Columns names={[l10n.t("Work"), { number: l10n.t("Time (s)") }]} />
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
          <p class="under">{l10n.t("What begins with “background” ran in parallel to the rest.")}</p>
        </Disclosed>
      )}
    </Section>
  );
}

function asked({ name, calls, tokens_read, tokens_written, dollars }: ModelCost): string {
  const price = dollars === null ? l10n.t("its price wasn't given") : `$${dollars.toFixed(2)}`;
  const [read, written] = [whole(tokens_read), whole(tokens_written)];
  if (calls === 1) return l10n.t("{0}: 1 call, {1} tokens read, {2} written, {3}", name, read, written, price);
  return l10n.t("{0}: {1} calls, {2} tokens read, {3} written, {4}", name, whole(calls), read, written, price);
}

export function RunSection({ report }: { report: Report }) {
  const { run } = report;
  const versions = Object.entries(run.versions).flatMap(([name, version]) => (version ? [`${name === "driver" ? l10n.t("driver") : (VERSIONS[name] ?? name)} ${version}`] : []));
  return (
    <Section title={l10n.t("Run")}>
      <dl class="facts">
        <Fact name={l10n.t("File")}>
          <code>{run.path}</code>
        </Fact>
        <Fact name={l10n.t("Device")}>{run.mode === "measured" ? run.gpu || run.device : l10n.t("predicted for {0}; no GPU was used", run.device)}</Fact>
        <Fact name={l10n.t("Begun")}>{run.ended_s === null ? date(run.created_s) : l10n.t("{0}, ended {1}", date(run.created_s), date(run.ended_s))}</Fact>
        <Fact name={l10n.t("Search")}>{search(run)}</Fact>
        <Fact name={l10n.t("Budget")}>{budget(run)}</Fact>
        {run.entry && (
          <Fact name={l10n.t("Entry")}>
            <code>{run.entry}</code>
          </Fact>
        )}
        <Fact name={l10n.t("Versions")}>{versions.join(", ")}</Fact>
        <Fact name={l10n.t("Run")}>
          <code>{run.id}</code>
        </Fact>
      </dl>
    </Section>
  );
}

function search({ against, policy, seed, objective, author }: About): string {
  const how = against ? l10n.t("one edit judged against {0}", against) : l10n.t("{0} policy, seed {1}", policy, seed);
  const who = authorWords(author);
  return objective === "device" ? l10n.t("{0}, for device time; variants written by {1}", how, who) : l10n.t("{0}, for call time; variants written by {1}", how, who);
}

function budget({ trials_budget: most, seconds_budget_s: seconds }: About): string {
  const trials = most === null ? "" : most === 1 ? l10n.t("1 trial") : l10n.t("{0} trials", whole(most));
  const time = seconds === null ? "" : duration(seconds);
  return trials && time ? l10n.t("{0} or {1}", trials, time) : trials || time || NOTHING;
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
  const title = l10n.t("Proposals that were never executed");
  return (
    <Section title={l10n.t("Never executed")}>
      <Disclosed words={failed.length === 1 ? l10n.t("Show 1 proposal") : l10n.t("Show {0} proposals", whole(failed.length))}>
        <Wide label={title}>
          <table>
            <caption class="heard">{title}</caption>
            <Columns names={[l10n.t({ message: "Move", comment: "A noun: a way to change a kernel" }), { number: l10n.t("Made from") }, l10n.t("Outcome"), l10n.t("Reason")]} />
            <tbody>
              {failed.map(({ move, parent, outcome, reason }, index) => (
                <tr key={index}>
                  <th scope="row">
                    <code>{move}</code>
                  </th>
                  <td class="num">{parent || l10n.t("original")}</td>
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
