/** How much a run may spend: offered, remembered, typed in. */

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
  const parts = [trials === null ? "" : `${trials} trial${trials === 1 ? "" : "s"}`, seconds === null ? "" : seconds % 60 || seconds < 120 ? `${seconds} s` : `${seconds / 60} min`];
  return parts.filter(Boolean).join(" or ");
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

/** What is offered, the one that was used last first. */
export function offers(last: Budget | undefined): Budget[] {
  const others = OFFERED.filter((budget) => !same(budget, last));
  return last ? [last, ...others] : [...OFFERED];
}

function same(one: Budget, other: Budget | undefined): boolean {
  return one.trials === other?.trials && one.seconds === other.seconds;
}
