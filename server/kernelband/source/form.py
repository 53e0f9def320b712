"""The form of a program: two texts with the same one are the same program, however they are written and wherever they stand.

It is what matters to the kernel, by the syntax tree: kernel, helpers, host functions, what else of their files those launch, and what all
of it reads of its modules. Comments, blank lines, quoting, wrapping and docstrings are no part of it, nor is anything else in the files.
The same on every Python.
"""

from __future__ import annotations

import ast
import json
import re
import symtable
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from textwrap import dedent
from typing import cast

from attrs import evolve, field, frozen

from kernelband.source.model import HostFunction, Place, Program, Span
from kernelband.source.syntax import all_nodes, syntax_tree
from kernelband.source.tree import line_column, parse, trimmed_span

MODULE, TOP = "module", "the top level"  # kind of a host that is no function, and its name for people
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WORD = re.compile(r"[^\W\d]\w*")
_UNSAID = frozenset({"ctx", "kind", "type_comment"})  # follows from the place, or means nothing


@frozen
class Unit:
    """A function of a program, or a statement of a module that launches its kernel. ``key``: role, name and which of several."""

    path: str
    key: tuple[str, str, int]
    span: Span


@frozen
class Reading:
    """What matters of a program. ``functions``: normal form by unit; ``read``: by path and name, that of all that binds it there."""

    functions: dict[Unit, str] = field(repr=False)
    read: dict[tuple[str, str], tuple[str, ...]] = field(repr=False)

    @property
    def form(self) -> str:
        """What two writings of one program have in common."""
        said = [sorted(self.functions.values()), sorted((name, *made) for (_, name), made in self.read.items())]
        return sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()


def form(program: Program, *, alone: bool = False) -> str:
    """Hash of what matters of a program; ``alone``: without what else its calls launch."""
    if not alone:
        return reading(program).form
    found, others = reading(evolve(program, others=())), {(k.place.path, k.place.qualname) for k in program.others}
    return evolve(found, read={name: said for name, said in found.read.items() if name not in others}).form


def reading(program: Program) -> Reading:
    """What matters of a program, by its parts."""
    functions: dict[Unit, str] = {}
    read: dict[tuple[str, str], tuple[str, ...]] = {}
    by_path: dict[str, list[Unit]] = {}
    for unit in units(program):
        by_path.setdefault(unit.path, []).append(unit)
    for path, own in by_path.items():
        text = program.texts[path]
        pieces = [_whole_lines(text, unit.span) for unit in own]
        functions |= {unit: normal_form(piece) for unit, piece in zip(own, pieces, strict=True)}
        lines = [line_column(text, unit.span.start)[0] for unit in own]
        read |= {(path, name): made for name, made in _read(text, pieces, lines).items()}
    return Reading(functions, read)


def units(program: Program) -> tuple[Unit, ...]:
    """Kernel, helpers, other kernels and host functions; of launches at the top level of a module the statements that make them."""
    found = [("kernel", program.kernel.place, program.kernel.span)]
    found += [("helper", h.place, h.span) for h in program.helpers]
    found += [("other", k.place, k.span) for k in program.others]
    for host in program.hosts:
        spans = [host.span] if host.kind != MODULE else _statements(program.texts[host.place.path], host)
        named = host.place if host.kind != MODULE else Place(host.place.path, TOP)
        found += [("host", named, span) for span in spans]
    seen = Counter[tuple[str, str, str]]()
    out: list[Unit] = []
    for role, at, span in sorted(found, key=lambda x: (x[1].path, x[2])):
        seen[role, at.path, at.qualname] += 1
        out.append(Unit(at.path, (role, at.qualname, seen[role, at.path, at.qualname]), span))
    return tuple(sorted(out, key=lambda u: ("kernel", "helper", "other", "host").index(u.key[0])))


def _statements(text: str, host: HostFunction) -> list[Span]:
    """Those of the top level in which the host launches something."""
    every = [trimmed_span(node, text) for node in parse(text).children]
    return [s for s in every if any(s.start <= x.span.start < s.end for x in host.launches)]


def normal_form(text: str) -> str:
    """The syntax tree without positions and docstrings; the text without blank ends where it doesn't parse."""
    try:
        return _said(syntax_tree(dedent(text)))
    except (SyntaxError, ValueError):
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _said(node: object) -> str:
    """As ``ast.dump``, which other Pythons write otherwise."""
    if isinstance(node, list):
        return f"[{','.join(map(_said, cast('list[object]', node)))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    said: list[str] = []
    documented = isinstance(node, (*_DEFINITIONS, ast.Module)) and ast.get_docstring(node, clean=False) is not None
    for name, value in ast.iter_fields(node):
        kept = value[1:] if documented and name == "body" else value
        if kept is not None and kept != [] and name not in _UNSAID:
            said.append(f"{name}={_said(kept)}")
    return f"{type(node).__name__}({','.join(said)})"


def _whole_lines(text: str, span: Span) -> str:
    """The text of a span with the indentation before it, so that it can be dedented: a method starts in mid-line."""
    before = text[max(text.rfind(end, 0, span.start) for end in "\n\r") + 1 : span.start]
    return dedent((before if not before.strip() else "") + text[span.start : span.end])


# ---------------------------------------------------------------- what functions read of their module


def _read(text: str, pieces: Iterable[str], lines: Iterable[int]) -> dict[str, tuple[str, ...]]:
    """By name: the definitions, assignments and imports of a module that bind what the pieces read, directly or through one another; also
    those below an ``if``, ``try`` or ``with``, then with its condition.

    A name that a piece binds itself is its own, whatever the module calls so.

    Args:
        text: of the file.
        pieces: functions and statements of it, dedented.
        lines: on which they begin, from 1: of the class of a method the other members don't count.
    """
    try:
        made = _bindings(text)
    except (SyntaxError, ValueError):
        return {}  # mid-edit elsewhere in the file; the pieces still count
    inside = set(lines)
    found: dict[str, tuple[str, ...]] = {}
    todo = [name for piece in pieces for name in _free(piece)]
    while todo:
        name = todo.pop()
        if name in found or name not in made:
            continue
        counted = [b for b in made[name] if not (b.is_class and any(b.first <= line <= b.last for line in inside))]
        found[name] = tuple(b.said for b in counted)
        todo += [other for b in counted for other in b.reads]
    return {name: said for name, said in found.items() if said}


@frozen
class _Binding:
    """A statement of a module that binds a name. Lines from 1, both included."""

    said: str = field(repr=False)
    reads: frozenset[str]
    first: int
    last: int
    is_class: bool


@lru_cache(maxsize=16)
def _bindings(text: str) -> Mapping[str, tuple[_Binding, ...]]:
    """Raises SyntaxError or ValueError where this Python can't parse it."""
    out: dict[str, tuple[_Binding, ...]] = {}
    for statement in syntax_tree(text).body:
        names = list(dict.fromkeys(_binds(statement)))
        if names:
            reads = _free(ast.unparse(statement)) if isinstance(statement, _DEFINITIONS) else _named(statement)
            last = statement.end_lineno or statement.lineno
            binding = _Binding(_said(statement), frozenset(reads), statement.lineno, last, isinstance(statement, ast.ClassDef))
            for name in names:
                out[name] = (*out.get(name, ()), binding)
    return out


def _binds(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
    elif isinstance(statement, (ast.If, ast.Try, ast.With)):
        inner = [n for n in ast.iter_child_nodes(statement) if isinstance(n, (ast.stmt, ast.ExceptHandler))]
        for child in (s for n in inner for s in (n.body if isinstance(n, ast.ExceptHandler) else [n])):
            yield from _binds(child)
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from ((a.asname or a.name).partition(".")[0] for a in statement.names)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (n.id for t in targets for n in all_nodes(t) if isinstance(n, ast.Name))


def _named(node: ast.AST) -> set[str]:
    return {n.id for n in all_nodes(node) if isinstance(n, ast.Name)}


def _free(piece: str) -> set[str]:
    """Names that the piece takes from the module around it, decorators, defaults and annotations included. All that it has, where it is no
    program by itself: a method with a string at the left margin, an inner function with names of the outer one.
    """
    try:
        tables = [symtable.symtable(piece, "<piece>", "exec")]
    except (SyntaxError, ValueError):
        try:
            return _named(syntax_tree(piece))
        except (SyntaxError, ValueError):
            return set(_WORD.findall(piece))
    names = set[str]()
    while tables:
        table = tables.pop()
        names |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
        tables += table.get_children()
    return names
