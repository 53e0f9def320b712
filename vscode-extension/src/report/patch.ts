/** A patch as rows with the numbers of its lines. */
import * as l10n from "@vscode/l10n";
import { parsePatch, type StructuredPatch } from "diff";

export interface Row {
  kind: "added" | "removed" | "same";
  /** Line numbers, from 1; null on the side where the line isn't. */
  before: number | null;
  after: number | null;
  text: string;
}

export interface Hunk {
  heading: string;
  rows: Row[];
}

export interface FilePatch {
  path: string;
  hunks: Hunk[];
  added: number;
  removed: number;
}

const KINDS: Record<string, Row["kind"]> = { "+": "added", "-": "removed", " ": "same" };

/** Undefined for what is no unified diff; it is shown as it is then. */
export function patchRows(text: string): FilePatch[] | undefined {
  let parsed;
  try {
    parsed = parsePatch(text);
  } catch {
    return undefined; // the library's word for it, and all that there is to know
  }
  const files = parsed.filter(({ hunks }) => hunks.length);
  return files.length ? files.map(rowsOf) : undefined;
}

function rowsOf(file: StructuredPatch): FilePatch {
  const hunks = file.hunks.map((hunk) => {
    let before = hunk.oldStart;
    let after = hunk.newStart;
    const rows: Row[] = [];
    for (const line of hunk.lines) {
      const kind = KINDS[line.charAt(0)];
      if (!kind) continue; // "\ No newline at end of file"
      rows.push({ kind, before: kind === "added" ? null : before++, after: kind === "removed" ? null : after++, text: line.slice(1).replace(/\r$/, "") });
    }
    return { heading: l10n.t("Lines {0} to {1}", hunk.oldStart, Math.max(hunk.oldStart, before - 1)), rows };
  });
  const all = hunks.flatMap(({ rows }) => rows);
  return {
    path: (file.newFileName ?? file.oldFileName ?? "").replace(/^[ab]\//, ""),
    hunks,
    added: all.filter(({ kind }) => kind === "added").length,
    removed: all.filter(({ kind }) => kind === "removed").length,
  };
}
