"""The key of a program's text: two texts with the same one are the same program, however they are written.

Source counts in normal form: the syntax tree, so comments, blank lines, quoting and wrapping don't matter.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from textwrap import dedent

from kernelband.source.model import Program
from kernelband.source.syntax import syntax_tree


def source_key(program: Program) -> str:
    """Hash of kernel, helpers, host functions and the globals that they read."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for kernel in (program.kernel, *program.helpers):
        spans.setdefault(kernel.place.path, []).append((kernel.span.start, kernel.span.end))
    for host in program.hosts:
        spans.setdefault(host.place.path, []).append((host.span.start, host.span.end))
    parts = [_file(program.texts[path], found) for path, found in sorted(spans.items())]
    return sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def normal_form(text: str) -> str:
    """The syntax tree without positions; the text without blank ends where it doesn't parse."""
    try:
        return ast.dump(syntax_tree(dedent(text)))
    except (SyntaxError, ValueError):
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _file(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    pieces = [_whole_lines(text, a, b) for a, b in sorted(spans)]
    return [normal_form(p) for p in pieces] + _globals(text, pieces)


def _whole_lines(text: str, start: int, end: int) -> str:
    """The text of a span with the indentation before it, so that it can be dedented: a method starts in mid-line."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    return (before if not before.strip() else "") + text[start:end]


def _globals(text: str, pieces: Sequence[str]) -> list[str]:
    """The module-level definitions, assignments and imports that the pieces read, directly or through one another; also those below an
    ``if``, ``try`` or ``with``, then with its condition.
    """
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError):
        return []  # mid-edit elsewhere in the file; the pieces still count
    made: dict[str, list[ast.stmt]] = {}
    lines = text.split("\n")
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):  # that of a method that counts: the others of it don't
            chunk = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            if any(piece.strip() in chunk for piece in pieces):
                continue
        for name in _binds(statement):
            made.setdefault(name, []).append(statement)
    wanted = set[str]()
    todo = [name for piece in pieces for name in _reads(piece)]
    while todo:
        name = todo.pop()
        if name in made and name not in wanted:
            wanted.add(name)
            todo += [n.id for s in made[name] for n in ast.walk(s) if isinstance(n, ast.Name)]
    return [f"{name}={ast.dump(s)}" for name in sorted(wanted) for s in made[name]]


def _binds(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.If, ast.Try, ast.With)):
        inner = [n for n in ast.iter_child_nodes(statement) if isinstance(n, (ast.stmt, ast.ExceptHandler))]
        flat = [s for n in inner for s in (n.body if isinstance(n, ast.ExceptHandler) else [n])]
        return [name for s in flat for name in _binds(s)]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(a.asname or a.name).partition(".")[0] for a in statement.names]
    if isinstance(statement, ast.Assign):
        return [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


def _reads(piece: str) -> list[str]:
    try:
        tree = syntax_tree(dedent(piece))
    except (SyntaxError, ValueError):
        return []
    return [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
