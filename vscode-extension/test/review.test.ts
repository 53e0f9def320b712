import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reviewed, Runs, VariantOfRun } from "../src/protocol.ts";
import type { Report, Variant } from "../src/report/shape.ts";
import { changeOf, spliced } from "../src/review/lines.ts";
import { Disk } from "../src/review/disk.ts";
import { judgedBy } from "../src/review/judging.ts";
import { fromKept, isMoved, moved, newest, toKept } from "../src/review/persist.ts";
import { headerLine, isVerified, meantBy, Review } from "../src/review/review.ts";
import { after, offers, present } from "../src/review/runs.ts";
import { before, explained, isKnown, worth } from "../src/review/words.ts";

const KERNEL = "file:///w/k.py";
const HOST = "file:///w/host.py";
const BEFORE = "@triton.jit\ndef k(x, B):\n    load\n    store\n# end";
const BEFORE_HOST = "import k\nk[g](x, 64)\n";

const WHOLE = { title: "1.84× (1.80 to 1.88) on NVIDIA H200, 2 cases: no store.", short: "1.84× on H200", why: "" };

function answer(more: Partial<Reviewed> = {}): Reviewed {
  return {
    uri: KERNEL,
    kernel: "k",
    run: "abc",
    variant: 3,
    ...WHOLE,
    files: [
      {
        uri: KERNEL,
        version: 1,
        hunks: [
          { step: 0, start: 1, end: 2, lines: ["def k(x, B, R):"] },
          { step: 1, start: 3, end: 4, lines: [] },
        ],
      },
      { uri: HOST, version: 7, hunks: [{ step: 0, start: 1, end: 2, lines: ["k[g](x, 64, 2)", "# two"] }] },
    ],
    steps: [
      { label: "two rows", variant: 1, title: "1.31× (1.28 to 1.35) on NVIDIA H200, 2 cases: two rows.", short: "1.31× on H200", why: "" },
      { label: "no store", variant: 3, ...WHOLE },
    ],
    ...more,
  };
}

function begun(): Review {
  const texts = new Map([
    [KERNEL, BEFORE],
    [HOST, BEFORE_HOST],
  ]);
  return Review.of(answer(), texts);
}

/** Makes the edits that undo a step and what was made on it, as the editor tells of them. */
function undo(review: Review, from = 0): void {
  for (const [uri, splices] of review.undo(from)) {
    const lines = review.file(uri)!.text.lines;
    review.change(
      uri,
      splices.map((splice) => changeOf(lines, splice, "\n")),
    );
  }
}

function type(review: Review, uri: string, line: number, character: number, text: string): void {
  review.change(uri, [{ range: { start: { line, character }, end: { line, character } }, text }]);
}

function text(review: Review, uri: string): string {
  return review.file(uri)!.text.lines.join("\n");
}

test("all hunks of all files are the variant; the first steps are the one that they led to", () => {
  const review = begun();
  assert.equal(text(review, KERNEL), "@triton.jit\ndef k(x, B, R):\n    load\n# end");
  assert.equal(text(review, HOST), "import k\nk[g](x, 64, 2)\n# two\n");
  assert.deepEqual([review.standing, review.now?.variant, worth(review)], ["whole", 3, "✓ 1.84× on H200"]);
  assert.deepEqual([...review.undo(1).keys()], [KERNEL]);
  undo(review, 1);
  assert.equal(text(review, KERNEL), "@triton.jit\ndef k(x, B, R):\n    load\n    store\n# end");
  assert.deepEqual([review.standing, review.now?.variant, worth(review)], ["step", 1, "✓ 1 of 2 steps: 1.31× on H200"]);
  assert.equal(explained(review), "1.31× (1.28 to 1.35) on NVIDIA H200, 2 cases: two rows.");
  assert.deepEqual([isKnown(review), new Set(review.open.map(({ step }) => step))], [true, new Set([0])]);
  undo(review);
  assert.deepEqual([text(review, KERNEL), text(review, HOST)], [BEFORE, BEFORE_HOST]);
  assert.equal(review.standing, "none");
});

test("a line that was there stands beside the buttons, more of them as their number", () => {
  assert.equal(before(["    BLOCK = 64"]), "− BLOCK = 64");
  assert.equal(before([`  ${"x".repeat(60)}`]), `− ${"x".repeat(60)}`);
  assert.equal(before([`  ${"x".repeat(61)}`]), `− ${"x".repeat(59)}…`);
  assert.equal(before(["a", "b"]), "− 2 lines");
});

test("a step goes back with all that was made on it", () => {
  const review = begun();
  undo(review, 0);
  assert.equal(review.standing, "none");
});

test("a later step without the one before it is nothing that anybody executed", () => {
  const review = begun();
  for (const uri of [KERNEL, HOST]) {
    const tracked = review.file(uri)!.text;
    for (const splice of tracked.undone(({ step }) => step === 0)) review.change(uri, [changeOf(tracked.lines, splice, "\n")]);
  }
  assert.deepEqual([review.standing, worth(review)], ["edited", "Variant 3 with edits: not verified"]);
});

test("what somebody wrote makes it another version, in a hunk or beside it, until the server says that it isn't", () => {
  for (const [uri, line] of [
    [KERNEL, 1],
    [KERNEL, 3],
    [HOST, 0],
  ] as const) {
    const review = begun();
    type(review, uri, line, 1, "!");
    assert.equal(review.standing, "edited");
    review.confirm(review.hash, 3);
    assert.equal(review.standing, "whole");
    type(review, uri, line, 1, "?");
    assert.equal(review.standing, "edited", "the word was about another text");
    review.change(uri, [{ range: { start: { line, character: 1 }, end: { line, character: 3 } }, text: "" }]);
    assert.equal(review.standing, "whole");
  }
});

test("the server may know a formatted text as the variant of a step", () => {
  const review = begun();
  undo(review, 1);
  type(review, KERNEL, 0, 0, "# mine\n");
  assert.equal(review.standing, "edited");
  review.confirm(review.hash, 1);
  assert.deepEqual([review.standing, worth(review)], ["step", "✓ 1 of 2 steps: 1.31× on H200"]);
  review.confirm(review.hash, 7);
  assert.equal(review.standing, "edited", "a variant that these steps don't lead to");
});

test("rejecting after edits elsewhere leaves those", () => {
  const review = begun();
  type(review, KERNEL, 0, 0, "# mine\n");
  type(review, HOST, 3, 0, "# mine too");
  undo(review);
  assert.deepEqual([text(review, KERNEL), text(review, HOST)], [`# mine\n${BEFORE}`, `${BEFORE_HOST}# mine too`]);
});

test("kept steps wait for nothing, and hunks are visited in order, around", () => {
  const review = begun();
  const visit = (uri: string, line: number, step: 1 | -1): string => {
    const place = review.next(uri, line, step);
    return place ? `${place.file.uri.slice(-7)}:${place.region.start}` : "";
  };
  assert.deepEqual([visit(KERNEL, -1, 1), visit(KERNEL, 1, 1), visit(KERNEL, 3, 1), visit(HOST, 1, 1)], ["/w/k.py:1", "/w/k.py:3", "host.py:1", "/w/k.py:1"]);
  assert.deepEqual([visit(KERNEL, 1, -1), visit(HOST, 1, -1)], ["host.py:1", "/w/k.py:3"]);
  assert.equal(review.at(KERNEL, 2)?.step, 0);
  assert.equal(review.at(KERNEL, 3)?.step, 1);
  review.keep(0);
  assert.deepEqual([visit(KERNEL, -1, 1), visit(HOST, 0, 1)], ["/w/k.py:3", "/w/k.py:3"]);
  assert.equal(review.at(HOST, 1), undefined);
  assert.equal(review.standing, "whole");
  review.keep(1);
  assert.equal(review.next(KERNEL, 0, 1), undefined);
  const other = begun();
  other.keep(1); // with what it was made on
  assert.equal(other.next(KERNEL, 0, 1), undefined);
});

test("a step whose border was written over can't be undone, later ones can", () => {
  const review = begun();
  review.change(KERNEL, [{ range: { start: { line: 0, character: 3 }, end: { line: 1, character: 3 } }, text: "" }]);
  assert.deepEqual([review.isLost, review.isLostFrom(0), review.isLostFrom(1)], [true, true, false]);
  undo(review, 1);
  assert.equal(text(review, KERNEL), "@tr k(x, B, R):\n    load\n    store\n# end");
});

test("a review outlives a reload where every text is as it was, and not otherwise", () => {
  const review = begun();
  type(review, KERNEL, 0, 0, "# mine\n");
  review.keep(0);
  undo(review, 1);
  const kept = JSON.parse(JSON.stringify(toKept(review))) as ReturnType<typeof toKept>;
  const texts = new Map([
    [KERNEL, text(review, KERNEL).replaceAll("\n", "\r\n")],
    [HOST, text(review, HOST)],
  ]);
  const back = fromKept(kept, texts);
  assert.ok(back);
  assert.deepEqual([back.standing, back.told, [...back.kept], back.open.length], ["edited", review.told, [0], 0]);
  undo(back);
  assert.equal(text(back, KERNEL), `# mine\n${BEFORE}`);
  assert.equal(back.file(KERNEL)?.baseline, BEFORE);
  assert.equal(fromKept(kept, new Map([...texts, [HOST, "other"]])), undefined);
  assert.equal(fromKept(kept, new Map([[KERNEL, texts.get(KERNEL)!]])), undefined);
  const others = Array.from({ length: 30 }, (_, variant) => ({ ...kept, told: { ...kept.told, variant } }));
  assert.deepEqual(
    newest([kept, ...others, kept]).map(({ told }) => told.variant).slice(-3),
    [28, 29, 3],
  );
});

test("of two copies of a file each has its review, and a command with an id or a file is about that one only", () => {
  const copy = answer({ uri: "file:///copy/k.py", files: [{ ...answer().files[0]!, uri: "file:///copy/k.py" }] });
  const [one, other] = [begun(), Review.of(copy, new Map([["file:///copy/k.py", BEFORE]]))];
  assert.notEqual(one.id, other.id);
  assert.equal(meantBy([other, one], { id: one.id }), one);
  assert.equal(meantBy([other], { id: one.id }), undefined, "it ended with the first click");
  assert.equal(meantBy([other], { file: KERNEL }), undefined);
  assert.equal(meantBy([other, one], { file: HOST }), one);
  assert.equal(meantBy([other, one], { here: HOST }), one);
  assert.equal(meantBy([other], { here: "file:///elsewhere.py" }), other);
  assert.equal(meantBy([other, one], { here: undefined }), undefined);
  assert.equal(newest([toKept(one), toKept(other)]).length, 2);
});

test("files that are renamed, or moved with their folder, are under review still", () => {
  const kept = toKept(begun());
  const uris = (moves: [string, string][]): string[] => [moved(kept, moves).told.uri, ...moved(kept, moves).files.map(({ uri }) => uri)];
  assert.deepEqual(uris([[KERNEL, "file:///w/new.py"]]), ["file:///w/new.py", "file:///w/new.py", HOST]);
  assert.deepEqual(uris([["file:///w", "file:///v/deep"]]), ["file:///v/deep/k.py", "file:///v/deep/k.py", "file:///v/deep/host.py"]);
  assert.deepEqual([isMoved(kept, [["file:///w", "file:///v"]]), isMoved(kept, [["file:///w/k", "file:///w/j"]])], [true, false]);
});

test("a text that was typed and saved at once isn't one that another program wrote", () => {
  const disk = new Disk();
  const document = { version: 1, isDirty: false };
  document.version = 2; // by autosave: told as clean, unsaved, saved
  document.isDirty = true;
  disk.markOurs(document);
  document.isDirty = false;
  assert.equal(disk.hasWritten(document, 2), false);
  document.version = 3; // by git
  assert.equal(disk.hasWritten(document, 3), true);
  document.version = 4; // and typed in before anybody looked
  assert.equal(disk.hasWritten(document, 3), false);
});

test("what came out of verifying a text is said of that text, and of no other", () => {
  const review = begun();
  type(review, KERNEL, 0, 0, "#");
  assert.equal(worth(review), "Variant 3 with edits: not verified");
  review.judge(judgedBy(judgement({ state: "verified", ratio: { value: 1.239, low: 1.2, high: 1.281 } }), 1, review.hash)!);
  assert.equal(worth(review), "✓ Variant 3 with edits: 1.24× (1.20 to 1.28) on H200");
  assert.equal(explained(review), "Your edit of k is faster.");
  const back = fromKept(toKept(review), new Map([KERNEL, HOST].map((uri) => [uri, text(review, uri)])));
  assert.equal(back && worth(back), worth(review), "after a reload");
  type(review, KERNEL, 0, 0, "#");
  assert.equal(worth(review), "Variant 3 with edits: not verified");
  assert.match(explained(review), /never compiled/);
  assert.equal(toKept(review).judged, undefined);
});

test("without a figure it says the tier, or that nothing was verified; the whole variant's own figure outlives a prediction", () => {
  const short = (more: Parameters<typeof judgement>[0], mode?: "predicted"): string | undefined => judgedBy(judgement(more, mode), 1, "")?.short;
  assert.equal(short({ state: "checked", tier: "likely faster" }, "predicted"), "likely faster on H200 (predicted)");
  assert.equal(short({ state: "wrong" }), "not verified");
  assert.equal(short({ state: "not verified", ratio: { value: 1.01, low: 0.9, high: 1.1 } }), "not verified");
  assert.equal(judgedBy(judgement({ number: 2 }), 1, ""), undefined);
  const searched = judgement({});
  assert.equal(judgedBy({ ...searched, run: { ...searched.run, policy: "kernelband" } }, 1, ""), undefined);
  const review = begun();
  review.judge(judgedBy(judgement({ state: "checked", tier: "unclear" }, "predicted"), 1, review.hash)!);
  assert.equal(worth(review), "✓ 1.84× on H200");
  review.judge(judgedBy(judgement({ state: "not verified" }), 1, review.hash)!);
  assert.equal(worth(review), "not verified", "measured anew");
});

function judgement(more: Partial<Variant>, mode: "measured" | "predicted" = "measured"): Report {
  const run = { policy: "given", device: "NVIDIA H200 SXM", mode, reason: "your edit of k is faster" };
  return { run, variants: [{ number: 1, state: "screened", ratio: null, tier: null, ...more }] } as unknown as Report;
}

test("the header stands above the first decorator", () => {
  const at = (source: string, name: string): number | undefined => headerLine(source.split("\n"), name);
  assert.equal(at("import triton\n\n@triton.jit\ndef k(\n", "k"), 2);
  assert.equal(at("x = 1\n@triton.autotune(\n    configs=[\n        c,\n    ],\n    key=['n'],\n)\n@triton.jit\ndef k(x): ...", "k"), 1);
  assert.equal(at("class A:\n    y = 1\n    @triton.jit\n    def k(x): ...", "A.k"), 2);
  assert.equal(at("def kk(x): ...\ndef k(x): ...", "k"), 1);
  assert.equal(at("k = 1", "k"), undefined);
});

test("only a ratio is a verified one", () => {
  assert.deepEqual(["1.84× on H200", "likely faster on H100 (predicted)", "not verified"].map((short) => isVerified({ short })), [true, false, false]);
});

function known(): Runs {
  const variant = (number: number, more: Partial<VariantOfRun>): VariantOfRun => ({
    ...{ number, title: `title ${number}`, what: `what ${number}`, why: "", verified: false, ratio: null, low: null, high: null, cases: 0, tier: "", fact: "", decision: "" },
    ...more,
  });
  const runs: Runs["runs"] = [
    { id: "new", policy: "kernelband", mode: "predicted", device: "NVIDIA H100", variants: [] },
    {
      id: "abc",
      policy: "kernelband",
      mode: "measured",
      device: "NVIDIA H200",
      variants: [
        variant(4, { verified: true, ratio: 1.5, low: 1.4, high: 1.6, cases: 1 }),
        variant(2, { verified: true, ratio: 1.2, low: 1.1, high: 1.3, cases: 2, decision: "reject" }),
        variant(3, { tier: "likely faster", fact: "fewer bytes" }),
        variant(1, { tier: "unclear" }),
      ],
    },
  ];
  return { live: null, accepted: 3, stale: "", told: "abc", runs };
}

test("the list has what may be taken, the best first, a ratio only where it was verified", () => {
  const list = offers(known());
  assert.deepEqual(
    list.map(({ worth }) => worth),
    ["1.50× (1.40 to 1.60) on NVIDIA H200, 1 case", "Likely faster on NVIDIA H200 (predicted)"],
  );
  assert.deepEqual(list.map(({ number, title, why, present }) => [number, title, why, present]), [
    [4, "title 4", "", false],
    [3, "title 3", "fewer bytes", true],
  ]);
  assert.equal(after(list, 4)?.number, 3);
  assert.equal(after(list, 3)?.number, 4);
  assert.equal(after(list.slice(0, 1), 4), undefined);
  assert.deepEqual(offers({ ...known(), runs: [] }), []);
  assert.deepEqual(offers(known(), "new"), []);
});

test("a variant that is there is found in whichever run, and what a person wrote is none", async () => {
  const history = known();
  history.runs.push({ ...history.runs[1]!, id: "old" }, { ...history.runs[1]!, id: "mine", policy: "given" });
  const asked: (string | undefined)[] = [];
  const there = async (text: Record<string, number>, wanted?: string): Promise<string> => {
    asked.length = 0;
    const found = await present((run) => {
      asked.push(run);
      return Promise.resolve({ ...history, accepted: (run === undefined ? undefined : text[run]) ?? null });
    }, wanted);
    return found ? `${found.run}/${found.number}` : "";
  };
  assert.equal(await there({ abc: 3 }), "abc/3");
  assert.equal(await there({ old: 4 }), "old/4");
  assert.equal(await there({ old: 4 }, "abc"), "old/4");
  assert.equal(await there({ older: 4 }, "older"), "older/4", "which isn't among those of the kernel's report");
  assert.equal(await there({ abc: 0, old: 4 }, "abc"), "", "what the wanted run began with may be another run's variant");
  assert.equal(await there({ mine: 1 }, "abc"), "");
  assert.deepEqual(asked, [undefined, "abc", "new", "old"]);
  assert.equal(await there({ mine: 1 }, "mine"), "mine/1");
});

test("undoing keeps the last line's end as it is", () => {
  const review = Review.of(answer({ files: [{ uri: KERNEL, version: 1, hunks: [{ step: 0, start: 4, end: 5, lines: ["# a", "# b"] }] }] }), new Map([[KERNEL, BEFORE]]));
  const back = [...review.undo().values()][0]!.reduce<readonly string[]>(spliced, review.file(KERNEL)!.text.lines);
  assert.deepEqual(back, BEFORE.split("\n"));
});
