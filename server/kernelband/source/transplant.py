"""A change of one text of a program, made in another text of the same program: what was verified is what comes out, or it is refused.

The other text may have comments, blank lines, line ends and code of its own around the program, be formatted otherwise, or be a copy under
another name. Whatever way the change is brought over, the result must have the form of the program that was changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath

from attrs import frozen

from kernelband.errors import SourceError, StaleText
from kernelband.source.checks import require_parsable
from kernelband.source.form import Reading, form, reading
from kernelband.source.model import Edit, Patch, Program, Span
from kernelband.source.patch import between, make_patch
from kernelband.source.program import find_program
from kernelband.source.tree import BOM
from kernelband.source.workspace import Texts

ProgramOf = Callable[[Mapping[str, str]], Program]


def program_in(texts: Mapping[str, str], path: str, kernel: str) -> Program:
    """The program of ``kernel`` in ``path`` among ``texts``; what the disk says of those paths doesn't matter.

    Raises:
        SourceError: there is no such kernel.
    """
    return find_program(Texts.for_file(path, texts), path, kernel)


def transplant(
    patch: Patch, base: Mapping[str, str], current: Mapping[str, str], program_of: ProgramOf, *, run: str = "it was made"
) -> Patch:
    """The patch as one of the current texts.

    Edits go where their lines are now. A function in which they meet what has been written otherwise since is put in as a whole.

    Args:
        patch: relative to ``base``.
        base: what the run started from, by path.
        current: the texts at hand. A file may have another name than it had.
        program_of: finds the program in texts; gets any of them.
        run: for people: ``run 1a2b3c4d``.

    Raises:
        StaleText: it isn't the same program, or what is edited outside of functions is written otherwise by now.
    """
    if all(current.get(path) == text for path, text in base.items()):
        return patch
    plain = _plain(current)
    base, patch = _ended(base, patch, _line_end(plain.values()))
    was, now, paths = _same(base, plain, program_of, run)
    edits: dict[str, list[Edit]] = {}
    for file in patch.files:
        if file.path not in paths:
            raise StaleText(f"{_file(file.path)} is gone since {run}, and the variant edits it: restore it, or verify again.")
        path = paths[file.path]
        old, new = base[file.path], plain[path]
        changes = [edit for found in between({path: old}, {path: new}).files for edit in found.edits]
        text = _File(old, new, _spans(was, file.path), _spans(now, path), tuple(changes), f"{_file(path)} has changed since {run}")
        mark = len(current[path]) - len(plain[path])
        edits[path] = [Edit(Span(e.span.start + mark, e.span.end + mark), e.new) for e in text.brought(file.edits)]
    out = make_patch(current, edits)
    try:
        is_it = form(program_of({**plain, **_plain(out.apply(dict(current)))})) == form(program_of({**base, **patch.apply(dict(base))}))
    except SourceError:
        is_it = False
    if not is_it:
        name = next(iter(was.functions)).key[1]
        raise StaleText(f"The text around {name} has changed since {run}, and the variant can't be applied to it: verify it again.")
    return out


def _ended(base: Mapping[str, str], patch: Patch, ends: str) -> tuple[Mapping[str, str], Patch]:
    """The same with the line ends of the text at hand, such as git's, which may write others at each checkout; as it is where either has
    several.
    """
    was = _line_end(base.values())
    if not was or not ends or was == ends:
        return base, patch
    after = patch.apply(dict(base))
    other = {path: text.replace(was, ends) for path, text in base.items()}
    return other, between(other, {file.path: after[file.path].replace(was, ends) for file in patch.files})


def changed(base: Mapping[str, str], current: Mapping[str, str], program_of: ProgramOf, *, run: str = "it was made") -> str:
    """A sentence on what makes the current texts another program than the base; "" where they are the same."""
    try:
        _same(base, _plain(current), program_of, run)
    except StaleText as error:
        return error.message
    return ""


def _same(base: Mapping[str, str], current: Mapping[str, str], program_of: ProgramOf, run: str) -> tuple[Reading, Reading, dict[str, str]]:
    """What matters of both, and what the files of the base are called now.

    Raises:
        StaleText: they aren't one program.
    """
    before = program_of(base)
    name = before.kernel.place.qualname
    try:
        after = program_of(current)
        for path in after.texts:
            require_parsable(after.texts[path], path)
    except SourceError as error:
        raise StaleText(f"The variant of {name} can't be applied to this text. {error.message}") from error
    was, now = reading(before), reading(after)
    paths = _paths(before, was, after, now)
    if was.form == now.form:
        return was, now, paths
    raise StaleText(f"{_difference(was, now, paths, name, run)}: verify it again.")


def _difference(was: Reading, now: Reading, paths: Mapping[str, str], name: str, run: str) -> str:
    """The first thing that isn't the same."""
    there = {(u.path, u.key): (u, said) for u, said in now.functions.items()}
    for unit, said in was.functions.items():
        found = there.pop((paths.get(unit.path, ""), unit.key), None)
        if found is None:
            return f"{unit.key[1]} in {_file(unit.path)} is gone since {run}"
        if found[1] != said:
            return f"{unit.key[1]} in {_file(found[0].path)} has changed since {run}"
    for unit, _ in there.values():
        return f"{unit.key[1]} in {_file(unit.path)} is part of the code that runs {name}, but wasn't in {run}"
    read = {(paths.get(path, ""), name): said for (path, name), said in was.read.items()}
    for path, other in sorted({*read, *now.read}, key=lambda at: (at[1], at[0])):
        if read.get((path, other)) != now.read.get((path, other)):
            return f"{other}, which the code that runs {name} reads, has changed in {_file(path)} since {run}"
    return f"The code that runs {name} has changed since {run}"


def _paths(before: Program, was: Reading, after: Program, now: Reading) -> dict[str, str]:
    """What the files of the base are called now. A copy has the kernel under another name; what else it needs may have kept its own."""
    out = {before.kernel.place.path: after.kernel.place.path}
    for path in before.texts:
        if path not in out and path in after.texts:
            out[path] = path
    homes = {u.key: u.path for u in now.functions if u.path not in out.values()}
    for unit in was.functions:
        if unit.path not in out and unit.key in homes and homes[unit.key] not in out.values():
            out[unit.path] = homes[unit.key]
    return out


_Key = tuple[str, str, int]


@frozen
class _File:
    """The texts of a file, with the functions of the program in them. ``said``: how a refusal begins."""

    old: str
    new: str
    before: Mapping[_Key, Span]
    after: Mapping[_Key, Span]
    changes: tuple[Edit, ...]  # from the one to the other
    said: str

    def brought(self, wanted: Iterable[Edit]) -> list[Edit]:
        """Edits of the old text as edits of the new one."""
        out: list[Edit] = []
        inside: dict[_Key | None, list[Edit]] = {}
        for edit in wanted:
            inside.setdefault(self._around(edit.span), []).append(edit)
        for key, several in inside.items():
            moved = [found for found in map(self._moved, several) if found is not None]
            if len(moved) == len(several):
                out += moved
            elif key is not None:
                out.append(Edit(self.after[key], self._written(self.before[key], several)))
            else:
                raise StaleText(f"{self.said} where the variant edits it: verify it again.")
        return out

    def _around(self, span: Span) -> _Key | None:
        """The outermost function that the edit is in."""
        found = [
            (s.start - s.end, key) for key, s in self.before.items() if s.start <= span.start and span.end <= s.end and key in self.after
        ]
        return min(found)[1] if found else None

    def _moved(self, edit: Edit) -> Edit | None:
        """The edit where its lines are now; None where something was written there."""
        by = 0
        for change in self.changes:
            if change.span.end < edit.span.start:
                by += len(change.new) - (change.span.end - change.span.start)
            elif change.span.start <= edit.span.end:
                return None
        return Edit(Span(edit.span.start + by, edit.span.end + by), edit.new)

    def _written(self, span: Span, edits: Iterable[Edit]) -> str:
        """The old function with its edits."""
        text = self.old[span.start : span.end]
        for edit in sorted(edits, key=lambda e: e.span, reverse=True):
            text = text[: edit.span.start - span.start] + edit.new + text[edit.span.end - span.start :]
        return text


def _spans(program: Reading, path: str) -> dict[_Key, Span]:
    return {unit.key: unit.span for unit in program.functions if unit.path == path}


def _plain(texts: Mapping[str, str]) -> dict[str, str]:
    return {path: text.removeprefix(BOM) for path, text in texts.items()}


def _line_end(texts: Iterable[str]) -> str:
    """The one that all lines have; "" where there is none, or where they have several."""
    found = {end for text in texts for end in re.findall("\r\n|\r|\n", text)}
    return found.pop() if len(found) == 1 else ""


def _file(path: str) -> str:
    return PurePath(path).name
