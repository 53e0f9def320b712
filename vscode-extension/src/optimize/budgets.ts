/** How much a run may spend: offered, remembered, typed in. */
import * as l10n from "@vscode/l10n";

/** At least one is a number. `trials`: variants that are executed. `seconds`: of the search. */
export interface Budget {
  trials: number | null;
  seconds: number | null;
}

export const OFFERED: readonly Budget[] = [
  { trials: null, seconds: 60 },
  { trials: 20, seconds: null },
  { trials: null, seconds: 300 },
  { trials: 100, seconds: null },
];

/** `20 trials`, `60 s`, `20 trials or 60 s`. */
export function words({ trials, seconds }: Budget): string {
  const counted = trials === null ? "" : trials === 1 ? l10n.t("1 trial") : l10n.t("{0} trials", trials);
  const timed = seconds === null ? "" : seconds % 60 || seconds < 120 ? l10n.t("{0} s", seconds) : l10n.t("{0} min", seconds / 60);
  return counted && timed ? l10n.t("{0} or {1}", counted, timed) : counted || timed;
}

/** What a person typed, such as `20`, `20 trials`, `90 s`, `5 min` or `20 trials, 2 min`; undefined if it is no budget. */
export function read(text: string): Budget | undefined {
  const parts = text.trim().toLowerCase().split(/\s*(?:,|\bor\b)\s*/);
  const budget: Budget = { trials: null, seconds: null };
  for (const part of parts) {
    const found = /^(\d{1,6}(?:\.\d+)?)\s*(trials?|s|sec|seconds?|min|minutes?|)$/.exec(part);
    const number = Number(found?.[1]);
    if (!found || !(number > 0)) return undefined;
    const unit = found[2] ?? "";
    if (unit === "" || unit.startsWith("trial")) {
      if (!Number.isInteger(number) || budget.trials !== null) return undefined;
      budget.trials = number;
    } else {
      if (budget.seconds !== null) return undefined;
      budget.seconds = unit.startsWith("min") ? number * 60 : number;
    }
  }
  return budget;
}

/** What settings say, of whatever kind they are; undefined where they say none. */
export function ofSettings(trials: unknown, seconds: unknown): Budget | undefined {
  const budget = { trials: positive(trials), seconds: positive(seconds) };
  return budget.trials === null && budget.seconds === null ? undefined : budget;
}

function positive(value: unknown): number | null {
  return typeof value === "number" && value > 0 ? value : null;
}

/** A budget that was picked, and what the settings said then: once they say something else, that is the user's newer word. */
export interface Remembered {
  budget: Budget;
  settings: Budget | null;
}

/** What was picked last, as long as it counts. */
export function last(remembered: Remembered | undefined, settings: Budget | undefined): Budget | undefined {
  if (!remembered) return undefined;
  const unchanged = remembered.settings && settings ? same(remembered.settings, settings) : !remembered.settings && !settings;
  return unchanged ? remembered.budget : undefined;
}

export interface Offer {
  budget: Budget;
  of: "last" | "settings" | "us";
}

/** What is offered, each once: what a run without a question would have, then what the settings say, then ours. */
export function offers(last: Budget | undefined, settings: Budget | undefined): [Offer, ...Offer[]] {
  const all: Offer[] = OFFERED.map((budget) => ({ budget, of: "us" }));
  if (settings) all.unshift({ budget: settings, of: "settings" });
  if (last) all.unshift({ budget: last, of: settings && same(last, settings) ? "settings" : "last" });
  return all.filter(({ budget }, at) => all.findIndex((other) => same(other.budget, budget)) === at) as [Offer, ...Offer[]];
}

function same(one: Budget, other: Budget): boolean {
  return one.trials === other.trials && one.seconds === other.seconds;
}
