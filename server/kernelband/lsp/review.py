"""A variant for a review in the client's documents: hunks of whole lines, in groups that can be kept or undone each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from attrs import evolve, frozen

from kernelband.history import Store, runs, trials
from kernelband.lsp.applying import Part, Parts
from kernelband.lsp.grouping import Change, grouped
from kernelband.lsp.hunks import Hunk, hunks, lines_of
from kernelband.lsp.ranking import VariantFinding, read_variants
from kernelband.lsp.wording import title, worth
from kernelband.source import make_patch


class HunkAnswer(TypedDict):
    """Lines ``start`` to ``end`` (excluded, from 0) of the document become ``lines``; ``group`` is an index of the answer's groups."""

    group: int
    start: int
    end: int
    lines: list[str]


class FileAnswer(TypedDict):
    """``version``: the one that the lines are of; None for a file that isn't open."""

    uri: str
    version: int | None
    hunks: list[HunkAnswer]


class GroupAnswer(TypedDict):
    """What is kept or undone together."""

    label: str


class Answer(TypedDict):
    """All of a review. ``title``, ``short`` and ``why``: as in ``Words``."""

    uri: str
    kernel: str
    run: str
    variant: int
    title: str
    short: str
    why: str
    files: list[FileAnswer]
    groups: list[GroupAnswer]


@frozen
class Words:
    """``title``: a line as actions have it; ``short``: what it is worth; ``why``: sentences, "" where nothing is known."""

    run: str
    title: str
    short: str
    why: str


def review_hunks(files: Sequence[Parts]) -> tuple[list[FileAnswer], list[GroupAnswer]]:
    """The hunks by document, in order, and their groups."""
    found = [(file, _hunks(file)) for file in files]
    groups = grouped([Change(f.before, f.after, tuple(_shifted(hunk, by) for _, hunk, by in own)) for f, own in found])
    of = {number: at for at, group in enumerate(groups) for number in group.hunks}
    answers: dict[str, FileAnswer] = {}
    every = [(part, hunk) for _, own in found for part, hunk, _ in own]
    for number, (part, hunk) in enumerate(every):
        answer = answers.setdefault(part.uri, FileAnswer(uri=part.uri, version=part.version, hunks=[]))
        answer["hunks"].append(HunkAnswer(group=of[number], start=hunk.start, end=hunk.end, lines=list(hunk.lines)))
    return list(answers.values()), [GroupAnswer(label=g.label) for g in groups]


def read_words(db: Path, run: str, number: int) -> Words:
    """What is said of a variant above its review.

    Raises:
        HistoryError: there is no such variant.
    """
    from kernelband.explain.kept import read  # here: they import strategies and the judge, and a start of the server would wait for that
    from kernelband.explain.why import explanation, two_sentences

    with Store.read(db) as store:
        row = runs.find(store, run)
        variant = trials.variant(store, row.id, number)
        known = next((v for v in read_variants(store, row.id, row.mode) if v.number == number), None)
        found = known or VariantFinding(row.id, number, variant.what, variant.why, (), variant.numerics, variant.author)
        told = explanation(row, variant, verified=found.verified).headline if found.verified or found.tier else ""
        why = " ".join(s for s in (*two_sentences(read(store, row), variant), told) if s)
    return Words(row.id, title(row.device, found), worth(row.device, found), why)


Found = tuple[Part, Hunk, tuple[int, int]]  # a hunk of a part, and the part's first line in the program, before and after


def _hunks(file: Parts) -> list[Found]:
    after = {p.cell: _edited(p) for p in file.parts}
    if not file.cells:
        return [(p, hunk, (0, 0)) for p in file.parts for hunk in hunks(p.text, after[p.cell])]
    out: list[Found] = []
    before_line = after_line = 0
    for number, cell in enumerate(file.cells):
        part = next((p for p in file.parts if p.cell == number), None)
        if part is not None:
            out += [(part, hunk, (before_line, after_line)) for hunk in hunks(part.text, after[number])]
        before_line += len(lines_of(cell))
        after_line += len(lines_of(after.get(number, cell)))
    return out


def _edited(part: Part) -> str:
    texts = {part.uri: part.text}
    return make_patch(texts, {part.uri: part.edits}).apply(texts)[part.uri]


def _shifted(hunk: Hunk, by: tuple[int, int]) -> Hunk:
    return evolve(hunk, start=hunk.start + by[0], end=hunk.end + by[0], at=hunk.at + by[1])
