/** Where the hunks of a variant are in a text that is edited on: moved along with edits elsewhere, and known again after an undo. */
import { createHash } from "node:crypto";
import { linesOf, spliced, splices, type Change, type Splice } from "./lines.ts";

/** Lines of the original (`was`) that became others in the variant (`now`); `step`: the one that made it. */
export interface Hunk {
  readonly step: number;
  readonly was: readonly string[];
  readonly now: readonly string[];
}

/** Lines `start` to `end` (excluded) of the text. Lost: an edit went across its border, so nothing may be put there any more. */
export interface Region {
  readonly start: number;
  readonly end: number;
  readonly lost: boolean;
}

/** `in`: the lines are the variant's; `out`: the original's; `edited`: neither, or the place is lost. */
export type State = "in" | "out" | "edited";

/** A region in the middle of an event: lines from `low` and up to `high` were put right before and after it, and may belong to it. */
type Open = Region & { low: number; high: number };

const MOST_KNOWN = 2000; // texts that an undo may come back to

export class TrackedText {
  #lines: readonly string[];
  #regions: readonly Region[];
  readonly #known = new Map<string, readonly Region[]>();

  /** `regions`: one for each hunk, in order, apart from each other. */
  constructor(
    text: string,
    readonly hunks: readonly Hunk[],
    regions: readonly Region[],
  ) {
    this.#lines = linesOf(text);
    this.#regions = regions;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  get regions(): readonly Region[] {
    return this.#regions;
  }

  /** Of the text; line ends don't count. */
  get hash(): string {
    return hashOf(this.#lines);
  }

  get states(): State[] {
    return this.hunks.map((hunk, at) => stateOf(this.#lines, hunk, this.#regions[at] ?? NOWHERE));
  }

  /** The edits of one event, as VS Code orders them: each fits the text that those before it leave. */
  change(changes: readonly Change[]): void {
    let lines = this.#lines;
    let open: Open[] = this.#regions.map((r) => ({ ...r, low: r.start, high: r.end }));
    for (const change of changes) {
      for (const splice of splices(lines, change)) {
        open = open.map((region) => moved(region, splice));
        lines = spliced(lines, splice);
      }
    }
    const regions = this.hunks.map((hunk, at) => settled(lines, hunk, open[at] ?? { ...NOWHERE, low: 0, high: 0 }));
    this.#remember();
    this.#lines = lines;
    this.#regions = this.#known.get(this.hash) ?? regions;
  }

  /** The text with the original's lines in place of the hunks that `wanted` names, as splices, the last one first. */
  undone(wanted: (hunk: Hunk) => boolean): Splice[] {
    const found: Splice[] = [];
    this.hunks.forEach((hunk, at) => {
      const { start, end, lost } = this.#regions[at] ?? NOWHERE;
      if (!lost && wanted(hunk)) found.push({ at: start, removed: end - start, lines: [...hunk.was] });
    });
    return found.filter(({ at, removed, lines }) => !same(this.#lines.slice(at, at + removed), lines)).sort((a, b) => b.at - a.at || b.removed - a.removed);
  }

  /** An undo leads back to a text that was there: then the hunks are where they were, which the edit alone need not tell. */
  #remember(): void {
    const oldest = this.#known.size >= MOST_KNOWN ? this.#known.keys().next().value : undefined;
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(this.hash, this.#regions);
  }
}

const NOWHERE: Region = { start: 0, end: 0, lost: true };

export function hashOf(lines: readonly string[]): string {
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, at) => line === other[at]);
}

function stateOf(lines: readonly string[], { was, now }: Hunk, { start, end, lost }: Region): State {
  const here = lines.slice(start, end);
  return lost ? "edited" : same(here, now) ? "in" : same(here, was) ? "out" : "edited";
}

function moved(region: Open, { at, removed, lines }: Splice): Open {
  const { low, start, end, high, lost } = region;
  const until = at + removed;
  const by = lines.length - removed;
  if (until < low || (until === low && removed)) return { low: low + by, start: start + by, end: end + by, high: high + by, lost };
  if (at > high || (at === high && removed)) return region;
  if (!removed && at <= start) return { low: Math.min(low, at), start: start + by, end: end + by, high: high + by, lost };
  if (!removed && at >= end) return { low, start, end, high: high + by, lost };
  if (at >= start && until <= end) return { low, start, end: end + by, high: high + by, lost };
  // what is left of it, after the lines that came
  const from = at < start ? at + lines.length : start;
  const to = until > end ? Math.max(from, Math.min(at, end)) : end + by;
  return { low: from, start: from, end: to, high: to, lost: true };
}

/** Lines put at its borders belong to it where they make it one of its two texts. */
function settled(lines: readonly string[], { was, now }: Hunk, { low, start, end, high, lost }: Open): Region {
  const choices = [
    [low, high],
    [low, end],
    [start, high],
    [start, end],
  ] as const;
  const fits = ([from, to]: readonly [number, number]): boolean => to > from && [now, was].some((side) => same(lines.slice(from, to), side));
  const [from, to] = (lost ? undefined : choices.find(fits)) ?? choices[3];
  return { start: from, end: to, lost };
}
