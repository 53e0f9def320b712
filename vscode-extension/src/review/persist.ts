/** Reviews as the editor keeps them over a reload: with the text before, and a hash of the text that they fit. */
import { Review, type Told } from "./review.ts";
import { linesOf } from "./lines.ts";
import { hashOf, TrackedText, type Hunk, type Region } from "./track.ts";

export interface KeptReview {
  told: Told;
  kept: number[];
  files: { uri: string; baseline: string; hash: string; hunks: (Hunk & Region)[] }[];
}

const MOST = 20; // reviews; older ones are of files that were never opened again

export function toKept(review: Review): KeptReview {
  return {
    told: review.told,
    kept: [...review.kept],
    files: review.files.map(({ uri, baseline, text }) => ({
      uri,
      baseline,
      hash: text.hash,
      hunks: text.hunks.map((hunk, at) => ({ ...hunk, ...(text.regions[at] ?? { start: 0, end: 0, lost: true }) })),
    })),
  };
}

/** The review, where every text is as it was when it was kept. `texts`: by URI. */
export function fromKept({ told, kept, files }: KeptReview, texts: ReadonlyMap<string, string>): Review | undefined {
  const own = [];
  for (const { uri, baseline, hash, hunks } of files) {
    const text = texts.get(uri);
    if (text === undefined || hashOf(linesOf(text)) !== hash) return undefined;
    const regions = hunks.map(({ start, end, lost }) => ({ start, end, lost }));
    const plain = hunks.map(({ group, was, now }) => ({ group, was, now }));
    own.push({ uri, baseline, text: new TrackedText(text, plain, regions) });
  }
  return new Review(told, own, kept);
}

/** The newest ones of each variant. */
export function newest(all: readonly KeptReview[]): KeptReview[] {
  const seen = new Map<string, KeptReview>();
  for (const one of all) {
    const id = `${one.told.run}/${one.told.variant}`;
    seen.delete(id);
    seen.set(id, one);
  }
  return [...seen.values()].slice(-MOST);
}
