"""What differs between two texts, in whole lines as LSP has them."""

from __future__ import annotations

import difflib

from attrs import frozen

from kernelband.lsp.text import TERMINATOR


@frozen
class Hunk:
    """The lines ``start`` to ``end`` (excluded, from 0) of a text became ``lines``.

    A text's lines are what stands between its line ends: one more than those, so the last one may be empty.
    """

    start: int
    end: int
    lines: tuple[str, ...]


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
