/** The rows of *Optimize*: what the run will do, each with what it stands at now. */
import * as l10n from "@vscode/l10n";
import type { Environment, Plan } from "../protocol.ts";
import { environmentWords, shortPath, type EnvironmentWords } from "../status/words.ts";
import { words, type Budget } from "./budgets.ts";
import { about, because, estimate } from "./estimate.ts";

export type Does = "start" | "trust" | "python" | "entry" | "device" | "budget";

export interface Row {
  does: Does;
  label: string;
  description: string;
  detail: string;
}

/** What is known so far. `environment`: a sentence where it couldn't be looked at, undefined until it was. `mayRun`: without a question. */
export interface Known {
  plan: Plan | undefined;
  environment: Environment | string | undefined;
  mayRun: boolean;
  isFile: boolean;
  python: string;
  budget: Budget;
}

/** What stands in the way of a start, so that Enter leads there; undefined for nothing. */
export function obstacle({ plan, environment, mayRun }: Known): Does | undefined {
  if (!mayRun) return "trust";
  if (typeof environment === "object" && environmentWords(environment).broken) return "python";
  return plan && plan.entry.entry === null ? "entry" : undefined;
}

/** The first one begins, or leads to what is missing. */
export function rows(known: Known): Row[] {
  const { plan, environment, budget } = known;
  const found = typeof environment === "object" ? environmentWords(environment) : undefined;
  const pace = plan?.pace ?? null;
  const python: Row = { does: "python", label: l10n.t("Python"), description: shortPath(plan?.worker ?? known.python), detail: ofPython(known, found) };
  const entry: Row = { does: "entry", label: l10n.t("Entry"), description: plan?.entry.entry ?? ofNoEntry(plan), detail: ofEntry(plan) };
  const device: Row = { does: "device", label: l10n.t("Device"), description: ofDevice(plan, found), detail: "" };
  const spent: Row = { does: "budget", label: l10n.t("Budget"), description: words(budget), detail: because(budget, pace) };
  const trust: Row = known.isFile
    ? { does: "trust", label: l10n.t("Trust"), description: l10n.t("nothing of this folder runs yet"), detail: "" }
    : { does: "trust", label: l10n.t("File"), description: l10n.t("not saved: nothing of it runs yet"), detail: "" };
  return [start(known, found), ...(known.mayRun ? [] : [trust]), python, entry, device, spent];
}

function start(known: Known, found: EnvironmentWords | undefined): Row {
  const { plan, budget } = known;
  const trust = known.isFile ? l10n.t("trust the folder first") : l10n.t("save the file first");
  const missing = { trust, python: l10n.t("choose a Python first"), entry: l10n.t("choose an entry first") };
  const stands = obstacle(known) as keyof typeof missing | undefined;
  const sum = [words(budget), plan?.pace ? about(estimate(budget, plan.pace)) : ""].filter(Boolean).join(" · ");
  const where = found && !found.broken ? [found.aboutPackages, found.packages, ofDevice(plan, found)].filter(Boolean).join(" · ") : "";
  return { does: "start", label: l10n.t("$(rocket) Start"), description: stands ? missing[stands] : sum, detail: where };
}

function ofPython({ environment, mayRun }: Known, found: EnvironmentWords | undefined): string {
  if (!mayRun) return l10n.t("Not looked at: this runs it");
  if (typeof environment === "string") return environment;
  if (!found) return l10n.t("$(loading~spin) Looking for torch, Triton and a GPU");
  return found.broken ? l10n.t("$(warning) {0}: choose one that has torch and Triton", found.packages) : [found.packages, found.aboutPackages].filter(Boolean).join(" · ");
}

function ofNoEntry(plan: Plan | undefined): string {
  return plan ? l10n.t("nothing yet: choose or write one") : l10n.t("$(loading~spin) looking for a test or a benchmark");
}

function ofEntry(plan: Plan | undefined): string {
  if (!plan) return "";
  const { how, others, why } = plan.entry;
  if (plan.entry.entry === null) return why.replace(/(?<=\.)\s.*$/s, ""); // the rest says how to name one
  switch (how) {
    case "chosen":
      return l10n.t("Chosen by you");
    case "settings":
      return l10n.t("From the setting kernelband.entry");
    case "repository":
      return l10n.t("From pyproject.toml");
    case "found":
      return others ? l10n.t("The nearest one that was found; others are tried where it doesn't do") : l10n.t("The one that was found");
    default:
      return "";
  }
}

function ofDevice(plan: Plan | undefined, found: EnvironmentWords | undefined): string {
  if (!plan) return "";
  const predicted = l10n.t("no GPU: predicted for {0}", plan.predicts);
  if (plan.worker) return found ? `${plan.worker}: ${found.hasGpu ? found.gpu : predicted}` : plan.worker;
  if (plan.gpu !== null && !found?.hasGpu) return predicted;
  return !found || found.broken ? l10n.t("this machine") : found.hasGpu ? found.gpu : predicted;
}
