import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { changeOf, linesOf, spliced, splices, type Change } from "../src/review/lines.ts";
import { hashOf, TrackedText, type Hunk, type Region } from "../src/review/track.ts";

const line = fc.constantFrom("a", "b", "", "  c = 1", "def f():", "x");
const some = fc.array(line, { maxLength: 4 });

/** Places of a text, in order. */
function spot(lines: readonly string[], at: number): { line: number; character: number } {
  let rest = at % (lines.join("\n").length + 1);
  for (const [number, text] of lines.entries()) {
    if (rest <= text.length) return { line: number, character: rest };
    rest -= text.length + 1;
  }
  throw new Error("past the end");
}

function change(lines: readonly string[], one: number, other: number, text: string): Change {
  const [a, b] = [spot(lines, one), spot(lines, other)];
  const forwards = a.line < b.line || (a.line === b.line && a.character <= b.character);
  return { range: forwards ? { start: a, end: b } : { start: b, end: a }, text };
}

/** As an editor makes it. */
function edited(lines: readonly string[], { range: { start, end }, text }: Change): string[] {
  const head = [...lines.slice(0, start.line), (lines[start.line] ?? "").slice(0, start.character)].join("\n");
  const tail = [(lines[end.line] ?? "").slice(end.character), ...lines.slice(end.line + 1)].join("\n");
  return linesOf(head + text + tail);
}

const raw = fc.tuple(fc.nat(), fc.nat(), fc.constantFrom("", "x", "\n", "x\ny", "b\n", "\na", "a\n  c = 1\n"));

test("a change of characters is splices of lines", () => {
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 12 }), raw, (lines, [one, other, text]) => {
      const made = change(lines, one, other, text);
      assert.deepEqual(splices(lines, made).reduce(spliced, lines), edited(lines, made));
    }),
    { numRuns: 2000 },
  );
});

test("a splice of lines is a change of characters, whatever the lines end in and where the text ends", () => {
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), fc.nat(), fc.nat(), some, (lines, from, count, put) => {
      const at = from % (lines.length + 1);
      const splice = { at, removed: count % (lines.length - at + 1), lines: put };
      const wanted = spliced(lines, splice);
      if (!wanted.length) return; // no text has no line
      assert.deepEqual(edited(lines, changeOf(lines, splice, "\n")), wanted);
      const back = changeOf(lines, splice, "\r\n");
      assert.deepEqual(edited(lines, { ...back, text: back.text.replaceAll("\r\n", "\n") }), wanted);
    }),
    { numRuns: 2000 },
  );
});

/** Pieces of context, at least one line each as the server sends them, with hunks between them that each have a line of their own. */
const variant = fc
  .array(fc.record({ context: fc.array(line, { minLength: 1, maxLength: 4 }), was: some, now: some, adds: fc.boolean() }), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.map(({ adds, ...part }, at) => (adds ? { ...part, now: [...part.now, `new ${at}`] } : { ...part, was: [`old ${at}`, ...part.was] })));

interface Part {
  context: string[];
  was: string[];
  now: string[];
}

function tracked(parts: readonly Part[], last: readonly string[]): TrackedText {
  const hunks: Hunk[] = parts.map(({ was, now }, step) => ({ step, was, now }));
  const regions: Region[] = [];
  const lines: string[] = [];
  for (const { context, now } of parts) {
    lines.push(...context);
    regions.push({ start: lines.length, end: lines.length + now.length, lost: false });
    lines.push(...now);
  }
  return new TrackedText([...lines, ...last].join("\n"), hunks, regions);
}

test("edits elsewhere move hunks along, and what is undone leaves those edits alone", () => {
  const edit = fc.tuple(fc.nat(), fc.nat(), fc.nat(), some);
  fc.assert(
    fc.property(variant, fc.array(line, { minLength: 1, maxLength: 3 }), fc.array(edit, { maxLength: 8 }), (parts, last, edits) => {
      const text = tracked(parts, last);
      const contexts: string[][] = [...parts.map(({ context }) => [...context]), [...last]];
      const seen = new Set([text.hash]);
      for (const [where, from, count, put] of edits) {
        // lines in the midst of a context: what borders on a hunk stays, so that nothing can be taken for the hunk's own
        const number = where % contexts.length;
        const context = contexts[number] ?? [];
        const first = number > 0 ? 1 : 0;
        const end = number < contexts.length - 1 ? context.length - 1 : context.length;
        if (end <= first) continue;
        const at = first + (from % (end - first));
        const splice = { at, removed: count % (end - at + 1), lines: put };
        const before = parts.slice(0, number).reduce((n, { now }, i) => n + now.length + (contexts[i]?.length ?? 0), 0);
        const after = spliced(context, splice);
        if (number === contexts.length - 1 && !after.length) continue;
        const here = { ...splice, at: at + before };
        const hash = hashOf(spliced(text.lines, here));
        if (seen.has(hash)) continue; // a text that was there is an undo: the hunks are where they were in it
        seen.add(hash);
        contexts[number] = after;
        text.change([changeOf(text.lines, here, "\n")]);
      }
      assert.deepEqual(text.states, parts.map(() => "in"));
      for (let undone = 0; undone < parts.length; undone++) {
        text.change(text.undone(({ step }) => step === undone).map((splice) => changeOf(text.lines, splice, "\n")));
        const wanted = contexts.flatMap((context, i) => [...context, ...((i <= undone ? parts[i]?.was : parts[i]?.now) ?? [])]);
        assert.deepEqual(text.lines, wanted);
        assert.deepEqual(text.states, parts.map((_, i) => (i <= undone ? "out" : "in")));
      }
    }),
    { numRuns: 2000 },
  );
});

test("after any edits, undoing them one by one finds every hunk where it was", () => {
  fc.assert(
    fc.property(variant, fc.array(line, { minLength: 1, maxLength: 3 }), fc.array(raw, { maxLength: 10 }), (parts, last, edits) => {
      const text = tracked(parts, last);
      const past: { lines: readonly string[]; regions: readonly Region[]; states: string[]; back: Change }[] = [];
      for (const [one, other, put] of edits) {
        const made = change(text.lines, one, other, put);
        const { lines, regions, states } = text;
        const { start, end } = made.range;
        const gone = linesOf(cut(lines, start, end)).join("\n");
        const put_ = linesOf(put);
        const last_ = put_.at(-1) ?? "";
        const until = { line: start.line + put_.length - 1, character: put_.length > 1 ? last_.length : start.character + last_.length };
        past.push({ lines, regions, states, back: { range: { start, end: until }, text: gone } });
        text.change([made]);
        assert.deepEqual(text.lines, edited(lines, made));
      }
      for (const { lines, states, back } of past.reverse()) {
        text.change([back]);
        assert.deepEqual(text.lines, lines);
        assert.deepEqual(text.states, states);
      }
      assert.deepEqual(text.states, parts.map(() => "in"));
      const wanted = [...parts.flatMap(({ context, was }) => [...context, ...was]), ...last];
      assert.deepEqual(text.undone(() => true).reduce<readonly string[]>(spliced, text.lines), wanted);
    }),
    { numRuns: 2000 },
  );
});

function cut(lines: readonly string[], start: { line: number; character: number }, end: { line: number; character: number }): string {
  if (start.line === end.line) return (lines[start.line] ?? "").slice(start.character, end.character);
  return [(lines[start.line] ?? "").slice(start.character), ...lines.slice(start.line + 1, end.line), (lines[end.line] ?? "").slice(0, end.character)].join("\n");
}

test("after any edits, what is called the variant's is, and undoing changes nothing but regions", () => {
  fc.assert(
    fc.property(variant, fc.array(line, { minLength: 1, maxLength: 3 }), fc.array(raw, { maxLength: 10 }), (parts, last, edits) => {
      const text = tracked(parts, last);
      for (const [one, other, put] of edits) text.change([change(text.lines, one, other, put)]);
      text.regions.forEach(({ start, end }, at) => {
        assert.ok(0 <= start && start <= end && end <= text.lines.length);
        if (text.states[at] === "in") assert.deepEqual(text.lines.slice(start, end), parts[at]?.now);
        if (text.states[at] === "out") assert.deepEqual(text.lines.slice(start, end), parts[at]?.was);
      });
      const safe = text.regions.filter(({ lost }) => !lost).map(({ start, end }) => [start, end] as const);
      const outside = text.lines.filter((_, number) => !safe.some(([start, end]) => start <= number && number < end));
      const after = text.undone(() => true).reduce<readonly string[]>(spliced, text.lines);
      const back = parts.filter((_, at) => !text.regions[at]?.lost).reduce((n, { was }) => n + was.length, 0);
      assert.equal(after.length, outside.length + back);
    }),
    { numRuns: 2000 },
  );
});

test("several edits of one event, the last one first", () => {
  const text = new TrackedText("a\nN\nb\nM\nc", [{ step: 0, was: ["o"], now: ["N"] }, { step: 1, was: [], now: ["M"] }], [
    { start: 1, end: 2, lost: false },
    { start: 3, end: 4, lost: false },
  ]);
  const at = (line_: number, character: number, put: string): Change => ({ range: { start: { line: line_, character }, end: { line: line_, character } }, text: put });
  text.change([at(4, 0, "x\n"), at(2, 1, "!"), at(0, 0, "top\n")]);
  assert.deepEqual(text.lines, ["top", "a", "N", "b!", "M", "x", "c"]);
  assert.deepEqual(text.states, ["in", "in"]);
  text.change([at(2, 0, "y")]);
  assert.deepEqual(text.states, ["edited", "in"]);
});

test("an edit across a hunk's border loses it: nothing is put there any more, until it is undone", () => {
  const text = new TrackedText("a\nN\nM\nb", [{ step: 0, was: ["o"], now: ["N", "M"] }], [{ start: 1, end: 3, lost: false }]);
  text.change([{ range: { start: { line: 0, character: 0 }, end: { line: 1, character: 1 } }, text: "z" }]);
  assert.deepEqual(text.lines, ["z", "M", "b"]);
  assert.deepEqual([text.states, text.undone(() => true)], [["edited"], []]);
  text.change([{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }, text: "a\nN" }]);
  assert.deepEqual(text.states, ["in"]);
});
