"""A review's hunks: put in all together they are what ``apply`` makes of the text, whatever else was edited; in part they hang together."""

from __future__ import annotations

import functools
import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.lsp.applying import Part, Parts
from kernelband.lsp.hunks import Hunk, hunks, lines_of
from kernelband.lsp.review import FileAnswer, review_hunks
from kernelband.source import Cells, between, make_patch, program_in, transplant
from kernelband.source.model import Patch, Program
from kernelband.strategies import STRATEGIES
from tests.unit.strategies.samples import example, example_facts

NAMES = ("vector_add", "rms_norm", "rope", "swiglu")
LINES = ("# mine", "", "x = 1  # é😀", "def mine():\n    return 1\n", "\f", "a = '\u2028'", "import os as mine")


def put(text: str, answer: FileAnswer, end: str) -> str:
    """As a client does it."""
    lines = lines_of(text)
    assert answer["hunks"] == sorted(answer["hunks"], key=lambda h: h["start"])
    for hunk in reversed(answer["hunks"]):
        lines[hunk["start"] : hunk["end"]] = hunk["lines"]
    return end.join(lines)


@functools.cache
def variants(name: str) -> tuple[Program, tuple[Patch, ...]]:
    program = example(name, Path(tempfile.mkdtemp()))
    found = [p for s in STRATEGIES for p in s.propose(program, example_facts(name, program))]
    return program, tuple({p.key.partition("(")[0]: p.patch for p in found}.values())


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    which=st.integers(0, 100),
    above=st.lists(st.sampled_from(LINES), max_size=3),
    below=st.lists(st.sampled_from(LINES), max_size=3),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    closed=st.booleans(),
)
def test_all_hunks_are_what_apply_makes(name: str, which: int, above: list[str], below: list[str], end: str, *, closed: bool) -> None:
    program, found = variants(name)
    path, kernel = program.kernel.place.path, program.kernel.place.qualname
    patch = found[which % len(found)]

    def written(text: str) -> str:
        return text.replace("\n", end)

    base = {path: written(program.texts[path])}
    asked = make_patch(program.texts, {f.path: f.edits for f in patch.files}).apply(program.texts)
    own = make_patch(base, {path: _difference(base[path], written(asked[path]))})
    text = written("\n".join([*above, program.texts[path].rstrip("\n"), *below]) + ("\n" if closed else ""))
    placed = transplant(own, base, {path: text}, lambda texts: program_in(texts, path, kernel))
    (file,) = placed.files
    after = placed.apply({path: text})[path]
    part = Part("file:///x.py", 3, text, file.edits)
    (answer,), groups = review_hunks([Parts(path, text, after, (part,))])
    assert put(text, answer, end) == after
    assert {h["group"] for h in answer["hunks"]} == set(range(len(groups)))
    assert (answer["uri"], answer["version"]) == ("file:///x.py", 3)


def _difference(old: str, new: str):
    (file,) = between({"x": old}, {"x": new}).files
    return file.edits


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "", "\f", "\u2028", "é"])), st.lists(st.sampled_from(["a", "b", "c", "", "\f", "\x0b"])))
def test_hunks_of_any_two_texts(old: list[str], new: list[str]) -> None:
    before, after = "\r\n".join(old), "\n".join(new)
    lines = lines_of(before)
    found = hunks(before, after)
    for hunk in reversed(found):
        assert hunk.start < hunk.end or hunk.lines
        lines[hunk.start : hunk.end] = hunk.lines
    assert lines == lines_of(after)
    assert all(a.end < b.start for a, b in itertools.pairwise(found))


def test_lines_end_as_lsp_has_it() -> None:
    assert lines_of("a\r\nb\rc\nd\f\u2028e\n") == ["a", "b", "c", "d\f\u2028e", ""]
    assert hunks("a\nb", "a\nb\n") == (Hunk(2, 2, 2, ("",)),)
    assert hunks("a\r\nb\r\n", "a\nb\n") == ()


def test_cells_of_a_notebook_are_documents() -> None:
    kernel = "import triton\n%time 0\n\n@triton.jit\ndef k(x, n):\n    y = x\n"
    launch = "def go(x):\n    return 0\n\n\ndef run(x):\n    k[(1,)](x, 4)"
    new_kernel, new_launch = kernel.replace("n):", "n, m):"), launch.replace("x, 4)", "x, 4, 5)").replace("return 0", "return 1")
    before, after = Cells([kernel, "%magic", launch]), Cells([new_kernel, "%magic", new_launch])
    parts = tuple(
        Part(f"cell:{n}", 7 + n, old, _difference(old, new), n) for n, old, new in ((0, kernel, new_kernel), (2, launch, new_launch))
    )
    files, groups = review_hunks([Parts("/n.ipynb", before.text, after.text, parts, before.sources)])
    assert [(f["uri"], f["version"], [h["start"] for h in f["hunks"]]) for f in files] == [("cell:0", 7, [4]), ("cell:2", 9, [1, 5])]
    assert [[h["group"] for h in f["hunks"]] for f in files] == [[0], [1, 0]]
    assert [g["label"] for g in groups] == ["m: k and its launch", "go"]
    assert [put(p.text, f, "\n") for p, f in zip(parts, files, strict=True)] == [new_kernel, new_launch]


@pytest.mark.parametrize("name", NAMES)
def test_there_are_variants_to_look_at(name: str) -> None:
    assert len(variants(name)[1]) > 3
