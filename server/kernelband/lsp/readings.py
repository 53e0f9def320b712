"""What functions read of their module: the assignments and imports behind the names that are free in them."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator
from textwrap import dedent

from kernelband.source.model import Span
from kernelband.source.syntax import syntax_tree

_WORD = re.compile(r"[^\W\d]\w*")


def globals_of(text: str, pieces: Iterable[Span]) -> dict[str, tuple[str, ...]]:
    """By name: the top-level assignments and imports of ``text`` that bind what the pieces read, directly or through one another.

    A name that a piece binds itself is its own, whatever the module calls so. How a statement is written doesn't matter.

    Args:
        text: a file that parses, without a byte order mark.
        pieces: functions or statements of it.
    """
    made: dict[str, list[ast.stmt]] = {}
    for statement in syntax_tree(text).body:
        for name in _bound(statement):
            made.setdefault(name, []).append(statement)
    todo = [name for span in pieces for name in _free(_whole_lines(text, span))]
    found: dict[str, tuple[str, ...]] = {}
    while todo:
        name = todo.pop()
        if name in made and name not in found:
            found[name] = tuple(ast.dump(s) for s in made[name])
            todo += [n.id for s in made[name] for n in ast.walk(s) if isinstance(n, ast.Name)]
    return found


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((a.asname or a.name).partition(".")[0] for a in statement.names)
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))


def _free(piece: str) -> set[str]:
    """Names that the piece takes from the module around it, decorators, defaults and annotations included. All that it has, where it is
    none of its own: a method with a string at the left margin, an inner function with names of the outer one.
    """
    try:
        tables = [symtable.symtable(piece, "<piece>", "exec")]
    except SyntaxError:
        return set(_WORD.findall(piece))
    names = set[str]()
    while tables:
        table = tables.pop()
        names |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
        tables += table.get_children()
    return names


def _whole_lines(text: str, span: Span) -> str:
    """The text of a span with the indentation before it, so that it can be dedented: a method starts in mid-line."""
    before = text[max(text.rfind(end, 0, span.start) for end in "\n\r") + 1 : span.start]
    return dedent((before if not before.strip() else "") + text[span.start : span.end])
