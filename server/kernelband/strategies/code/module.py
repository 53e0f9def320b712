"""One file of the program: its syntax tree, where each node stands in the text, and the smallest edits of lists and statements."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from attrs import field, frozen

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes, syntax_tree
from kernelband.source.tree import BOM, line_starts, offset_at

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Placed = ast.expr | ast.stmt | ast.arg | ast.keyword


@frozen(eq=False)
class Module:
    """A file that parses. ``parents`` maps each node of the tree to the one around it."""

    path: str
    text: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(repr=False)

    @classmethod
    @lru_cache(maxsize=16)
    def read(cls, path: str, text: str) -> Module | None:
        """The module of ``text``, read once for all moves and never changed; None when it does not parse: then nothing can be proposed."""
        try:
            tree = syntax_tree(text.removeprefix(BOM))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return cls(path, text, tree, {child: node for node in all_nodes(tree) for child in ast.iter_child_nodes(node)})

    @cached_property
    def imported(self) -> dict[str, str]:
        """What a name that the module imports is called where it comes from; of modules their dotted name."""
        imports = (n for n in self.parents if isinstance(n, ast.Import | ast.ImportFrom))
        return {a.asname or a.name.partition(".")[0]: a.name for n in imports for a in n.names}

    @property
    def newline(self) -> str:
        r"""What ends most of this file's lines: ``\n`` when it has none."""
        pairs = self.text.count("\r\n")
        counts = {"\n": self.text.count("\n") - pairs, "\r\n": pairs, "\r": self.text.count("\r") - pairs}
        return max(counts, key=lambda end: counts[end])

    @property
    def unit(self) -> str:
        """One level of indentation: that of the first indented statement of a function."""
        for node in all_nodes(self.tree):
            if isinstance(node, FunctionNode) and (inner := self.indent(node.body[0])):
                return inner if isinstance(self.parents.get(node), ast.Module) else "    "
        return "    "

    def offset(self, line: int, column: int) -> int:
        """Character offset of a position of the tree, whose columns count bytes of UTF-8."""
        start = offset_at(self.text, line, 0)
        row = self.text[start : start + column]
        if not row.isascii():
            column = len(row.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))
        return start + column

    def span(self, node: Placed) -> Span:
        """The characters of ``node``: no parentheses around it, decorators left out."""
        return Span(self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0))

    def code(self, node: Placed) -> str:
        """The characters of ``node``, on one line when they were on several."""
        span = self.span(node)
        piece = self.text[span.start : span.end]
        return ast.unparse(node) if "\n" in piece or "\r" in piece else piece

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around ``node``, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def either(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether two nodes are in branches of which only one is taken."""
        for branch in {n for n in self.around(one) if isinstance(n, ast.If)} & set(self.around(other)):
            then, otherwise = ({n for s in part for n in all_nodes(s)} for part in (branch.body, branch.orelse))
            if (one in then and other in otherwise) or (other in then and one in otherwise):
                return True
        return False

    def function(self, qualname: str) -> FunctionNode | None:
        """The function of that Python qualname; the last of several, as Python binds it."""
        body: Sequence[ast.AST] = [self.tree]
        found: ast.AST | None = None
        for name in qualname.split("."):
            if name == "<locals>":
                continue
            found = next((n for b in reversed(body) for n in reversed(list(_definitions(b))) if n.name == name), None)
            if found is None:
                return None
            body = [found]
        return found if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) else None

    def line_start(self, offset: int) -> int:
        """Offset of the first character of the line that ``offset`` is on."""
        starts = line_starts(self.text)
        return starts[max(bisect_right(starts, offset) - 1, 0)]

    def line_end(self, offset: int) -> int:
        """Offset of the line break (or the end of the text) after ``offset``."""
        at = offset
        while at < len(self.text) and self.text[at] not in "\r\n":
            at += 1
        return at

    def indent(self, node: ast.stmt) -> str | None:
        """The blanks before a statement; None when something else stands before it on its line."""
        start = self.span(node).start
        blanks = self.text[self.line_start(start) : start].removeprefix(BOM)
        return blanks if not blanks.strip(" \t\f") else None

    def replace(self, node: Placed, new: str) -> Edit:
        """``node`` gives way to ``new``."""
        return Edit(self.span(node), new)

    def before(self, statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
        """Lines put before a statement, at its indentation; None when it shares its line."""
        indent = self.indent(statement)
        if indent is None:
            return None
        start = self.span(statement).start
        return Edit(Span(start, start), "".join(f"{line}{self.newline}{indent}" for line in lines))

    def after(self, statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
        """Lines put after a simple statement and the comment on its line; None when something else follows it there."""
        indent = self.indent(statement)
        stop = self.span(statement).end
        end = self.line_end(stop)
        if indent is None or (self.text[stop:end].strip(" \t\f") and not self.text[stop:end].lstrip(" \t\f").startswith("#")):
            return None
        return Edit(Span(end, end), "".join(f"{self.newline}{indent}{line}" for line in lines))

    def add_arguments(self, call: ast.Call, new: Sequence[str]) -> list[Edit] | None:
        """``name=value`` items at the end of a call, in the manner of its line breaks and commas; None where that is not clear."""
        items: list[Placed] = [*call.args, *call.keywords]
        close = self.span(call).end - 1
        if not new or self.text[close : close + 1] != ")" or any(isinstance(x, ast.GeneratorExp) for x in items):
            return None
        if not items:
            return [Edit(Span(close, close), ", ".join(new))]
        last = max(items, key=lambda x: self.span(x).end)
        return self._add_items(self.span(last), self.span(call).start, close, new)

    def add_elements(self, made: ast.List, new: Sequence[str]) -> list[Edit] | None:
        """Elements at the end of a list that has some, in the manner of its line breaks and commas; None where that is not clear."""
        close = self.span(made).end - 1
        return self._add_items(self.span(made.elts[-1]), self.span(made).start, close, new) if made.elts else None

    def add_parameters(self, function: FunctionNode, new: Sequence[tuple[str, str | None]]) -> list[Edit] | None:
        """Parameters at the end of a ``def``: (declaration, default). The default is written only where Python needs one."""
        given = function.args
        if given.vararg or given.kwarg or given.kwonlyargs or not given.args:
            return None
        if given.defaults and any(default is None for _, default in new):
            return None
        items = [f"{declaration} = {default}" if given.defaults else declaration for declaration, default in new]
        last = self.span(given.args[-1])
        if given.defaults:
            default = self.span(given.defaults[-1])
            if "(" in self.text[last.end : default.start]:
                return None
            last = Span(last.start, default.end)
        close = next((i for i, c in self._bare(last.end, len(self.text)) if c == ")"), None)
        return None if close is None else self._add_items(last, self.span(function).start, close, items)

    def _bare(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Characters outside comments; only for text between tokens, where no string can be."""
        comment = False
        for at in range(start, end):
            c = self.text[at]
            comment = c not in "\r\n" and (comment or c == "#")
            if not comment:
                yield at, c

    def _add_items(self, last: Span, start: int, close: int, new: Sequence[str]) -> list[Edit] | None:
        tail = list(self._bare(last.end, close))
        stop = max([last.end, *(i + 1 for i, c in tail if c == ")")])
        comma = next((i for i, c in tail if c == "," and i >= stop), None)
        if any(c not in " \t\f\r\n\\,)" for _, c in tail) or sum(c == "," for _, c in tail) > 1:
            return None
        row = self.line_start(last.start)
        own_line = row > start and not self.text[row : last.start].strip(" \t\f")
        after = stop if comma is None else comma + 1
        line_end = self.line_end(after)
        if line_end < close and (comma is not None or own_line) and row > start:
            prefix = self.text[row : last.start]
            indent = prefix[: len(prefix) - len(prefix.lstrip(" \t\f"))]
            joined = (f",{self.newline}{indent}" if own_line else ", ").join(new)  # one to a line where they stand so
            line = f"{self.newline}{indent}{joined}" + ("," if comma is not None else "")
            if comma is not None:
                return [Edit(Span(line_end, line_end), line)]
            if line_end == stop:
                return [Edit(Span(stop, stop), f",{line}")]
            return [Edit(Span(stop, stop), ","), Edit(Span(line_end, line_end), line)]
        if comma is None:
            return [Edit(Span(stop, stop), f", {', '.join(new)}")]
        return [Edit(Span(after, after), f" {', '.join(new)},")]


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes defined in the body of ``node``, under ``if`` and ``try`` too, in source order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _definitions(child)
