"""What stands before the parentheses of a launch: which kernels an expression of host code may hold.

Followed are names, attributes, tables, calls that give a kernel back, and whatever is put around one: an object that is launched as a
kernel is one, whoever wrote its class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from attrs import evolve, field, frozen
from parso.tree import NodeOrLeaf

from kernelband.source.decorators import PARTIAL, arguments, callee, keyword
from kernelband.source.dependencies import parameters
from kernelband.source.kernels import definition
from kernelband.source.made import first
from kernelband.source.model import Place
from kernelband.source.resolve import Resolver
from kernelband.source.scopes import Binding, Scopes, absolute, dotted_chain, dotted_name, qualname
from kernelband.source.tree import COMPREHENSIONS, ancestors, children, value, walk

Form = Literal["subscript", "run", "warmup", "compiled"]
METHODS: dict[str, Form] = {"run": "run", "warmup": "warmup"}
UNWRAPPED = ("fn", "jit_function")  # what an autotuner, heuristics or a project's own entry wraps
OWN = ("self", "cls")
PICKED = ("get", "setdefault", "pop")  # one out of a table
GONE_THROUGH = ("items", "values")
ENTERS = ("append", "setdefault", "update", "extend", "insert")
DISPLAYS = ("testlist_comp", "dictorsetmaker", "testlist_star_expr", "testlist", "exprlist")
MAX_DEPTH = 8


@frozen(eq=False)
class Target:
    """What stands before the parentheses of a launch: kernels, with what is already bound to them."""

    kernel: Place
    form: Form | None = None  # None: the kernel itself, not yet launchable
    grid: NodeOrLeaf | None = None
    given: tuple[NodeOrLeaf, ...] = field(default=())  # argument nodes bound by functools.partial


class Targets:
    """Answers for one file. ``named``: of imported names only those are followed that end in one of these."""

    def __init__(self, path: str, known: Scopes, resolver: Resolver, named: frozenset[str] | None) -> None:
        self.path, self.known, self.resolver, self.named = path, known, resolver, named
        self._parameters: dict[int, list[Target]] = {}
        self._listed: list[tuple[NodeOrLeaf, str]] | None = None
        self._set: list[tuple[str, NodeOrLeaf]] | None = None

    def called(self, parts: list[NodeOrLeaf], at: NodeOrLeaf) -> list[Target]:
        """What is launched by ``PARTS(...)``."""
        found: dict[tuple[Place, Form | None], Target] = {}
        for target in self._callable(parts, at, MAX_DEPTH):
            found.setdefault((target.kernel, target.form), target)
        return list(found.values())

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
        last = children(parts[-1])
        if len(parts) > 1 and value(last[0]) == "." and value(last[-1]) in UNWRAPPED:
            wrapped = self._value(parts[:-1], at, depth)
            if wrapped:
                return wrapped
        dotted = dotted_chain(parts)
        if dotted is not None:
            return self._name(dotted, at, depth)
        if len(parts) == 1:
            return self._expression(parts[0], depth)
        if value(last[0]) == "(":
            return self._call(parts[:-1], parts[-1], at, depth)
        if value(last[0]) == "[":
            return self._callable(parts, at, depth - 1) + self._held(parts[:-1], at, depth - 1)
        return []

    def _name(self, dotted: str, at: NodeOrLeaf, depth: int) -> list[Target]:
        head, _, rest = dotted.partition(".")
        if head in OWN and rest and "." not in rest:
            return self._attribute(rest, at, depth)
        names = absolute(dotted, at, self.known)
        if self.named is not None:
            names = [n for n in names if n.startswith(":") or n.rpartition(".")[2] in self.named]
        places = [p for n in names for p in self.resolver.absolute(n, self.path)]
        found = [Target(p) for p in places if self.resolver.kernel(p) is not None]
        for binding in self.known.lookup(head, at) if not rest else ():
            if binding.kind == "parameter":
                found += self._passed(binding, depth - 1)
            elif binding.value is None or _within(at, binding.value):
                continue
            elif binding.kind == "loop":
                found += self._table(binding.value, depth - 1)
            elif binding.kind == "assign" and dotted_name(binding.value) is None:
                found += self._expression(binding.value, depth - 1)
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

    # ------------------------------------------------------------ what a call gives
    def _call(self, function: list[NodeOrLeaf], trailer: NodeOrLeaf, at: NodeOrLeaf, depth: int) -> list[Target]:
        """A kernel with something around it, partly applied or compiled, one out of a table, or what a function of this text returns."""
        given = arguments(trailer)
        last = children(function[-1])
        method = value(last[-1]) if function[-1].type == "trailer" and value(last[0]) == "." else ""
        if method == "warmup":
            return [evolve(t, form="compiled") for t in self._value(function[:-1], at, depth - 1) if t.form is None]
        if method in PICKED:
            found = self._held(function[:-1], at, depth - 1) + [t for v in given[1:] for t in self._expression(v, depth - 1)]
            if found:
                return found
        dotted = dotted_chain(function)
        if dotted is not None and given and PARTIAL.intersection(absolute(dotted, at, self.known)):
            return self._partial(given, depth - 1)
        functions = self._functions(dotted, at) if dotted is not None else []
        if functions:
            return [t for f in functions for node in _returned(f) for t in self._expression(node, depth - 1)]
        inner = first(trailer)  # triton.autotune(...)(kernel), wrap_triton(kernel), Entry(kernel)
        return self._expression(inner, depth - 1) if inner is not None else []

    def _functions(self, dotted: str, at: NodeOrLeaf) -> list[NodeOrLeaf]:
        """The functions and methods of this text that a call by that name runs."""
        head, _, rest = dotted.partition(".")
        if head in OWN and rest and "." not in rest:
            return [b.statement for c in self._classes(at) for b in self.known.bindings(c, rest) if b.kind == "def"]
        names = [n for n in absolute(dotted, at, self.known) if n.startswith(":")]
        return [f for n in names if (f := definition(self.known, n[1:])) is not None]

    def _partial(self, given: list[NodeOrLeaf], depth: int) -> list[Target]:
        inner = given[0]
        parts = children(inner) if inner.type == "atom_expr" else [inner]
        return [evolve(t, given=(*t.given, *given[1:])) for t in self._callable(parts, inner, depth)]

    # ------------------------------------------------------------ parameters
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
        own = ":" + qualname(owner).removesuffix(".__init__")
        makes = own != ":" + qualname(owner)  # a call of the class
        if parameter.value is not None:
            found += self._expression(parameter.value, depth)
        for call, dotted in self._calls():
            method = makes or dotted.partition(".")[0] in OWN
            if dotted.rpartition(".")[2] != own.lstrip(":").rpartition(".")[2]:
                continue
            if not (method and not makes) and own not in absolute(dotted, call, self.known):
                continue
            given = [keyword(a) for a in arguments(call)]
            positional = [v for k, v in given if k is None]
            at = position - (1 if method and names[:1] in (["self"], ["cls"]) else 0)
            passed = [v for k, v in given if k == parameter.name] or positional[at : at + 1]
            found += [t for v in passed for t in self._expression(v, depth)]
        return found

    def _calls(self) -> list[tuple[NodeOrLeaf, str]]:
        """The parentheses of every call ``a.b(...)`` of the text with its dotted name; listed once."""
        if self._listed is None:
            self._listed = []
            for node in walk(self.known.module):
                parts = children(node) if node.type == "atom_expr" else []
                parts = parts[1:] if parts and value(parts[0]) == "await" else parts
                at = next((i for i, part in enumerate(parts) if i and value(children(part)[0]) != "."), 0)
                dotted = dotted_chain(parts[:at]) if at and value(children(parts[at])[0]) == "(" else None
                if dotted is not None:
                    self._listed.append((parts[at], dotted))
        return self._listed

    # ------------------------------------------------------------ classes
    def _classes(self, at: NodeOrLeaf) -> list[NodeOrLeaf]:
        """The class around, and those of this text that it is made of."""
        owner = next((a for a in ancestors(at) if a.type == "classdef"), None)
        found: list[NodeOrLeaf] = [owner] if owner is not None else []
        for one in found:
            bases = cast("NodeOrLeaf | None", cast("Any", one).get_super_arglist())
            for base in (children(bases) if bases.type == "arglist" else [bases]) if bases is not None else []:
                name = callee(base)
                for meant in absolute(name, one, self.known) if name is not None else []:
                    more = [b.statement for b in self.known.member(meant[1:]) if b.kind == "class"] if meant.startswith(":") else []
                    found += [c for c in more if not any(c is f for f in found)]
        return found

    def _attribute(self, name: str, at: NodeOrLeaf, depth: int) -> list[Target]:
        """``self.name``: a kernel in the class, what the class or its methods assign to it, or what a property gives."""
        if not depth:
            return []
        for owner in self._classes(at):
            own = Place(self.path, f"{qualname(owner)}.{name}")
            if self.resolver.kernel(own) is not None:
                return [Target(own)]
        nodes = [*self._kept(name, at), *(n for f in self._functions(f"self.{name}", at) for n in _returned(f))]
        return [t for node in nodes for t in self._expression(node, depth - 1)]

    def _kept(self, name: str, at: NodeOrLeaf) -> Iterator[NodeOrLeaf]:
        """What the class around or its methods assign to ``self.name``."""
        for owner in self._classes(at):
            yield from (b.value for b in self.known.bindings(owner, name) if b.kind == "assign" and b.value is not None)
            for node in walk(owner):
                if node.type == "expr_stmt" and len(children(node)) == 3 and value(children(node)[1]) == "=":
                    left, _, right = children(node)
                    if left.type == "atom_expr" and dotted_chain(children(left)) in (f"self.{name}", f"cls.{name}"):
                        yield right

    # ------------------------------------------------------------ tables
    def _held(self, parts: list[NodeOrLeaf], at: NodeOrLeaf, depth: int) -> list[Target]:
        """What is in the list, tuple or dict that an expression stands for."""
        if not parts or not depth:
            return []
        dotted = dotted_chain(parts)
        if dotted is not None:
            nodes = [*self._tables(dotted, at), *self._entered(dotted)]
            return [t for node in nodes if not _within(at, node) for t in self._table(node, depth - 1)]
        if len(parts) == 1:
            return self._table(parts[0], depth)
        last = children(parts[-1])
        if value(last[0]) == "[":  # a table of tables
            return self._held(parts[:-1], at, depth - 1)
        if value(last[0]) != "(":
            return []
        called = dotted_chain(parts[:-1])
        functions = self._functions(called, at) if called is not None else []
        given = [v for _, v in map(keyword, arguments(parts[-1]))]  # zip(names, kernels), dict(sum=kernel)
        nodes = [n for f in functions for n in _returned(f)] if functions else given
        found = [t for node in nodes for t in self._table(node, depth - 1)]
        inner = children(parts[-2]) if len(parts) > 2 else []
        if inner and value(inner[0]) == "." and value(inner[-1]) in GONE_THROUGH:
            found += self._held(parts[:-2], at, depth - 1)
        return found

    def _table(self, node: NodeOrLeaf, depth: int) -> list[Target]:
        """The kernels in a display or comprehension, or in what an expression stands for; a kernel is one in itself."""
        if not depth:
            return []
        inside = children(node)
        if node.type in DISPLAYS or (node.type == "atom" and value(inside[0]) in "([{"):
            parts = [children(child)[3] if child.type in COMPREHENSIONS else child for child in inside]  # of one, what it goes through
            return [t for part in parts for t in self._table(part, depth)]
        own = self._held([node] if node.type == "name" else inside, node, depth - 1) if node.type in ("name", "atom_expr") else []
        return self._expression(node, depth) + own

    def _tables(self, dotted: str, at: NodeOrLeaf) -> list[NodeOrLeaf]:
        """What a name or attribute of this text is bound to."""
        head, _, rest = dotted.partition(".")
        if head in OWN and rest and "." not in rest:
            return list(self._kept(rest, at))
        names = [n for n in absolute(dotted, at, self.known) if n.startswith(":")] if rest else []
        bindings = [b for n in names for b in self.known.member(n[1:])] if rest else self.known.lookup(head, at)
        return [b.value for b in bindings if b.kind in ("assign", "loop") and b.value is not None]

    def _entered(self, dotted: str) -> list[NodeOrLeaf]:
        """What is put into a table one by one: ``TABLE["sum"] = kernel``, ``TABLE.append(kernel)``."""
        if self._set is None:
            self._set = []
            for node in walk(self.known.module):
                parts = children(node) if node.type == "expr_stmt" else []
                target = children(parts[0]) if len(parts) == 3 and parts[0].type == "atom_expr" and value(parts[1]) == "=" else []
                name = dotted_chain(target[:-1]) if target and value(children(target[-1])[0]) == "[" else None
                if name is not None:
                    self._set.append((name, parts[2]))
            for call, name in self._calls():
                table, _, method = name.rpartition(".")
                if table and method in ENTERS:
                    self._set += [(table, v) for _, v in map(keyword, arguments(call))]
        return [node for name, node in self._set if name == dotted]


def _returned(function: NodeOrLeaf) -> list[NodeOrLeaf]:
    """The expressions that a function returns."""
    returns = (n for n in walk(function) if n.type == "return_stmt" and len(children(n)) > 1)
    return [children(n)[1] for n in returns if next(a for a in ancestors(n) if a.type == "funcdef") is function]


def _within(node: NodeOrLeaf, outer: NodeOrLeaf) -> bool:
    return node is outer or any(a is outer for a in ancestors(node))
