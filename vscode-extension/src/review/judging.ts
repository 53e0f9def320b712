/** What came out of verifying a text, in words. */
import * as l10n from "@vscode/l10n";
import { interval, ratio } from "../report/format.ts";
import type { Report } from "../report/shape.ts";
import { capital } from "../report/standing.ts";
import { tierWords } from "../report/words.ts";
import type { Judged } from "./review.ts";
import { GIVEN } from "./runs.ts";

/** Of the variant of a run that judged one edit; undefined for another kind of run. `hash`: of the texts that are this variant. */
export function judgedBy({ run, variants }: Report, number: number, hash: string): Judged | undefined {
  const found = run.policy === GIVEN ? variants.find((variant) => variant.number === number) : undefined;
  if (!found) return undefined;
  const device = run.device.replace(/^(NVIDIA|AMD) /, "").split(" ")[0] ?? run.device;
  const verified = found.state === "verified" && found.ratio !== null;
  const figure = verified && found.ratio ? l10n.t("{0} ({1}) on {2}", ratio(found.ratio.value), interval(found.ratio), device) : undefined;
  const tier = found.tier ? l10n.t("{0} on {1} (predicted)", tierWords(found.tier), device) : undefined;
  return { hash, measured: run.mode === "measured", verified, short: figure ?? tier ?? l10n.t("not verified"), said: `${capital(run.reason).replace(/\.$/, "")}.` };
}
