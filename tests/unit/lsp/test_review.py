"""A review's hunks: put in all together they are what ``apply`` makes of the text, whatever else was edited; of the first steps, what those
make.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.lsp.features.review import FileAnswer, Hunk, Version, Words, answered, hunks, lines_of
from kernelband.source import between, make_patch, program_in, transplant
from kernelband.source.model import Patch, Program
from kernelband.strategies import STRATEGIES
from tests.unit.strategies.samples import example, example_facts

NAMES = ("vector_add", "rms_norm", "rope", "swiglu")
LINES = ("# mine", "", "x = 1  # é😀", "def mine():\n    return 1\n", "\f", "a = '\u2028'", "import os as mine")


def put(text: str, answer: FileAnswer, end: str, steps: int = 1000) -> str:
    """As a client does it, with so many of the first steps."""
    lines = lines_of(text)
    assert answer["hunks"] == sorted(answer["hunks"], key=lambda h: h["start"])
    for hunk in reversed(answer["hunks"]):
        if hunk["step"] < steps:
            lines[hunk["start"] : hunk["end"]] = hunk["lines"]
    return end.join(lines)


def words(*what: str) -> list[Words]:
    """Of the variants 1, 2, …"""
    return [Words(number, said, f"title {number}", f"short {number}", "") for number, said in enumerate(what, 1)]


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
    after = placed.apply({path: text})[path]
    (answer,), steps = answered({"file:///x.py": Version(3, (text, after))}, words("It."))
    assert put(text, answer, end) == after
    assert {h["step"] for h in answer["hunks"]} == set(range(len(steps)))
    assert (answer["uri"], answer["version"]) == ("file:///x.py", 3)


TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=8).map("\n".join)


@settings(deadline=None, max_examples=400)
@given(first=st.tuples(TEXTS, TEXTS), more=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_the_first_steps_are_the_variant_that_they_led_to(first: tuple[str, str], more: list[tuple[str, str]]) -> None:
    versions = [first, *more]
    documents = {f"d{at}": Version(None, tuple(v[at] for v in versions)) for at in (0, 1)}
    files, steps = answered(documents, words(*(f"s{n}." for n, _ in enumerate(more, 1))))
    if not steps:
        assert first == more[-1]
        return
    assert steps[-1]["variant"] == len(more)
    assert ", ".join(step["label"] for step in steps) == ", ".join(f"s{n}" for n, _ in enumerate(more, 1))
    assert {h["step"] for f in files for h in f["hunks"]} == set(range(len(steps)))
    by_uri = {f["uri"]: f for f in files}
    for many, step in enumerate(steps, 1):
        for at in (0, 1):
            wanted = versions[step["variant"]][at]
            assert f"d{at}" in by_uri or wanted == first[at]
            if f"d{at}" in by_uri:
                assert put(first[at], by_uri[f"d{at}"], "\n", many) == wanted


def test_steps_apart_stay_apart_and_those_of_one_place_are_one() -> None:
    before = "a\nb\nc\nd\ne"
    apart = (before, before.replace("a", "A"), "A\nb\nc\nd\nE")
    assert [s["variant"] for s in answered({"d": Version(1, apart)}, words("x", "y"))[1]] == [1, 2]
    over = (*apart, "AA\nb\nc\nd\nE")
    (only,) = answered({"d": Version(1, over)}, words("x", "y", "z"))[1]
    assert (only["label"], only["variant"], only["short"]) == ("x, y, z", 3, "short 3")


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
    assert hunks("a\nb", "a\nb\n") == (Hunk(2, 2, ("",)),)
    assert hunks("a\r\nb\r\n", "a\nb\n") == ()


@pytest.mark.parametrize("name", NAMES)
def test_there_are_variants_to_look_at(name: str) -> None:
    assert len(variants(name)[1]) > 3
