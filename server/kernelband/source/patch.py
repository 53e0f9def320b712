"""Patch algebra: make one from edits, from two texts, and from two patches in a row.

``compose`` works on the edits themselves, so a variant of a variant keeps exactly the bytes that both left alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from kernelband.errors import SourceError
from kernelband.source.model import Edit, FilePatch, Patch, Span, text_hash
from kernelband.source.tree import line_column


def make_patch(texts: Mapping[str, str], edits: Mapping[str, Iterable[Edit]]) -> Patch:
    """The patch that makes ``edits`` (per path, in any order) of ``texts``.

    Edits that change nothing are left out. Several insertions at one place stay in the order given.

    Raises:
        SourceError: two edits overlap, one lies outside the text, or a path has no text.
    """
    files: list[FilePatch] = []
    for path in sorted(edits):
        if path not in texts:
            raise SourceError(f"A patch edits {path}, which isn't part of the program: add its text or drop the edit.")
        text = texts[path]
        kept = sorted(_useful(text, edits[path]), key=lambda e: (e.span.start, e.span.end))
        _check(path, text, kept)
        if kept:
            files.append(FilePatch(path, text_hash(text), tuple(kept)))
    return Patch(tuple(files))


def _useful(text: str, edits: Iterable[Edit]) -> list[Edit]:
    return [e for e in edits if not (0 <= e.span.start <= e.span.end <= len(text) and text[e.span.start : e.span.end] == e.new)]


def _check(path: str, text: str, edits: list[Edit]) -> None:
    at = 0
    for edit in edits:
        if not 0 <= edit.span.start <= edit.span.end <= len(text):
            raise SourceError(f"An edit of {path} lies outside its {len(text)} characters: it was made for another text.")
        if edit.span.start < at:
            raise SourceError(f"Two edits of {path} overlap at line {line_column(text, edit.span.start)[0]}: they can't be one patch.")
        at = edit.span.end


def between(old: Mapping[str, str], new: Mapping[str, str]) -> Patch:
    """A patch that turns ``old`` into ``new``; paths that only ``old`` has stay as they are.

    Changed lines are found by difflib and trimmed to the characters that differ.

    Raises:
        SourceError: ``new`` has a path that ``old`` hasn't: a variant edits files, it doesn't make them.
    """
    for path in new:
        if path not in old:
            raise SourceError(f"{path} is not among the files of the program: a variant edits files, it doesn't make them.")
    return make_patch(old, {path: _difference(old[path], new[path]) for path in new})


def _difference(old: str, new: str) -> list[Edit]:
    if old == new:
        return []
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start = sum(map(len, before[:head]))
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    offsets = [start]
    for line in before:
        offsets.append(offsets[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [_trim(old, offsets[i1], offsets[i2], "".join(after[j1:j2])) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]


def _trim(old: str, start: int, end: int, new: str) -> Edit:
    head, limit = 0, min(end - start, len(new))
    while head < limit and old[start + head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[end - 1 - tail] == new[len(new) - 1 - tail]:
        tail += 1
    return Edit(Span(start + head, end - tail), new[head : len(new) - tail])


def compose(first: Patch, second: Patch, texts: Mapping[str, str]) -> Patch:
    """One patch that does ``first`` and then ``second``, relative to ``texts``. Exact: nothing is guessed from the outcome.

    Raises:
        StaleText: ``texts`` isn't what ``first`` was made for, or its outcome isn't what ``second`` was made for.
    """
    middle = first.apply(dict(texts))
    second.apply(middle)  # refuses a stale text
    ones = {f.path: f.edits for f in first.files}
    twos = {f.path: f.edits for f in second.files}
    edits = {path: _compose(texts[path], ones.get(path, ()), twos.get(path, ())) for path in ones | twos}
    return make_patch(texts, edits)


Step = tuple[str, int, str]  # "keep" or "drop" that many characters, or "add" this text


def _compose(base: str, first: tuple[Edit, ...], second: tuple[Edit, ...]) -> list[Edit]:
    """Walk both in step: ``one`` speaks of the base text, ``two`` of what ``first`` makes of it."""
    one, two = _steps(first, len(base)), _steps(second, len(base) + sum(len(e.new) - (e.span.end - e.span.start) for e in first))
    out: list[Step] = []
    while one or two:
        if one and one[-1][0] == "drop":
            out.append(one.pop())
        elif two and two[-1][0] == "add":
            out.append(two.pop())
        else:
            (kind, length, text), (verdict, wanted, _) = one.pop(), two.pop()
            size = min(length, wanted)
            if length > size:
                one.append((kind, length - size, text[size:]))
            if wanted > size:
                two.append((verdict, wanted - size, ""))
            if kind == "keep":
                out.append((verdict, size, ""))
            elif verdict == "keep":
                out.append(("add", size, text[:size]))
    return _edits(base, out)


def _steps(edits: tuple[Edit, ...], length: int) -> list[Step]:
    """The edits as steps over a text of ``length`` characters, the first one last."""
    steps: list[Step] = []
    at = 0
    for edit in edits:
        steps += [("keep", edit.span.start - at, ""), ("drop", edit.span.end - edit.span.start, ""), ("add", len(edit.new), edit.new)]
        at = edit.span.end
    steps.append(("keep", length - at, ""))
    return [step for step in reversed(steps) if step[1]]


def _edits(base: str, steps: list[Step]) -> list[Edit]:
    out: list[Edit] = []
    at = start = 0
    new: list[str] = []
    for kind, length, text in [*steps, ("keep", 0, "")]:
        if kind == "keep":
            if new or at > start:
                out.append(_trim(base, start, at, "".join(new)))
            at += length
            start, new = at, []
        elif kind == "drop":
            at += length
        else:
            new.append(text)
    return out


# ---------------------------------------------------------------- as JSON, for the database


def patch_to_json(patch: Patch) -> list[dict[str, Any]]:
    """``[{"path", "base", "edits": [[start, end, new], …]}, …]``; offsets in characters."""
    return [{"path": f.path, "base": f.base, "edits": [[e.span.start, e.span.end, e.new] for e in f.edits]} for f in patch.files]


def patch_from_json(value: list[dict[str, Any]]) -> Patch:
    """The inverse of ``patch_to_json``."""
    return Patch(
        tuple(
            FilePatch(str(f["path"]), str(f["base"]), tuple(Edit(Span(int(a), int(b)), str(new)) for a, b, new in f["edits"]))
            for f in value
        )
    )
