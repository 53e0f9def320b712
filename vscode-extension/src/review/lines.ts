/** Texts as lines, as LSP and VS Code have them, and an edit of characters as whole lines that took the place of others. */
import { diffArrays } from "diff";

/** One edit, as VS Code tells of it: positions in the text before it. */
export interface Change {
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
  text: string;
}

/** Lines from `at` were taken out, `removed` of them, and `lines` put there. */
export interface Splice {
  at: number;
  removed: number;
  lines: string[];
}

const MOST_EDITS = 1000; // of lines, within one change; of more, all between the first and the last counts as one

/** What stands between line ends: one more than those, so the last one may be empty. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}

/** The lines with a splice made. */
export function spliced(lines: readonly string[], { at, removed, lines: put }: Splice): string[] {
  return [...lines.slice(0, at), ...put, ...lines.slice(at + removed)];
}

/** The splices that a change makes of the lines before it, the last one first: in this order each fits the text that it meets. */
export function splices(before: readonly string[], { range, text }: Change): Splice[] {
  const { start, end } = range;
  const head = (before[start.line] ?? "").slice(0, start.character);
  const tail = (before[end.line] ?? "").slice(end.character);
  const put = linesOf(head + text + tail);
  const next = end.line + 1;
  if (!head && !end.character && (!text || /[\r\n]$/.test(text))) return compared(before.slice(start.line, end.line), put.slice(0, -1), start.line);
  const afterLine = start.character === before[start.line]?.length && !tail && (!text || /^[\r\n]/.test(text));
  if (afterLine) return compared(before.slice(start.line + 1, next), put.slice(1), start.line + 1);
  return compared(before.slice(start.line, next), put, start.line);
}

/** How the lines `old`, which begin at line `at`, became `put`. */
function compared(old: string[], put: string[], at: number): Splice[] {
  if (!old.length || !put.length) return old.length || put.length ? [{ at, removed: old.length, lines: put }] : [];
  const parts = diffArrays(old, put, { maxEditLength: MOST_EDITS });
  if (!parts) return [{ at, removed: old.length, lines: put }];
  const found: Splice[] = [];
  let line = at;
  let open: Splice | undefined;
  for (const { added, removed, value } of parts) {
    if (!added && !removed) {
      line += value.length;
      open = undefined;
      continue;
    }
    if (!open) found.push((open = { at: line, removed: 0, lines: [] }));
    if (added) open.lines.push(...value);
    else {
      open.removed += value.length;
      line += value.length;
    }
  }
  return found.reverse();
}

/** An edit of characters that makes a splice, where lines end in `eol`. */
export function changeOf(lines: readonly string[], { at, removed, lines: put }: Splice, eol: string): Change {
  const place = (line: number, character: number): { line: number; character: number } => ({ line, character });
  const last = lines.length - 1;
  if (at + removed <= last) return { range: { start: place(at, 0), end: place(at + removed, 0) }, text: put.map((line) => line + eol).join("") };
  const end = place(last, lines[last]?.length ?? 0);
  if (at === 0) return { range: { start: place(0, 0), end }, text: put.join(eol) };
  return { range: { start: place(at - 1, lines[at - 1]?.length ?? 0), end }, text: put.map((line) => eol + line).join("") };
}
