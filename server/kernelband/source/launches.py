"""Launches in host code: which kernel a call starts, with which grid, arguments and options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from attrs import evolve, field, frozen
from parso.tree import NodeOrLeaf

from kernelband.source.decorators import AUTOTUNE, HEURISTICS, OPTIONS, PARTIAL, arguments, dictionary, keyword, unquoted
from kernelband.source.dependencies import assignments, parameters
from kernelband.source.kernels import definition
from kernelband.source.model import Expression, Kernel, Launch, Place, Span
from kernelband.source.resolve import Resolver
from kernelband.source.scopes import Binding, Scopes, absolute, dotted_chain, dotted_name, qualname
from kernelband.source.tree import ancestors, children, expression, line_column, node_span, read_names, value, walk

Form = Literal["subscript", "run", "warmup", "compiled"]
WRAPPERS = ("wrap_triton", "capture_triton")  # torch.library: a kernel in disguise
METHODS: dict[str, Form] = {"run": "run", "warmup": "warmup"}
NOT_ARGUMENTS = ("grid", "warmup")
MAX_DEPTH = 6


@frozen(eq=False)
class Target:
    """What stands before the parentheses of a launch: kernels, with what is already bound to them."""

    kernel: Place
    form: Form | None = None  # None: the kernel itself, not yet launchable
    grid: NodeOrLeaf | None = None
    given: tuple[NodeOrLeaf, ...] = field(default=())  # argument nodes bound by functools.partial


def find_launches(
    path: str, resolver: Resolver, *, within: NodeOrLeaf | None = None, named: str | None = None
) -> list[tuple[Launch, NodeOrLeaf | None]]:
    """Every launch of a known kernel in a file, in source order, with the funcdef that it stands in (None at module level).

    Args:
        path: the file.
        resolver: where names lead.
        within: only launches in this node.
        named: of imported names only those are followed that end so: other files aren't read for nothing.
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
    def __init__(self, path: str, known: Scopes, resolver: Resolver, named: str | None) -> None:
        self.path, self.known, self.resolver, self.named = path, known, resolver, named
        self._parameters: dict[int, list[Target]] = {}
        self._listed: list[tuple[NodeOrLeaf, str]] | None = None

    def launches(self, node: NodeOrLeaf, host: NodeOrLeaf | None) -> Iterator[Launch]:
        parts = children(node)
        for i in range(1, len(parts)):
            if parts[i].type != "trailer" or value(children(parts[i])[0]) != "(":
                continue
            for target in self._callable(parts[:i], node, MAX_DEPTH):
                kernel = self.resolver.kernel(target.kernel) if target.form is not None else None
                if kernel is not None:
                    yield self._launch(kernel, target, node, parts[i], host)

    # ------------------------------------------------------------ what is called
    def _callable(self, parts: list[NodeOrLeaf], at: NodeOrLeaf, depth: int) -> list[Target]:
        """What ``kernel[grid]``, ``kernel.run`` or a variable that holds one of these stands for."""
        last = children(parts[-1]) if parts[-1].type == "trailer" else []
        if last and value(last[0]) == "[" and len(last) == 3:
            return [
                evolve(t, form=t.form or "subscript", grid=last[1])
                for t in self._value(parts[:-1], at, depth)
                if t.form in (None, "compiled")
            ]
        if last and value(last[0]) == "." and value(last[-1]) in METHODS:
            form = METHODS[value(last[-1])]
            return [evolve(t, form=form) for t in self._value(parts[:-1], at, depth) if t.form is None]
        if len(parts) == 1:
            return [t for t in self._value(parts, at, depth) if t.form not in (None, "compiled")]
        return []

    def _value(self, parts: list[NodeOrLeaf], at: NodeOrLeaf, depth: int) -> list[Target]:
        """The kernels, compiled kernels and bound launchers that an expression may hold."""
        if not parts or not depth:
            return []
        while len(parts) > 1 and parts[-1].type == "trailer" and [value(c) for c in children(parts[-1])] == [".", "fn"]:
            parts = parts[:-1]  # what an autotuner or heuristics wraps
        dotted = dotted_chain(parts)
        if dotted is not None:
            return self._name(dotted, at, depth)
        if len(parts) == 1:
            return self._expression(parts[0], depth)
        inside = children(parts[-1])
        if value(inside[0]) == "(":
            return self._call(parts[:-1], parts[-1], at, depth)
        if value(inside[0]) == "[":
            return self._callable(parts, at, depth - 1)
        return []

    def _name(self, dotted: str, at: NodeOrLeaf, depth: int) -> list[Target]:
        head, _, rest = dotted.partition(".")
        if head in ("self", "cls") and rest and "." not in rest:
            return self._attribute(rest, at, depth)
        names = absolute(dotted, at, self.known)
        if self.named is not None:
            names = [n for n in names if n.startswith(":") or n.rpartition(".")[2] == self.named]
        places = [p for n in names for p in self.resolver.absolute(n, self.path)]
        found = [Target(p) for p in places if self.resolver.kernel(p) is not None]
        for binding in self.known.lookup(head, at) if not rest else ():
            if binding.kind == "parameter":
                found += self._passed(binding, depth - 1)
            elif binding.kind == "assign" and binding.value is not None and dotted_name(binding.value) is None:
                found += self._expression(binding.value, depth - 1) if not _within(at, binding.value) else []
        return found

    def _passed(self, parameter: Binding, depth: int) -> list[Target]:
        """The kernels that calls in this text pass for a parameter, and its default."""
        key = id(parameter.statement)
        if key in self._parameters or not depth:
            return self._parameters.get(key, [])
        found: list[Target] = []
        self._parameters[key] = found
        owner = parameter.scope
        names = parameters(owner)
        position = names.index(parameter.name)
        own = ":" + qualname(owner)
        if parameter.value is not None:
            found += self._expression(parameter.value, depth)
        for call, dotted in self._calls():
            method = dotted.partition(".")[0] in ("self", "cls")
            if dotted.rpartition(".")[2] != qualname(owner).rpartition(".")[2] or not (method or own in absolute(dotted, call, self.known)):
                continue
            given = [keyword(a) for a in arguments(children(call)[-1])]
            positional = [v for k, v in given if k is None]
            at = position - (1 if method and names[:1] in (["self"], ["cls"]) else 0)
            passed = [v for k, v in given if k == parameter.name] or positional[at : at + 1]
            found += [t for v in passed for t in self._expression(v, depth)]
        return found

    def _calls(self) -> list[tuple[NodeOrLeaf, str]]:
        """Every plain call ``a.b(...)`` of the text with its dotted name; listed once."""
        if self._listed is None:
            nodes = (n for n in walk(self.known.module) if n.type == "atom_expr" and value(children(children(n)[-1])[0]) == "(")
            named = ((n, dotted_chain(children(n)[:-1])) for n in nodes)
            self._listed = [(n, dotted) for n, dotted in named if dotted is not None]
        return self._listed

    def _attribute(self, name: str, at: NodeOrLeaf, depth: int) -> list[Target]:
        """``self.name``: a kernel in the class, or what the class or its methods assign to it."""
        owner = next((a for a in ancestors(at) if a.type == "classdef"), None)
        if owner is None or not depth:
            return []
        own = Place(self.path, f"{qualname(owner)}.{name}")
        if self.resolver.kernel(own) is not None:
            return [Target(own)]
        found = [
            t
            for b in self.known.bindings(owner, name)
            if b.kind == "assign" and b.value is not None
            for t in self._expression(b.value, depth - 1)
        ]
        for node in walk(owner):
            if node.type == "expr_stmt" and len(children(node)) == 3 and value(children(node)[1]) == "=":
                left, _, right = children(node)
                if left.type == "atom_expr" and dotted_chain(children(left)) in (f"self.{name}", f"cls.{name}"):
                    found += self._expression(right, depth - 1)
        return found

    def _expression(self, node: NodeOrLeaf, depth: int) -> list[Target]:
        if not depth:
            return []
        inside = children(node)
        if node.type == "name":
            return self._value([node], node, depth)
        if node.type == "atom_expr":
            return self._value(inside, node, depth)
        if node.type == "atom" and len(inside) == 3 and value(inside[0]) == "(":
            return self._expression(inside[1], depth)
        if node.type == "ternary" or (node.type == "test" and len(inside) == 5):
            return self._expression(inside[0], depth - 1) + self._expression(inside[4], depth - 1)
        if node.type == "or_test":
            return [t for part in inside[::2] for t in self._expression(part, depth - 1)]
        return []

    def _call(self, function: list[NodeOrLeaf], trailer: NodeOrLeaf, at: NodeOrLeaf, depth: int) -> list[Target]:
        """What a call gives: a wrapped or partly applied kernel, a compiled one, or what a function of this text returns."""
        given = arguments(trailer)
        last = children(function[-1])
        if function[-1].type == "trailer" and value(last[0]) == "." and value(last[-1]) == "warmup":
            return [evolve(t, form="compiled") for t in self._value(function[:-1], at, depth - 1) if t.form is None]
        dotted = dotted_chain(function)
        if dotted is None:  # triton.autotune(...)(kernel)
            outer = callee_of(function, self.known, at)
            return self._expression(given[0], depth - 1) if outer & (AUTOTUNE | HEURISTICS) and given else []
        names = absolute(dotted, at, self.known)
        if given and dotted.rpartition(".")[2] in WRAPPERS:
            return self._expression(given[0], depth - 1)
        if given and PARTIAL.intersection(names):
            return self._partial(given, depth - 1)
        out: list[Target] = []
        for name in names:
            made = definition(self.known, name[1:]) if name.startswith(":") else None
            if made is None:
                continue
            for node in walk(made):
                if node.type == "return_stmt" and next(a for a in ancestors(node) if a.type == "funcdef") is made:
                    out += self._expression(children(node)[1], depth - 1)
        return out

    def _partial(self, given: list[NodeOrLeaf], depth: int) -> list[Target]:
        first = given[0]
        parts = children(first) if first.type == "atom_expr" else [first]
        return [evolve(t, given=(*t.given, *given[1:])) for t in self._callable(parts, first, depth)]

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


def callee_of(function: list[NodeOrLeaf], known: Scopes, at: NodeOrLeaf) -> frozenset[str]:
    """The absolute names of ``f`` in ``f(...)``, given as the nodes ``f`` and ``(...)``."""
    dotted = dotted_chain(function[:-1])
    return frozenset(absolute(dotted, at, known)) if dotted is not None else frozenset()


def _within(node: NodeOrLeaf, outer: NodeOrLeaf) -> bool:
    return node is outer or any(a is outer for a in ancestors(node))
