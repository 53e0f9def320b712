"""``review``: a variant for a client that puts it in and lets a person keep or undo its steps; ``accept``: they keep it all.

It comes as hunks of whole lines, by the steps that led to the variant. Each step was made on the one before it and executed as a variant of
its own. Whoever keeps the first steps and undoes the rest has such a variant, and what is known of it; nothing else can be kept, so what is
left always hangs together.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

from attrs import frozen

from kernelband.errors import HistoryError, SourceError, StaleText, UsageError
from kernelband.explain.words import changes, line, titled, worth
from kernelband.history import Store, runs, trials, view
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.text import TERMINATOR
from kernelband.lsp.variant_edit import Part, Wanted, edited, parts


async def review(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> Answer:
    """The variant as hunks of the documents of this moment, refused where ``apply`` is. Nothing is edited or written."""
    whole, numbers = await asyncio.to_thread(chain, server.findings.db, run, number)
    steps: list[tuple[int, list[Part]]] = []
    for at in numbers:
        try:
            found = await parts(server.findings, server.open_documents(), Wanted(uri, kernel, whole, at))
        except (SourceError, StaleText):
            if at == number:
                raise
            continue  # it doesn't fit this text by itself: one step with the next
        steps.append((at, found))
    words = await asyncio.to_thread(read_words, server.findings.db, whole, [at for at, _ in steps])
    files, groups = await asyncio.to_thread(answered, _versions([own for _, own in steps]), words)
    last = words[-1]
    return Answer(
        uri=uri, kernel=kernel, run=whole, variant=number, title=last.title, short=last.short, why=last.why, files=files, steps=groups
    )


def _versions(steps: list[list[Part]]) -> dict[str, Version]:
    """The documents of all steps, each with its text now and after each of them."""
    now = {part.uri: part for own in steps for part in own}
    after = [{part.uri: edited(part) for part in own} for own in steps]
    return {uri: Version(part.version, (part.text, *(texts.get(uri, part.text) for texts in after))) for uri, part in now.items()}


async def accept(server: KernelBandServer, run: str, number: int) -> None:
    """A person keeps this variant, as it was verified."""
    await asyncio.to_thread(decide, server.findings.db, run, number, "accept")


async def reject(server: KernelBandServer, run: str, number: int) -> None:
    """A person doesn't want this variant: it isn't offered again."""
    await asyncio.to_thread(decide, server.findings.db, run, number, "reject")


def decide(db: Path, run: str, number: int, decision: str) -> None:
    """Write down what a person said of a variant.

    Raises:
        UsageError: there is no such variant.
    """
    with Store.write(db) as store:
        whole = runs.find(store, run).id
        if number not in view.numbers(store, whole):
            raise UsageError(f"There is no variant {number} of run {whole}, so nothing was decided: look at the kernel's report.")
        trials.decide(store, whole, number, decision)


# ---------------------------------------------------------------- steps and hunks


class HunkAnswer(TypedDict):
    """Lines ``start`` to ``end`` (excluded, from 0) of the document become ``lines``; ``step`` is an index of the answer's steps."""

    step: int
    start: int
    end: int
    lines: list[str]


class FileAnswer(TypedDict):
    """``version``: the one that the lines are of; None for a file that isn't open."""

    uri: str
    version: int | None
    hunks: list[HunkAnswer]


class StepAnswer(TypedDict):
    """``label``: what it changes; the rest is of the variant that the text is with this step and those before it, as in ``Words``."""

    label: str
    variant: int
    title: str
    short: str
    why: str


class Answer(TypedDict):
    """All of a review. ``title``, ``short`` and ``why``: of the variant, as its last step has them."""

    uri: str
    kernel: str
    run: str
    variant: int
    title: str
    short: str
    why: str
    files: list[FileAnswer]
    steps: list[StepAnswer]


@frozen
class Hunk:
    """The lines ``start`` to ``end`` (excluded, from 0) of a text became ``lines``.

    A text's lines are what stands between its line ends: one more than those, so the last one may be empty.
    """

    start: int
    end: int
    lines: tuple[str, ...]


@frozen
class Words:
    """``what``: it changes; ``title``: a line as actions have it; ``short``: what it is worth; ``why``: sentences, "" for nothing known."""

    variant: int
    what: str
    title: str
    short: str
    why: str


@frozen
class Version:
    """A document as it is (None: not open) and its text after each step; as it was before, where a step doesn't edit it."""

    version: int | None
    texts: tuple[str, ...]


def chain(db: Path, run: str, number: int) -> tuple[str, tuple[int, ...]]:
    """The run's whole id, and the variants that led to that one, the first one first, itself included.

    Raises:
        HistoryError: there is no such variant.
    """
    with Store.read(db) as store:
        whole = runs.find(store, run).id
        last = trials.variant(store, whole, number)
        return whole, tuple(v.id for v in trials.lineage({v.id: v for v in trials.variants(store, whole)}, last.id))


def read_words(db: Path, run: str, numbers: Sequence[int]) -> list[Words]:
    """What is said of each variant above its review.

    Raises:
        HistoryError: there is no such variant.
    """
    from kernelband.explain.kept import read  # here: they import strategies and the judge, and a start of the server would wait for that
    from kernelband.explain.why import explanation, two_sentences

    out: list[Words] = []
    with Store.read(db) as store:
        row = runs.find(store, run)
        kept = read(store, row)
        shown = {v.number: v for v in titled(view.variants(store, row.id, row.mode))}
        for number in numbers:
            known = shown.get(number) or view.variant(store, row.id, number)
            if known is None:
                raise HistoryError(f"Run {row.id} has no variant {number}: `kernelband show {row.id}` lists them.")
            found = known if number in shown else titled([known])[0]
            variant = kept.variants[number]
            told = explanation(row, variant, verified=found.verified).headline if found.verified or found.tier else ""
            why = " ".join(s for s in (*two_sentences(kept, variant), told) if s)
            out.append(Words(number, changes([variant]) or found.what, line(row.device, found), worth(row.device, found), why))
    return out


def answered(documents: Mapping[str, Version], words: Sequence[Words]) -> tuple[list[FileAnswer], list[StepAnswer]]:
    """The hunks by document, in order, and the steps that they are of. Steps that can't be told apart are one.

    Args:
        documents: by URI; each has as many texts as there are words, and one for what is there now.
        words: of the variant after each step.
    """
    found = {uri: _attributed(document.texts) for uri, document in documents.items()}
    steps = _ranges(len(words), found.values())
    of = {number: at for at, several in enumerate(steps) for number in several}
    files = [
        FileAnswer(
            uri=uri,
            version=documents[uri].version,
            hunks=[HunkAnswer(step=of[min(made)], start=h.start, end=h.end, lines=list(h.lines)) for h, made in document.hunks],
        )
        for uri, document in found.items()
        if document.hunks
    ]
    return files, [_step([words[n - 1] for n in several]) for several in steps]


def _step(words: Sequence[Words]) -> StepAnswer:
    last = words[-1]
    label = ", ".join(w.what.strip().rstrip(".") for w in words)
    return StepAnswer(label=label, variant=last.variant, title=last.title, short=last.short, why=last.why)


@frozen
class _Attributed:
    """What differs between the first and the last of several versions of a text, with the numbers (from 1) of the steps that made it; and
    which steps can't be told apart. Between two hunks is at least one line that no step has touched.
    """

    hunks: tuple[tuple[Hunk, frozenset[int]], ...]
    bound: tuple[frozenset[int], ...]


def _attributed(texts: Sequence[str]) -> _Attributed:
    first = lines_of(texts[0])
    lines: list[tuple[int | None, frozenset[int]]] = [(at, frozenset()) for at in range(len(first))]  # place in the first text; steps
    removed: dict[int, int] = {}
    bound: list[frozenset[int]] = []
    for step, (old, new) in enumerate(pairwise(texts), 1):
        for hunk in reversed(hunks(old, new)):
            gone = lines[hunk.start : hunk.end]
            removed |= {at: step for at, _ in gone if at is not None}
            made = frozenset({step}).union(*(steps for _, steps in gone))
            bound.append(made)  # also where it only takes away what an earlier one had put there
            lines[hunk.start : hunk.end] = [(None, made)] * len(hunk.lines)
    last = lines_of(texts[-1])
    kept = [(-1, -1), *((at, number) for number, (at, _) in enumerate(lines) if at is not None), (len(first), len(lines))]
    found: list[tuple[Hunk, frozenset[int]]] = []
    for (a, b), (c, d) in pairwise(kept):
        put = tuple(last[b + 1 : d])
        steps = frozenset(removed[at] for at in range(a + 1, c)).union(*(made for _, made in lines[b + 1 : d]))
        bound.append(steps)
        if put != tuple(first[a + 1 : c]):
            found.append((Hunk(a + 1, c, put), steps))
    return _Attributed(tuple(found), tuple(bound))


def _ranges(count: int, documents: Collection[_Attributed]) -> list[range]:
    """Steps 1 to ``count`` as ranges that can be told apart, each with a hunk."""
    ends = set(range(1, count + 1))
    for steps in (steps for document in documents for steps in document.bound if steps):
        ends -= set(range(min(steps), max(steps)))
    has = {step for document in documents for _, steps in document.hunks for step in steps}
    out: list[range] = []
    start = 1
    for end in sorted(ends):
        if has & set(range(start, end + 1)):
            out.append(range(start, end + 1))
            start = end + 1
    if out and start <= count:  # the last steps left no trace
        out[-1] = range(out[-1].start, count + 1)
    return out


def lines_of(text: str) -> list[str]:
    """Without their ends."""
    return TERMINATOR.split(text)


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """In order, with at least one line between two of them. Line ends don't count."""
    old, new = lines_of(before), lines_of(after)
    head, most = 0, min(len(old), len(new))
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    return tuple(
        Hunk(head + i1, head + i2, tuple(new[head + j1 : head + j2])) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    )
