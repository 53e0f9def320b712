"""Launches in host code: which kernel a call starts, with which grid, arguments and options."""

from __future__ import annotations

from collections.abc import Iterator

from parso.tree import NodeOrLeaf

from kernelband.source.decorators import OPTIONS, arguments, dictionary, keyword, unquoted
from kernelband.source.dependencies import assignments
from kernelband.source.model import Expression, Kernel, Launch, Place, Span
from kernelband.source.resolve import Resolver
from kernelband.source.scopes import Scopes, qualname
from kernelband.source.targets import METHODS, Target, Targets
from kernelband.source.tree import ancestors, children, expression, line_column, node_span, read_names, value, walk

WRAPPERS = ("wrap_triton", "capture_triton")  # torch.library: a kernel in disguise
NOT_ARGUMENTS = ("grid", "warmup")


def find_launches(
    path: str, resolver: Resolver, *, within: NodeOrLeaf | None = None, named: frozenset[str] | None = None
) -> list[tuple[Launch, NodeOrLeaf | None]]:
    """Every launch of a known kernel in a file, in source order, with the funcdef that it stands in (None at module level).

    Args:
        path: the file.
        resolver: where names lead.
        within: only launches in this node.
        named: of imported names only those are followed that end in one of these: other files aren't read for nothing.
    """
    known = resolver.scopes(path)
    finder = _Finder(path, known, resolver, named)
    out: list[tuple[Launch, NodeOrLeaf | None]] = []
    for node in walk(within or known.module):
        if node.type == "atom_expr":
            host = next((a for a in ancestors(node) if a.type == "funcdef"), None)
            out += [(launch, host) for launch in finder.launches(node, host)]
    return out


class _Finder:
    def __init__(self, path: str, known: Scopes, resolver: Resolver, named: frozenset[str] | None) -> None:
        self.path, self.known, self.resolver = path, known, resolver
        self._targets = Targets(path, known, resolver, named)

    def launches(self, node: NodeOrLeaf, host: NodeOrLeaf | None) -> Iterator[Launch]:
        parts = children(node)
        for i in range(1, len(parts)):
            if parts[i].type != "trailer" or value(children(parts[i])[0]) != "(":
                continue
            for target in self._targets.called(parts[:i], node):
                kernel = self.resolver.kernel(target.kernel) if target.form is not None else None
                if kernel is not None and (target.form not in METHODS or _has_grid(parts[i])):
                    yield self._launch(kernel, target, node, parts[i], host)

    # ------------------------------------------------------------ what is passed
    def _launch(self, kernel: Kernel, target: Target, node: NodeOrLeaf, trailer: NodeOrLeaf, host: NodeOrLeaf | None) -> Launch:
        text = self.known.text
        names = [p.name for p in kernel.parameters]
        passed: dict[str, Expression] = {}
        options: dict[str, Expression] = {}
        unpacked: list[str] = []
        grid, position = target.grid, 0
        for key, given in [keyword(a) for a in (*target.given, *arguments(trailer))]:
            if key is None:
                if 0 <= position < len(names):
                    passed[names[position]] = expression(given, text)
                    position += 1
            elif key == "*":
                position = -1  # what comes after can't be told by position
                unpacked += read_names(given)
            elif key == "**":
                unpacked += read_names(given)
                self._sort({k: expression(v, text) for k, v in self._items(given, node)}, names, passed, options)
            elif key == "grid" and target.form in ("run", "warmup") and "grid" not in names:
                grid = given
            else:
                self._sort({key: expression(given, text)}, names, passed, options)
        span, call = node_span(node, text), node_span(trailer, text)
        used = [*(read_names(grid) if grid is not None else ()), *unpacked]
        used += [n for e in (*passed.values(), *options.values()) for n in e.names]
        return Launch(
            kernel=kernel.place,
            host=Place(self.path, qualname(host)) if host is not None else None,
            span=Span(span.start, call.end),
            call=call,
            grid=expression(grid, text) if grid is not None else None,
            arguments=passed,
            options=options,
            assignments=assignments(used, node, self.known),
            line=line_column(text, span.start)[0],
            form=target.form or "subscript",
        )

    @staticmethod
    def _sort(given: dict[str, Expression], names: list[str], passed: dict[str, Expression], options: dict[str, Expression]) -> None:
        for key, what in given.items():
            if key in names:
                passed[key] = what
            if key in OPTIONS or (key not in names and key not in NOT_ARGUMENTS):  # a parameter named num_stages sets the option too
                options[key] = what

    def _items(self, node: NodeOrLeaf, at: NodeOrLeaf) -> list[tuple[str, NodeOrLeaf]]:
        """The items of an unpacked dict: written on the spot, where its variable is bound, or set one by one (``o["BLOCK"] = 64``)."""
        items = dictionary(node)
        if items or node.type != "name":
            return items
        bindings = self.known.lookup(value(node), at)
        items = [pair for b in bindings if b.kind == "assign" and b.value is not None for pair in dictionary(b.value)]
        for statement in walk(bindings[0].scope) if bindings else ():
            parts = children(statement)
            if statement.type == "expr_stmt" and len(parts) == 3 and value(parts[1]) == "=" and parts[0].type == "atom_expr":
                target = children(parts[0])
                inside = children(target[-1])
                if len(target) == 2 and value(target[0]) == value(node) and len(inside) == 3 and inside[1].type == "string":
                    items.append((unquoted(value(inside[1])), parts[2]))
        return items


def _has_grid(trailer: NodeOrLeaf) -> bool:
    """``run`` and ``warmup`` of a kernel are told one by its name; other objects have methods of these names too."""
    return any(key in ("grid", "**") for key, _ in map(keyword, arguments(trailer)))
