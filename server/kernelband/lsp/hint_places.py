"""Hints in the text of now: the lines that facts are of have moved."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import PurePath
from textwrap import dedent

from attrs import frozen

from kernelband.explain.hints import COST, Hint
from kernelband.lsp.text import TERMINATOR, Lines
from kernelband.source.model import Kernel, Span
from kernelband.source.syntax import syntax_tree

_LAYOUT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})
MOST_TOKENS = 5000  # of a function that is compared token by token


@frozen
class Placed:
    """A hint with the span, in the document's text, of what it is about."""

    kernel: str
    code: str
    message: str
    span: Span


def placed(hints: Iterable[Hint], base: tuple[str, str], kernel: Kernel, kernels: Sequence[Kernel], lines: Lines) -> tuple[Placed, ...]:
    """Of one kernel.

    Args:
        hints: of the kernel.
        base: path and text of the kernel's file that their lines are of; the document may have another name by now.
        kernel: as it stands in the document, unchanged but for how it is written.
        kernels: all of the document.
        lines: the document's text.
    """
    base_path, base_text = base
    moved = _Moved(base_text, kernel, kernels, lines)
    out: list[Placed] = []
    for hint in hints:
        span, message = kernel.name_span, hint.message
        if hint.where == "launch":
            span = _launch(kernel, kernels, lines) or span
        elif hint.where == "line":
            inside, line = moved.line(hint.line) if hint.path == base_path else (True, None)
            if hint.path != base_path:
                message = f"{message} It is line {hint.line} of {PurePath(hint.path).name}."
            if not inside and hint.code == "out-of-bounds":  # another kernel's: all that the program did was watched
                continue
            if line is None and hint.code == COST:  # that is said at the line itself or nowhere
                continue
            span = _code(lines, line) if line is not None else span
        out.append(Placed(kernel.place.qualname, hint.code, message, span))
    return tuple(dict.fromkeys(out))


class _Moved:
    """Finds lines of the base in the document: the same token of the same function."""

    def __init__(self, base: str, kernel: Kernel, kernels: Sequence[Kernel], lines: Lines) -> None:
        self._base, self._now = base, lines
        names = {kernel.place.qualname, *(h.qualname for h in kernel.helpers if h.path == kernel.place.path)}
        self._units = {k.place.qualname: k.span for k in (*kernels, kernel) if k.place.qualname in names}

    def line(self, number: int) -> tuple[bool, int | None]:
        """Whether that line of the base (from 1) is in the kernel or a helper; the document's line (from 0), None where it isn't clear."""
        there = functions(self._base)
        for name, span in self._units.items():
            first, last = there.get(name, (0, 0))
            if first <= number <= last:
                return True, self._same(_whole(Lines(self._base), first - 1, last - 1), number - first, span)
        return False, None

    def _same(self, piece: str, number: int, span: Span) -> int | None:
        start, end = self._now.line(span.start), self._now.line(max(span.end - 1, span.start))
        other = _whole(self._now, start, end)
        old, new = _tokens(piece), _tokens(other)
        at = next((i for i, (_, line) in enumerate(old) if line == number), None)
        if at is None:
            return None
        words, now = [w for w, _ in old], [w for w, _ in new]
        if words == now:
            return start + new[at][1]
        if max(len(words), len(now)) > MOST_TOKENS:
            return None
        for block in SequenceMatcher(None, words, now, autojunk=False).get_matching_blocks():
            if block.a <= at < block.a + block.size:
                return start + new[block.b + at - block.a][1]
        return None


@lru_cache(maxsize=16)
def functions(text: str) -> dict[str, tuple[int, int]]:
    """First (decorators included) and last line of every function, from 1, by qualname; of several with one name the last."""
    try:
        tree = syntax_tree(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, tuple[int, int]] = {}
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, prefix = todo.pop(0)
        for child in ast.iter_child_nodes(node):
            below = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = prefix + child.name
                below = f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>."
                if not isinstance(child, ast.ClassDef):
                    found[name] = min([child.lineno, *(d.lineno for d in child.decorator_list)]), child.end_lineno or child.lineno
            todo.append((child, below))
    return found


def _whole(lines: Lines, first: int, last: int) -> str:
    """The text of those lines (from 0), without their indentation. Every kind of line end becomes one that Python knows."""
    last = min(last, len(lines.starts) - 1)
    return dedent(TERMINATOR.sub("\n", lines.text[lines.starts[min(first, last)] : lines.end(last)]))


def _tokens(piece: str) -> list[tuple[str, int]]:
    """Those that aren't layout, with their lines from 0; none where the piece can't be read by itself."""
    try:
        return [(t.string, t.start[0] - 1) for t in tokenize.generate_tokens(io.StringIO(piece + "\n").readline) if t.type not in _LAYOUT]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return []


def _launch(kernel: Kernel, kernels: Sequence[Kernel], lines: Lines) -> Span | None:
    """The only place in the document that launches it."""
    found = [
        m.start()
        for m in re.finditer(rf"(?<![\w.]){re.escape(kernel.place.name)}\s*(?:\[|\.\s*(?:run|warmup)\s*\()", lines.text)
        if "#" not in lines.text[lines.starts[lines.line(m.start())] : m.start()]
        and not any(k.span.start <= m.start() < k.span.end for k in kernels)
    ]
    return _code(lines, lines.line(found[0])) if len(found) == 1 else None


def _code(lines: Lines, line: int) -> Span:
    """What stands on a line, without what is around it."""
    line = min(max(line, 0), len(lines.starts) - 1)
    start, end = lines.starts[line], lines.end(line)
    shown = lines.text[start:end].rstrip()
    return Span(start + len(shown) - len(shown.lstrip()), start + len(shown)) if shown.strip() else Span(start, end)


def wanted(found: Iterable[Placed], setting: bool | Collection[str]) -> tuple[Placed, ...]:
    """Those that the setting ``diagnostics`` lets through: all, none, or all but the codes listed."""
    if isinstance(setting, bool):
        return tuple(found) if setting else ()
    return tuple(p for p in found if p.code not in setting)
