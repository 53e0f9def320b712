/** A variant that lies in one or more files for a person to look at: what of it is there, what they decided, what that is worth. */
import type { Reviewed } from "../protocol.ts";
import { linesOf, spliced, type Change, type Splice } from "./lines.ts";
import { hashOf, TrackedText, type Hunk, type Region, type State } from "./track.ts";

/** What is kept or undone together; the rest is of the variant that the text is with this step and all before it. */
export interface Step {
  readonly label: string;
  readonly variant: number;
  readonly title: string;
  readonly short: string;
  readonly why: string;
}

/** Which variant it is, and the steps that lead to it. */
export interface Told {
  readonly uri: string;
  readonly kernel: string;
  readonly run: string;
  readonly variant: number;
  readonly steps: readonly Step[];
}

/** `whole`: the text is the variant. `step`: it is the one that the first steps lead to. `edited`: somebody wrote in it. `none`: it is the original again. */
export type Standing = "whole" | "step" | "edited" | "none";

export interface ReviewedFile {
  readonly uri: string;
  /** The text before the variant was applied. */
  readonly baseline: string;
  readonly text: TrackedText;
}

/** A hunk of a file, where it is now. */
export interface Place {
  file: ReviewedFile;
  hunk: Hunk;
  region: Region;
  state: State;
  step: number;
}

/** What came out of verifying one text, which `hash` knows again. `verified`: faster, and right; `short` and `said` have its figures then. */
export interface Judged {
  readonly hash: string;
  readonly measured: boolean;
  readonly verified: boolean;
  readonly short: string;
  readonly said: string;
}

export class Review {
  readonly kept: Set<number>;
  /** The server said of exactly these texts which variant they are: a formatter may have rewritten them. */
  #confirmed = { hash: "", variant: 0 };

  constructor(
    readonly told: Told,
    readonly files: readonly ReviewedFile[],
    kept: Iterable<number> = [],
    private judged?: Judged,
  ) {
    this.kept = new Set(kept);
  }

  /** Of texts before the edit, with the variant put in. `texts`: by URI. */
  static of(answer: Reviewed, texts: ReadonlyMap<string, string>): Review {
    const { files, uri, kernel, run, variant, steps } = answer;
    const tracked = files.map(({ uri, hunks }) => {
      const baseline = texts.get(uri) ?? "";
      const old = linesOf(baseline);
      let lines: string[] = old;
      let by = 0;
      const regions = hunks.map(({ start, end, lines: put }) => {
        const region = { start: start + by, end: start + by + put.length, lost: false };
        lines = spliced(lines, { at: start + by, removed: end - start, lines: put });
        by += put.length - (end - start);
        return region;
      });
      const own = hunks.map(({ step, start, end, lines: now }) => ({ step, was: old.slice(start, end), now }));
      return { uri, baseline, text: new TrackedText(lines.join("\n"), own, regions) };
    });
    return new Review({ uri, kernel, run, variant, steps }, tracked);
  }

  /** Of this, whatever its state; of two copies of a file each has its own. */
  get id(): string {
    return idOf(this.told);
  }

  file(uri: string): ReviewedFile | undefined {
    return this.files.find((file) => file.uri === uri);
  }

  change(uri: string, changes: readonly Change[]): void {
    this.file(uri)?.text.change(changes);
  }

  get places(): Place[] {
    return this.files.flatMap((file) => {
      const { hunks, regions, states } = file.text;
      return hunks.map((hunk, at) => ({
        file,
        hunk,
        region: regions[at] ?? { start: 0, end: 0, lost: true },
        state: states[at] ?? "edited",
        step: hunk.step,
      }));
    });
  }

  /** Hunks that wait for a decision. */
  get open(): Place[] {
    return this.places.filter(({ state, step, region }) => state !== "out" && !region.lost && !this.kept.has(step));
  }

  get standing(): Standing {
    if (this.places.every(({ state }) => state === "out")) return "none";
    const { now } = this;
    return !now ? "edited" : now === this.told.steps.at(-1) ? "whole" : "step";
  }

  /** The last step of those that are in, where the text is what they lead to and nothing else. */
  get now(): Step | undefined {
    const { steps } = this.told;
    if (this.#confirmed.hash === this.hash) return steps.find(({ variant }) => variant === this.#confirmed.variant);
    const { places } = this;
    const until = steps.findIndex((_, at) => places.some(({ step, state }) => step === at && state !== "in"));
    const many = until < 0 ? steps.length : until;
    const isSo = places.every(({ step, state }) => step < many || state === "out") && this.files.every(isOtherwiseAsBefore);
    return isSo ? steps[many - 1] : undefined;
  }

  /** Of all texts. */
  get hash(): string {
    return hashOf(this.files.map(({ text }) => text.hash));
  }

  /** The server says which variant these texts are; a text that was edited since stays in doubt. */
  confirm(hash: string, variant: number): void {
    this.#confirmed = { hash, variant };
  }

  /** A text of this review was verified. */
  judge(judged: Judged): void {
    this.judged = judged;
  }

  /** What was found out about exactly these texts. */
  get own(): Judged | undefined {
    return this.judged?.hash === this.hash ? this.judged : undefined;
  }

  /** A step, and all that it was made on. */
  keep(step: number): void {
    for (let at = 0; at <= step; at++) this.kept.add(at);
  }

  /** Edits that put the original's lines back, by URI, the last one of a file first: of a step and all that was made on it. */
  undo(from = 0): Map<string, Splice[]> {
    const found = this.files.map(({ uri, text }) => [uri, text.undone(({ step }) => step >= from)] as const);
    return new Map(found.filter(([, splices]) => splices.length));
  }

  /** Whether the original can be put back without touching what else was written. */
  get isLost(): boolean {
    return this.places.some(({ region }) => region.lost);
  }

  /** Whether those of a step and of all that was made on it can't. */
  isLostFrom(step: number): boolean {
    return this.places.some((place) => place.step >= step && place.region.lost);
  }

  /** The next open hunk after that line of a file, over all files and around; `step` -1 for the one before. */
  next(uri: string, line: number, step: 1 | -1): Place | undefined {
    const open = this.open;
    const order = (place: Place): number => this.files.indexOf(place.file) * 1e7 + place.region.start;
    const here = Math.max(this.files.findIndex((file) => file.uri === uri), 0) * 1e7 + line;
    const sorted = open.sort((a, b) => order(a) - order(b));
    return step > 0 ? (sorted.find((place) => order(place) > here) ?? sorted[0]) : (sorted.findLast((place) => order(place) < here) ?? sorted.at(-1));
  }

  /** The hunk that a line is in, or the nearest one in that file. */
  at(uri: string, line: number): Place | undefined {
    const own = this.open.filter(({ file }) => file.uri === uri);
    const distance = ({ region: { start, end } }: Place): number => (line < start ? start - line : line >= end ? line - Math.max(end - 1, start) : 0);
    return own.sort((a, b) => distance(a) - distance(b))[0];
  }
}

export function idOf({ uri, kernel, run, variant }: Told): string {
  return `${run}/${variant} of ${kernel} in ${uri}`;
}

/** The review that a command is about: that of an id or of a file where one is given, and no other; else that of the file at hand; else the only one. */
export function meantBy(active: readonly Review[], by: { id: string } | { file: string } | { here: string | undefined }): Review | undefined {
  if ("id" in by) return active.find((review) => review.id === by.id);
  if ("file" in by) return active.find((review) => review.file(by.file));
  return active.find((review) => by.here !== undefined && review.file(by.here)) ?? (active.length === 1 ? active[0] : undefined);
}

/** Nothing but the hunks differs from the text before. */
function isOtherwiseAsBefore({ baseline, text }: ReviewedFile): boolean {
  const back = text.undone(() => true).reduce<readonly string[]>(spliced, text.lines);
  const before = linesOf(baseline);
  return back.length === before.length && back.every((line, at) => line === before[at]);
}

const SHOWN = /^\d+(\.\d+)?× /;

/** Whether it was measured and verified: the server gives a ratio for nothing else. */
export function isVerified({ short }: Pick<Step, "short">): boolean {
  return SHOWN.test(short);
}

/** The line of a kernel's first decorator, or of its name; undefined where it isn't in the text. */
export function headerLine(lines: readonly string[], kernel: string): number | undefined {
  const name = kernel.split(".").at(-1) ?? kernel;
  const found = lines.findIndex((line) => /^\s*def\s+(\w+)\s*[([]/.exec(line)?.[1] === name);
  if (found < 0) return undefined;
  const indent = /^\s*/.exec(lines[found] ?? "")?.[0] ?? "";
  let header = found;
  for (let line = found - 1; line >= 0; line--) {
    const text = lines[line] ?? "";
    if (text.startsWith(`${indent}@`)) header = line;
    else if (!(text.startsWith(indent) && /^[\s)\]}]/.test(text.slice(indent.length)))) break;
  }
  return header;
}
