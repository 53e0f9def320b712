"""A variant of another text, moved to the text at hand, or refused: only where the program that was verified still stands there.

The program is kernel, helpers and host functions. What stands elsewhere in a file may change: it shifts the edits and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, cast

from attrs import frozen

from kernelband.errors import SourceError, StaleText
from kernelband.lsp.readings import globals_of
from kernelband.source import (
    Workspace,
    between,
    find_program,
    make_patch,
    node_span,
    parse,
    require_parsable,
    source_key,
    trimmed_span,
    walk,
)
from kernelband.source.model import Edit, HostFunction, Patch, Place, Program, Span
from kernelband.source.tree import BOM
from kernelband.source.workspace import MOST_FILES

ProgramOf = Callable[[Mapping[str, str]], Program]
MODULE, TOP = "module", "the top level"  # kind of a host that is no function, and its name for people


class Texts(Workspace):
    """A workspace in which only the texts given may launch a kernel. Modules between them are still looked up on the disk."""

    def files(self, near: str, limit: int = MOST_FILES) -> Iterator[str]:
        """The texts, ``near`` first."""
        yield from sorted(self._overlays, key=lambda p: (p != near, p))[:limit]


def program_in(texts: Mapping[str, str], path: str, kernel: str) -> Program:
    """The program of ``kernel`` in ``path`` among ``texts``; what the disk says of those paths doesn't matter.

    Raises:
        SourceError: there is no such kernel.
    """
    return find_program(Texts.for_file(path, texts), path, kernel)


@frozen
class _Unit:
    """A function of the program, or a statement at the top level of a file: what an edit is tied to."""

    path: str
    key: tuple[str, str, int]  # role, qualname or text, and which of several
    span: Span

    def shown(self, text: str) -> str:
        """Its name for people."""
        first = text[self.span.start : self.span.end].partition("\n")[0].strip()
        return self.key[1] if self.key[0] != "statement" else f"`{first[:60]}`"


def place(
    patch: Patch, base_texts: Mapping[str, str], current_texts: Mapping[str, str], program_of: ProgramOf, *, run: str = "it was made"
) -> Patch:
    """The variant as a patch of the current texts.

    Args:
        patch: relative to ``base_texts``.
        base_texts: what the run started from.
        current_texts: the texts at hand, by path. A file may have another name than it had.
        program_of: finds the program in texts; gets both.
        run: for people: ``run 1a2b3c4d``.

    Raises:
        StaleText: a function of the program, or what it reads, has changed; or an edit stands in text that has. Which line ends all the
            texts have doesn't count.
    """
    was, is_ = _line_end(base_texts.values()), _line_end(current_texts.values())
    if was and is_ and was != is_:  # such as git's, which may write others at each checkout
        edited = patch.apply(dict(base_texts))
        base_texts = {path: text.replace(was, is_) for path, text in base_texts.items()}
        patch = between(base_texts, {file.path: edited[file.path].replace(was, is_) for file in patch.files})
    base = program_of(base_texts)
    name = base.kernel.place.qualname
    try:
        current = program_of(current_texts)
        for path in current.texts:
            require_parsable(current.texts[path], path)
    except SourceError as error:
        raise StaleText(f"The variant of {name} can't be put into this text. {error.message}") from error
    names = _paths(base, current)
    before, after = _functions(base), {(u.path, u.key): u for u in _functions(current)}
    for unit in before:
        where = names.get(unit.path)
        other = after.pop((where, unit.key), None) if where is not None else None
        if other is None:
            raise StaleText(f"{unit.key[1]} in {_file(unit.path)} is gone since {run}: verify it again.")
        if _text(base, unit) != _text(current, other):
            raise StaleText(f"{unit.key[1]} in {_file(other.path)} has changed since {run}: verify it again.")
    for unit in after.values():
        raise StaleText(f"{unit.key[1]} in {_file(unit.path)} is part of what runs {name}, but wasn't in {run}: verify it again.")
    for old, new in names.items():
        read = globals_of(base.texts[old], _pieces(base, old))
        reads = globals_of(current.texts[new], _pieces(current, new))
        changed = [g for g in sorted({*read, *reads}) if read.get(g) != reads.get(g)]
        if changed:
            raise StaleText(f"{changed[0]}, which what runs {name} reads, has changed in {_file(new)} since {run}: verify it again.")
    edits: dict[str, list[Edit]] = {}
    for file in patch.files:
        if file.path not in names:
            raise StaleText(f"{_file(file.path)} is gone since {run}, and the variant edits it: restore it, or verify again.")
        path = names[file.path]
        old, new = base.texts[file.path], current.texts[path]
        mark = len(current_texts[path]) - len(current_texts[path].removeprefix(BOM))
        shift = _Shift(old, new, _units(base, file.path), _units(current, path), _file(path), run)
        edits[path] = [shift.edit(e, mark) for e in file.edits]
    return make_patch(current_texts, edits)


def _line_end(texts: Iterable[str]) -> str:
    """The one that all lines have; "" where there is none, or where they have several."""
    found: set[str] = set()
    for text in texts:
        paired, lone = text.count("\r\n"), text.count("\r") - text.count("\r\n")
        found |= {"\r\n"} if paired else set()
        found |= {"\r"} if lone else set()
        found |= {"\n"} if text.count("\n") > paired else set()
    return found.pop() if len(found) == 1 else ""


def restored(
    base_texts: Mapping[str, str], edited_texts: Mapping[str, str], current_texts: Mapping[str, str], program_of: ProgramOf
) -> Patch | None:
    """The original's functions in place of a variant's that is written otherwise by now, as formatters do; as a patch of the current texts.

    None where they aren't that variant, or the variant isn't made of functions alone.

    Args:
        base_texts: what the run started from.
        edited_texts: the same with the variant in them.
        current_texts: as ``place`` has them.
        program_of: likewise.
    """
    key = form(edited_texts, program_of)
    if key is None or form(current_texts, program_of) != key:
        return None
    base, edited, current = program_of(base_texts), program_of(edited_texts), program_of(current_texts)
    back, patch = (_functions_of(base, now, texts) for now, texts in ((edited, edited_texts), (current, current_texts)))
    if back is None or patch is None or {**edited_texts, **back.apply(dict(edited_texts))} != dict(base_texts):
        return None
    after = {**current_texts, **patch.apply(dict(current_texts))}
    return patch if form(after, program_of) == form(base_texts, program_of) else None


def _functions_of(base: Program, now: Program, texts: Mapping[str, str]) -> Patch | None:
    """Those that are written otherwise, from the base into the texts of now; None where one isn't there."""
    there = {(u.path, u.key): u for u in _functions(now)}
    names, ends = _paths(base, now), _line_end(texts.values())
    edits: dict[str, list[Edit]] = {}
    for unit in _functions(base):
        where = names.get(unit.path, "")
        here = there.get((where, unit.key))
        if here is None:
            return None
        if _text(base, unit) != _text(now, here):
            mark = len(texts[where]) - len(texts[where].removeprefix(BOM))
            text = re.sub("\r\n|\r|\n", ends, _text(base, unit)) if ends else _text(base, unit)
            edits.setdefault(where, []).append(Edit(Span(here.span.start + mark, here.span.end + mark), text))
    outer = {p: [e for e in es if not any(_holds(o.span, e.span) for o in es if o is not e)] for p, es in edits.items()}
    return make_patch(texts, outer)


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


@frozen
class _Shift:
    """Moves edits from the old text of a file to the new one."""

    old: str
    new: str
    before: tuple[_Unit, ...]
    after: tuple[_Unit, ...]
    file: str
    run: str

    def edit(self, edit: Edit, mark: int) -> Edit:
        """The edit where it belongs in the new text, ``mark`` characters further."""
        by = mark + (0 if self.old == self.new else self._by(edit.span))
        return Edit(Span(edit.span.start + by, edit.span.end + by), edit.new)

    def _by(self, span: Span) -> int:
        """How far. All text between the unit that the edit is tied to and the edit must still be there."""
        unit = self._unit(span)
        if unit is None:
            raise StaleText(f"{self.file} has changed since {self.run} where the variant edits it: verify it again.")
        counts = [Counter(u.key[:2] for u in units)[unit.key[:2]] for units in (self.before, self.after)]
        other = next((u for u in self.after if u.key == unit.key), None) if counts[0] == counts[1] else None
        if other is None:
            raise StaleText(f"{unit.shown(self.old)} in {self.file} has changed since {self.run}: verify it again.")
        by = other.span.start - unit.span.start
        start, end = min(unit.span.start, span.start), max(unit.span.end, span.end)
        if start + by < 0 or self.old[start:end] != self.new[start + by : end + by]:
            raise StaleText(f"The lines beside {unit.shown(self.old)} in {self.file} have changed since {self.run}: verify it again.")
        return by

    def _unit(self, span: Span) -> _Unit | None:
        """The smallest unit around the edit; else the last one that begins before it; else the first."""
        around = [u for u in self.before if u.span.start <= span.start and span.end <= u.span.end]
        if around:
            return min(around, key=lambda u: (u.span.end - u.span.start, u.span.start != span.start))
        return max((u for u in self.before if u.span.start <= span.start), key=lambda u: u.span, default=next(iter(self.before), None))


def _functions(program: Program) -> list[_Unit]:
    """Kernel, helpers and host functions; of launches at the top level of a module the statements that make them."""
    found = [("kernel", program.kernel.place, program.kernel.span)]
    found += [("helper", h.place, h.span) for h in program.helpers]
    for host in program.hosts:
        spans = [host.span] if host.kind != MODULE else _statements(program.texts[host.place.path], host)
        named = host.place if host.kind != MODULE else Place(host.place.path, TOP)
        found += [("host", named, span) for span in spans]
    seen = Counter[tuple[str, str, str]]()
    out: list[_Unit] = []
    for role, at, span in sorted(found, key=lambda x: (x[1].path, x[2])):
        seen[role, at.path, at.qualname] += 1
        out.append(_Unit(at.path, (role, at.qualname, seen[role, at.path, at.qualname]), span))
    return sorted(out, key=lambda u: ("kernel", "helper", "host").index(u.key[0]))


def _statements(text: str, host: HostFunction) -> list[Span]:
    """Those of the top level in which the host launches something."""
    every = [trimmed_span(node, text) for node in parse(text).children]
    return [s for s in every if any(s.start <= x.span.start < s.end for x in host.launches)]


def _units(program: Program, path: str) -> tuple[_Unit, ...]:
    """The functions in a file, and the statements of its top level, in order."""
    text = program.texts[path]
    seen = Counter[str]()
    out = [u for u in _functions(program) if u.path == path]
    for node in parse(text).children:
        span = trimmed_span(node, text)
        code = text[span.start : span.end]
        if code.strip():
            seen[code] += 1
            out.append(_Unit(path, ("statement", code, seen[code]), span))
    return tuple(sorted(out, key=lambda u: u.span))


def _paths(base: Program, current: Program) -> dict[str, str]:
    """What the files of the base are called now. A copy has the kernel under another name; what else it needs may have kept its own."""
    out = {base.kernel.place.path: current.kernel.place.path}
    for path in base.texts:
        if path not in out and path in current.texts:
            out[path] = path
    homes = {u.key: u.path for u in _functions(current) if u.path not in out.values()}
    for unit in _functions(base):
        if unit.path not in out and unit.key in homes and homes[unit.key] not in out.values():
            out[unit.path] = homes[unit.key]
    return out


def _pieces(program: Program, path: str) -> list[Span]:
    return [u.span for u in _functions(program) if u.path == path]


def _text(program: Program, unit: _Unit) -> str:
    return program.texts[unit.path][unit.span.start : unit.span.end]


def _file(path: str) -> str:
    return PurePath(path).name


# ---------------------------------------------------------------- which variant is it?


def recognise(
    base_texts: Mapping[str, str], variants: Mapping[int, Patch], current_texts: Mapping[str, str], program_of: ProgramOf
) -> int | None:
    """Which variant the current texts are, 0 for the original, None for none of them. How the text is written doesn't matter.

    Formatters also reindent docstrings, which are part of the syntax tree: they don't count here.
    """
    now = form(current_texts, program_of)
    return None if now is None else forms(base_texts, variants, program_of).get(now)


def forms(base_texts: Mapping[str, str], variants: Mapping[int, Patch], program_of: ProgramOf) -> dict[str, int]:
    """The ``form`` of the original (0) and of each variant; of two alike the lower number. A run's never change: keep them."""
    out: dict[str, int] = {}
    for number, patch in ((0, Patch()), *sorted(variants.items())):
        key = form(patch.apply(dict(base_texts)), program_of)
        if key is not None:
            out.setdefault(key, number)
    return out


def form(texts: Mapping[str, str], program_of: ProgramOf) -> str | None:
    """The same for two texts of the program that differ only in how they are written. None where the kernel isn't in them."""
    plain = {path: text.removeprefix(BOM) for path, text in texts.items()}
    same = make_patch(plain, {path: _docstrings(text) for path, text in plain.items()}).apply(plain)
    try:
        return source_key(program_of(same))
    except SourceError:
        return None


def _docstrings(text: str) -> list[Edit]:
    """Makes every docstring the same."""
    found = (cast("Any", node).get_doc_node() for node in walk(parse(text)) if node.type in ("funcdef", "classdef", "file_input"))
    return [Edit(node_span(node, text), '""') for node in found if node is not None]
