"""A kernel's body: which language functions it calls, what each access depends on, its loops and reductions.

Dependence is by name and ignores order: a name depends on whatever any of its assignments reads. That errs on the side of more
dependence, which makes preconditions refuse rather than lie.

Tokens of a dependence: ``#NAME`` an ``arange`` over the constexpr NAME, ``@0`` the program id of an axis, ``NAME`` a parameter,
``~NAME`` a loop's variable.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property, lru_cache

from attrs import field, frozen

from kernelband.source.model import Kernel
from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import binding, paired, target_names
from kernelband.strategies.code.module import FunctionNode, Module
from kernelband.strategies.code.names import LANGUAGE, module_alias, of_language, origins

#: Order of summation matters in these; in the rest of REDUCTIONS it does not.
SUMS = frozenset({"sum", "cumsum", "cumprod", "dot", "dot_scaled", "reduce", "associative_scan", "xor_sum", "softmax", "histogram"})
REDUCTIONS = SUMS | {"max", "min", "argmax", "argmin", "reduce_or", "sort", "topk", "cummax", "cummin"}
ATOMICS = frozenset({"atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg", "atomic_cas"})
RANGES = frozenset({"range", "static_range"})


@frozen(eq=False)
class Access:
    """A ``tl.load`` or ``tl.store`` through a pointer. ``blocks`` are the constexprs whose ``arange`` reaches the pointer."""

    call: ast.Call
    store: bool
    pointer: ast.expr
    mask: ast.expr | None
    other: ast.expr | None
    depends: frozenset[str]
    loops: tuple[ast.For, ...]  # innermost first

    @property
    def blocks(self) -> frozenset[str]:
        return frozenset(x[1:] for x in self.depends if x.startswith("#"))

    @property
    def by_program(self) -> bool:
        """Another program accesses other elements."""
        return any(x.startswith("@") for x in self.depends)


@frozen(eq=False)
class Loop:
    """``for NAME in range(start, stop, step)`` of the kernel. ``kind``: "" for the built-in range, else the language's name of it."""

    node: ast.For
    call: ast.Call
    variable: str
    kind: str  # "builtin" | "range" | "static_range"
    start: ast.expr | None
    stop: ast.expr
    step: ast.expr | None
    innermost: bool
    accesses: tuple[Access, ...]
    has_dot: bool


@frozen(eq=False)
class KernelView:
    """A kernel's function in its module, with the dependence of every name in it."""

    module: Module
    model: Kernel
    node: FunctionNode
    language: str  # how this module spells triton.language: "tl"
    depends: dict[str, frozenset[str]] = field(repr=False)
    unwrapped: dict[str, frozenset[str]] = field(repr=False)  # the same, without what a ``%`` wraps round
    wrapped: frozenset[str] = frozenset()  # helpers that only ask for the program's id, as the kernel spells them

    @classmethod
    @lru_cache(maxsize=16)
    def read(cls, module: Module, model: Kernel, wrapped: frozenset[str] = frozenset()) -> KernelView | None:
        """Read once for all moves; None when the function isn't there, or the module doesn't import the language."""
        node = module.function(model.place.qualname)
        language = _language(module.tree)
        if node is None or language is None:
            return None
        empty = cls(module, model, node, language, {}, {}, wrapped)
        return cls(module, model, node, language, empty.flow(wrap=True), empty.flow(wrap=False), wrapped)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The function and everything in it: moves ask again and again."""
        return tuple(all_nodes(self.node))

    # ------------------------------------------------------------ names

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(a.arg for a in (*self.node.args.posonlyargs, *self.node.args.args, *self.node.args.kwonlyargs))

    @property
    def constexprs(self) -> frozenset[str]:
        return frozenset(p.name for p in self.model.parameters if p.constexpr)

    def tl(self, node: ast.AST) -> str | None:
        """Name of the language function that ``node`` calls: "load" for ``tl.load(...)``, and for ``load(...)`` where it is imported."""
        if not isinstance(node, ast.Call):
            return None
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == self.language:
            return called.attr
        root = called
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self._own or root.id not in self._elsewhere:
            return None
        spelled = ast.unparse(called)
        if spelled not in self._meant:
            self._meant[spelled] = of_language(origins(self.module.parents, called, self._own))
        return self._meant[spelled]

    @cached_property
    def _elsewhere(self) -> frozenset[str]:
        """Names that the module imports or binds."""
        return frozenset(self.module.imported) | {*binding(self.module.tree)}

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(self.parameters) | {*binding(self.node)}

    @cached_property
    def _meant(self) -> dict[str, str | None]:
        """What ``tl`` has found of names that aren't ``language``'s own."""
        return {}

    def calls(self, names: frozenset[str] | set[str]) -> list[ast.Call]:
        """Calls of those language functions, in source order; ``x.sum()`` counts as ``tl.sum(x)``."""
        return [call for name, call in self._calls if name in names]

    @cached_property
    def _calls(self) -> list[tuple[str, ast.Call]]:
        """Every call of a language function, by its name, in source order."""
        found: list[tuple[str, ast.Call]] = []
        for node in self.nodes:
            if not isinstance(node, ast.Call):
                continue
            name = self.tl(node) or (node.func.attr if isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS else None)
            if name is not None:
                found.append((name, node))
        return sorted(found, key=lambda x: (x[1].lineno, x[1].col_offset))

    def is_id(self, node: ast.AST) -> bool:
        """Whether it asks for the program's id along an axis, of the language or of a helper that asks it."""
        return self.tl(node) == "program_id" or (
            isinstance(node, ast.Call) and bool(self.wrapped) and ast.unparse(node.func) in self.wrapped
        )

    @cached_property
    def ids(self) -> tuple[ast.Call, ...]:
        """The calls that ask for the program's id, in source order."""
        found = [n for n in self.nodes if isinstance(n, ast.Call) and self.is_id(n)]
        return tuple(sorted(found, key=lambda n: (n.lineno, n.col_offset)))

    def bindings(self, name: str) -> list[ast.stmt]:
        """Statements of the kernel that bind ``name``."""
        return binding(self.node).get(name, [])

    def free_name(self, wanted: str) -> str:
        """``wanted``, with underscores until nothing in the kernel is called that."""
        taken = {n.id for n in self.nodes if isinstance(n, ast.Name)} | set(self.parameters)
        while wanted in taken:
            wanted += "_"
        return wanted

    # ------------------------------------------------------------ dependence

    def flow(self, *, wrap: bool) -> dict[str, frozenset[str]]:
        """Tokens that each name depends on, to a fixed point. Without ``wrap``, ``a % b`` hides the aranges of ``a``."""
        known: dict[str, frozenset[str]] = {p: frozenset({p}) for p in self.parameters}
        changed = True
        while changed:
            changed = False
            for statement in self.nodes:
                for name, reads in self._bound(statement, known, wrap=wrap):
                    merged = known.get(name, frozenset()) | reads
                    if merged != known.get(name):
                        known[name] = merged
                        changed = True
        return known

    def _bound(self, node: ast.AST, known: dict[str, frozenset[str]], *, wrap: bool) -> Iterator[tuple[str, frozenset[str]]]:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target, value in (each for t in targets for each in paired(t, node.value)):
                reads = self._tokens(value, known, wrap=wrap)
                for name in target_names(target):
                    yield name, reads
        elif isinstance(node, ast.For):
            reads = self._tokens(node.iter, known, wrap=wrap)
            for name in target_names(node.target):
                yield name, reads | {f"~{name}"}

    def _tokens(self, node: ast.AST, known: dict[str, frozenset[str]], *, wrap: bool) -> frozenset[str]:
        if isinstance(node, ast.Name):
            return known.get(node.id, frozenset())
        called = self.tl(node)
        if isinstance(node, ast.Call) and called == "arange":
            ends = node.args[1:] or [k.value for k in node.keywords if k.arg == "end"]
            return frozenset(f"#{ast.unparse(e)}" for e in ends)
        if isinstance(node, ast.Call) and self.is_id(node):
            axis = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "axis"), None)
            return frozenset({f"@{ast.unparse(axis)}" if axis is not None else "@?"})
        if isinstance(node, ast.Call) and called in ("zeros", "full", "num_programs"):
            return frozenset()
        inside: frozenset[str] = frozenset()
        for child in ast.iter_child_nodes(node):
            inside |= self._tokens(child, known, wrap=wrap)
        if called == "make_block_ptr" and isinstance(node, ast.Call) and (block := block_shape(node)) is not None:
            inside |= {f"#{n.id}" for n in all_nodes(block) if isinstance(n, ast.Name)}
        if not wrap and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return frozenset(x for x in inside if not x.startswith("#"))
        return inside

    def tokens(self, node: ast.AST, *, wrap: bool = True) -> frozenset[str]:
        """What an expression of the kernel depends on."""
        return self._tokens(node, self.depends if wrap else self.unwrapped, wrap=wrap)

    # ------------------------------------------------------------ what is in it

    @property
    def sums(self) -> bool:
        """Another block or number of warps may add in another order. A helper that can't be seen counts."""
        return bool(self.calls(SUMS) or self.calls(ATOMICS) or self.model.helpers)

    def accesses(self) -> list[Access]:
        """Pointer loads and stores, in source order. Block pointers and descriptors are not among them."""
        found: list[Access] = []
        for call in self.calls({"load", "store"}):
            store = self.tl(call) == "store"
            if (
                not call.args
                or any(isinstance(a, ast.Starred) for a in call.args)
                or any(k.arg in (None, "boundary_check") for k in call.keywords)
            ):
                continue
            named = {k.arg: k.value for k in call.keywords if k.arg}
            place = 2 if store else 1
            mask = named.get("mask", call.args[place] if len(call.args) > place else None)
            other = None if store else named.get("other", call.args[2] if len(call.args) > 2 else None)
            loops = tuple(n for n in self.module.around(call) if isinstance(n, ast.For))
            found.append(Access(call, store, call.args[0], mask, other, self.tokens(call.args[0]), loops))
        return found

    def extents(self, block: str) -> frozenset[str]:
        """Run-time parameters that the indices over ``block`` end at: a mask, a ``%``, ``cdiv(N, BLOCK)``, a loop in steps of it."""
        token, ends = f"#{block}", list[ast.expr]()
        for node in self.nodes:
            if isinstance(node, ast.Compare) and token in self.tokens(node.left):
                ends += node.comparators
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and token in self.tokens(node.left):
                ends.append(node.right)
            elif self.tl(node) == "cdiv" and isinstance(node, ast.Call) and len(node.args) == 2 and ast.unparse(node.args[1]) == block:
                ends.append(node.args[0])
        ends += [x.stop for x in self.loops() if x.step is not None and ast.unparse(x.step) == block]
        found: frozenset[str] = frozenset()
        for end in ends:
            tokens = self.tokens(end)
            if not any(t.startswith("#") for t in tokens):
                found |= tokens & (frozenset(self.parameters) - self.constexprs)
        return found

    @cached_property
    def ends(self) -> dict[str, frozenset[str]]:
        """``extents`` of each side of the tile."""
        return {side: self.extents(side) for side in self.aranges()}

    def dealt(self, block: str) -> set[str]:
        """Axes of the grid (``@0``) whose program ids are multiplied by the block."""
        products = [n for n in self.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)]
        own = [n for n in products if block in (ast.unparse(n.left), ast.unparse(n.right))]
        return {t for n in own for t in self.tokens(n) if t.startswith("@")}

    def loops(self) -> list[Loop]:
        """The counted loops, in source order."""
        return list(self._loops)

    @cached_property
    def _loops(self) -> list[Loop]:
        accesses = self.accesses()
        found: list[Loop] = []
        for node in self.nodes:
            if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
                continue
            call = node.iter
            kind = self.tl(call) or ("builtin" if isinstance(call.func, ast.Name) and call.func.id == "range" else None)
            if kind not in ("builtin", *RANGES) or not 1 <= len(call.args) <= 3 or any(isinstance(a, ast.Starred) for a in call.args):
                continue
            named = {k.arg: k.value for k in call.keywords}
            if named.keys() & {"arg1", "arg2", None} or ("step" in named and len(call.args) == 3):
                continue
            start, stop, step = (None, call.args[0], None) if len(call.args) == 1 else (call.args[0], call.args[1], (*call.args, None)[2])
            step = named.get("step", step)
            inside = [n for s in node.body for n in all_nodes(s)]
            found.append(
                Loop(
                    node,
                    call,
                    node.target.id,
                    kind or "",
                    start,
                    stop,
                    step,
                    innermost=not any(isinstance(n, ast.For | ast.While) for n in inside),
                    accesses=tuple(a for a in accesses if node in a.loops),
                    has_dot=any(self.tl(n) in ("dot", "dot_scaled") for n in inside),
                )
            )
        return sorted(found, key=lambda x: x.node.lineno)

    def aranges(self) -> list[str]:
        """Constexprs that an ``arange`` or a block pointer runs over, in order of first use: the tile's sides."""
        sides = [ast.unparse(c.args[1]) for c in self.calls({"arange"}) if len(c.args) == 2]
        shapes = [shape for c in self.calls({"make_block_ptr"}) if (shape := block_shape(c)) is not None]
        sides += [ast.unparse(n) for shape in shapes if isinstance(shape, ast.Tuple | ast.List) for n in shape.elts]
        return [x for x in dict.fromkeys(sides) if x in self.constexprs]


def block_shape(call: ast.Call) -> ast.expr | None:
    """What ``tl.make_block_ptr`` is told of the block's shape."""
    return call.args[4] if len(call.args) > 4 else next((k.value for k in call.keywords if k.arg == "block_shape"), None)


def _language(tree: ast.Module) -> str | None:
    """The name that the module gives to triton.language: its own for it, or in full."""
    for node in all_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == LANGUAGE and alias.asname:
                    return alias.asname
        elif isinstance(node, ast.ImportFrom) and node.module == "triton":
            for alias in node.names:
                if alias.name == "language":
                    return alias.asname or alias.name
    triton = module_alias(tree, "triton")
    return f"{triton}.language" if triton is not None else None
