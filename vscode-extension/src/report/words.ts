/** The server's words that are one of a closed list, as people read them; another one stays as it is. */
import * as l10n from "@vscode/l10n";
import type { About, Arm, Point, Tier, VariantState } from "./shape.ts";

export function tierWords(tier: Tier): string {
  const words: Record<string, string> = {
    "likely faster": l10n.t("likely faster"),
    unclear: l10n.t("unclear"),
    "likely slower": l10n.t("likely slower"),
  } satisfies Record<Tier, string>;
  return words[tier] ?? tier;
}

export function modeWords(mode: About["mode"]): string {
  return mode === "measured" ? l10n.t("measured") : l10n.t("predicted");
}

/** With a tick where it was verified. */
export function stateWords(state: VariantState): string {
  const words: Record<string, string> = {
    verified: l10n.t("✓ verified"),
    "not verified": l10n.t("not verified"),
    screened: l10n.t("screened"),
    checked: l10n.t("checked"),
    equal: l10n.t("same machine code"),
    wrong: l10n.t("wrong"),
    nondeterministic: l10n.t("nondeterministic"),
    untested: l10n.t("untested"),
    rejected: l10n.t("rejected"),
    suspect: l10n.t("suspect"),
    failed: l10n.t("failed"),
  } satisfies Record<VariantState, string>;
  return words[state] ?? state;
}

export function armWords(state: Arm["state"]): string {
  const words: Record<string, string> = { open: l10n.t("open"), masked: l10n.t("masked"), exhausted: l10n.t("exhausted") } satisfies Record<Arm["state"], string>;
  return words[state] ?? state;
}

/** How a point of the roofline is known. */
export function knownBy({ how, stage }: Point): string {
  if (how !== "measured") return modeWords(how);
  if (stage === "baseline") return l10n.t("measured (baseline)");
  return stage === "screening" ? l10n.t("measured (screening)") : l10n.t("measured (final)");
}

/** Who wrote a run's variants. */
export function authorWords(author: string): string {
  const words: Record<string, string> = { rewriter: l10n.t("the rewriter"), model: l10n.t("a model"), both: l10n.t("the rewriter and a model") };
  return words[author] ?? author;
}
