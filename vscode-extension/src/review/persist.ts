/** Reviews as the editor keeps them over a reload: with the text before, and a hash of the text that they fit. */
import { idOf, Review, type Judged, type Told } from "./review.ts";
import { linesOf } from "./lines.ts";
import { hashOf, TrackedText, type Hunk, type Region } from "./track.ts";

export interface KeptReview {
  told: Told;
  kept: number[];
  judged?: Judged;
  files: { uri: string; baseline: string; hash: string; hunks: (Hunk & Region)[] }[];
}

const MOST = 20; // reviews; older ones are of files that were never opened again

export function toKept(review: Review): KeptReview {
  const { own } = review;
  return {
    told: review.told,
    kept: [...review.kept],
    ...(own ? { judged: own } : {}),
    files: review.files.map(({ uri, baseline, text }) => ({
      uri,
      baseline,
      hash: text.hash,
      hunks: text.hunks.map((hunk, at) => ({ ...hunk, ...(text.regions[at] ?? { start: 0, end: 0, lost: true }) })),
    })),
  };
}

/** The review, where every text is as it was when it was kept. `texts`: by URI. */
export function fromKept({ told, kept, judged, files }: KeptReview, texts: ReadonlyMap<string, string>): Review | undefined {
  const own = [];
  for (const { uri, baseline, hash, hunks } of files) {
    const text = texts.get(uri);
    if (text === undefined || hashOf(linesOf(text)) !== hash) return undefined;
    const regions = hunks.map(({ start, end, lost }) => ({ start, end, lost }));
    const plain = hunks.map(({ step, was, now }) => ({ step, was, now }));
    own.push({ uri, baseline, text: new TrackedText(text, plain, regions) });
  }
  return new Review(told, own, kept, judged);
}

/** Where files are, by where they were; of a folder with all that is in it. */
export type Moves = readonly (readonly [from: string, to: string])[];

function now(uri: string, moves: Moves): string {
  const move = moves.find(([from]) => uri === from || uri.startsWith(`${from}/`));
  return move ? move[1] + uri.slice(move[0].length) : uri;
}

export function isMoved({ told, files }: KeptReview, moves: Moves): boolean {
  return [told.uri, ...files.map(({ uri }) => uri)].some((uri) => now(uri, moves) !== uri);
}

/** With its files where they are now. */
export function moved(kept: KeptReview, moves: Moves): KeptReview {
  const { told, files } = kept;
  return { ...kept, told: { ...told, uri: now(told.uri, moves) }, files: files.map((file) => ({ ...file, uri: now(file.uri, moves) })) };
}

/** The newest ones of each variant in each file. */
export function newest(all: readonly KeptReview[]): KeptReview[] {
  const seen = new Map<string, KeptReview>();
  for (const one of all) {
    const id = idOf(one.told);
    seen.delete(id);
    seen.set(id, one);
  }
  return [...seen.values()].slice(-MOST);
}
