"""What a kernel does with each of its parameters: which are pointers, what is loaded and stored through them, and how it indexes."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from attrs import define, evolve, field, frozen

from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.values import Mark

RANGE = "range"  # tl.arange, as a part of an address
PROGRAM = "program"  # tl.program_id(0) is program0
DEEPEST = 4  # helpers in helpers
FLOAT32 = frozenset({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sqrt_rn", "sin", "cos", "erf", "sigmoid", "softmax", "tanh", "floor"})
THROUGH = frozenset({"max_contiguous", "multiple_of", "broadcast_to", "expand_dims", "reshape", "view", "trans", "advance", "ravel"})
REDUCE = frozenset({"sum", "max", "min", "argmax", "argmin", "cumsum", "associative_scan", "reduce", "sort", "cumprod", "xor_sum"})
LOADS = frozenset({"load", "gather", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg"})
RANDOM = frozenset({"rand", "randn", "randint", "rand4x", "randint4x"})
BLOCKS = frozenset({"make_block_ptr", "make_tensor_descriptor", "_experimental_make_tensor_descriptor"})
Names = frozenset[str]
NONE = Names()


@frozen
class Part:
    """What an expression of a kernel comes to, as a place or as a part of one.

    ``bases``: parameters that are added up. ``parts``: parameters that it is made of, and the words above; ``strides``: those by which it
    is multiplied; ``around``: those at which it begins anew (``row % seq_len``); ``spans``: how far a row is gone through at once, where
    nothing multiplies that, "" for a number; ``bounds``: what masks compare it with, in their order; a bound may be a part of a parameter:
    ``head_dim // 2``; ``steps``: parameters that an axis of the grid is multiplied by, with that axis. ``loaded``: the pointers whose
    contents it is made of, and whether they are multiplied.
    """

    bases: tuple[str, ...] = field(default=(), eq=False)
    parts: Names = NONE
    strides: Names = NONE
    around: Names = NONE
    spans: Names = NONE
    bounds: tuple[str, ...] = ()
    steps: frozenset[tuple[str, int]] = field(default=frozenset[tuple[str, int]](), eq=False)
    loaded: frozenset[tuple[str, bool]] = field(default=frozenset[tuple[str, bool]](), eq=False)
    cast: bool = field(default=False, eq=False)
    compared: bool = field(default=False, eq=False)
    span: str = field(default="", eq=False)  # the parameter up to which tl.arange counts
    divided: str = field(default="", eq=False)  # it is a parameter divided by a number
    constant: object = field(default=None, eq=False)

    @property
    def programs(self) -> list[int]:
        """The axes of the grid that it depends on."""
        return sorted(int(p.removeprefix(PROGRAM)) for p in self.parts if p.startswith(PROGRAM))

    @property
    def inside(self) -> Part:
        """What it is inside of another place: no longer a pointer by itself."""
        return evolve(self, bases=(), parts=self.parts | set(self.bases), constant=None)


def merged(*values: Part) -> Part:
    """What is made of several."""
    return Part(
        tuple(dict.fromkeys(b for v in values for b in v.bases)),
        NONE.union(*(v.parts for v in values)),
        NONE.union(*(v.strides for v in values)),
        NONE.union(*(v.around for v in values)),
        NONE.union(*(v.spans for v in values)),
        tuple(dict.fromkeys(b for v in values for b in v.bounds)),
        frozenset(s for v in values for s in v.steps),
        frozenset(x for v in values for x in v.loaded),
        any(v.cast for v in values),
        any(v.compared for v in values),
        next((v.span for v in values if v.span), ""),
    )


@define
class Use:
    """Of one parameter. ``places``: those that are read or written through it. ``index``: pointers whose places are made of what is loaded
    here, and whether it is multiplied there. ``covers``: the parameter that it must be as large as: a block of so many elements is all.
    """

    marks: set[Mark] = field(factory=set[Mark])
    places: Part = Part()
    index: list[tuple[str, bool]] = field(factory=list["tuple[str, bool]"])
    covers: str = ""

    @property
    def pointer(self) -> bool:
        return not self.marks.isdisjoint(("loaded", "stored"))


def kernel_uses(code: Code, kernel: Definition) -> dict[str, Use]:
    """By parameter of the kernel."""
    uses = {name: Use() for name in kernel.names}
    _Body(code, uses, kernel, {name: Part(bases=(name,)) for name in uses}, 0).statements(kernel.node.body)
    return uses


@define
class _Body:
    """Of a kernel, or of a helper that it calls."""

    code: Code
    uses: dict[str, Use]
    kernel: Definition
    names: dict[str, Part]
    depth: int
    result: Part = Part()

    def mark(self, mark: Mark, values: Iterable[Part], *, cast: bool = True) -> None:
        """What is loaded in them; ``cast``: also where it was cast."""
        for value in values:
            for name, _ in value.loaded if cast or not value.cast else ():
                self.uses[name].marks.add(mark)

    def address(self, value: Part, mask: Part, *, stored: bool, atomic: bool = False) -> Part:
        """What is loaded through it."""
        if not value.bases:
            return Part()
        pointer, use = value.bases[0], self.uses[value.bases[0]]
        use.marks.add("stored" if stored else "loaded")
        parts = value.parts | set(value.bases[1:])
        use.places = merged(use.places, Part(bounds=mask.bounds), evolve(value, bases=(), parts=parts))
        for name, times in value.loaded:
            if name != pointer:
                self.uses[name].marks.add("integer")
                self.uses[name].index.append((pointer, times))
                for one in (self.uses[name], use) if stored and not atomic else ():
                    one.marks.add("scattered")
        for part in parts | set(mask.bounds):
            if part in self.uses:
                self.uses[part].marks.add("count")
        return Part(loaded=frozenset({(pointer, False)}))

    # ------------------------------------------------------------ statements

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.bind(target, value, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.bind(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self.bind(node.target, self.binary(node.op, self.value(node.target), self.value(node.value)))
        elif isinstance(node, (ast.For, ast.While, ast.If)):
            if isinstance(node, ast.For):
                self.bind(node.target, self.value(node.iter))
            else:
                self.value(node.test)
            self.statements((*node.body, *node.orelse))
        elif isinstance(node, ast.Return) and node.value is not None:
            self.result = self.value(node.value)
        elif isinstance(node, ast.Expr):
            self.value(node.value)

    def bind(self, target: ast.expr, value: Part, source: ast.expr | None = None) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = source.elts if isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts) else None
            for at, inner in enumerate(target.elts):
                self.bind(inner, self.value(items[at]) if items else value)

    # ------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Part:
        match node:
            case ast.Name():
                return self.names.get(node.id, Part())
            case ast.Constant():
                return Part(constant=node.value)
            case ast.BinOp():
                return self.binary(node.op, self.value(node.left), self.value(node.right))
            case ast.UnaryOp():
                inner = self.value(node.operand)
                number = inner.constant
                return Part(constant=-number) if isinstance(node.op, ast.USub) and isinstance(number, (int, float)) else inner
            case ast.Compare():
                return self.compare(node)
            case ast.BoolOp():
                return merged(*map(self.value, node.values))
            case ast.IfExp():
                self.value(node.test)
                return merged(self.value(node.body), self.value(node.orelse))
            case ast.Tuple() | ast.List():
                return merged(*map(self.value, node.elts))
            case ast.Subscript() | ast.Starred() | ast.Attribute(attr="T"):
                return self.value(node.value)
            case ast.Call():
                return self.call(node)
            case _:
                return Part()

    def binary(self, op: ast.operator, left: Part, right: Part) -> Part:
        both, pairs = merged(left, right), ((left, right), (right, left))
        for one, other in pairs:
            if one.loaded and not isinstance(op, (ast.BitAnd, ast.BitOr)):
                for name in other.bases:
                    self.uses[name].marks.add("fraction")
        if isinstance(op, (ast.Add, ast.Sub)):
            return evolve(both, bases=(*left.bases, *right.bases))
        if isinstance(op, (ast.LShift, ast.RShift)) or (isinstance(op, ast.BitAnd) and isinstance(right.constant, int)):
            self.mark("integer", [left])
        bases, times, divided = frozenset(both.bases), isinstance(op, ast.Mult), ""
        if isinstance(op, ast.Mod) and len(right.bases) == 1 and not right.parts and left.parts:
            return Part(parts=bases, around=bases, loaded=both.loaded)
        if isinstance(op, ast.FloorDiv) and len(left.bases) == 1 and not left.parts and isinstance(right.constant, int):
            divided = f"{left.bases[0]} // {right.constant}"
        if times:
            steps = {(b.bases[0], p) for a, b in pairs if len(a.parts) == len(b.bases) == 1 and not a.bases for p in a.programs}
            loaded = frozenset((name, True) for name, _ in both.loaded)
            both = evolve(both, strides=both.strides | bases, steps=both.steps | steps, loaded=loaded)
        return evolve(both, divided=divided, spans=NONE if times or divided else both.spans).inside

    def compare(self, node: ast.Compare) -> Part:
        sides = [self.value(node.left), *map(self.value, node.comparators)]
        bounds: list[str] = []
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            below = isinstance(op, (ast.Lt, ast.LtE))
            if below and right.divided:
                bounds.append(right.divided)
            elif below and len(right.bases) == 1 and not right.parts and not right.loaded:
                if left.loaded:  # numbers are compared, not places
                    continue
                bounds.append(right.bases[0])
                self.uses[right.bases[0]].marks.add("count")
                if left.span and left.parts == frozenset({RANGE}):
                    self.uses[left.span].covers = right.bases[0]
            if below and RANGE in left.parts:  # with a length
                self.mark("integer", [right], cast=False)
            for one, other in ((left, right), (right, left)):
                sure = isinstance(other.constant, int) and other.constant < 0
                places = RANGE in other.parts or any("ignore" in b.lower() or "pad" in b.lower() for b in other.bases)
                if isinstance(op, (ast.Eq, ast.NotEq)) and (sure or places):
                    self.mark("integer", [one], cast=False)
        return evolve(merged(*sides), bases=(), bounds=tuple(bounds), compared=True)

    def call(self, node: ast.Call) -> Part:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        owner = self.value(func.value) if isinstance(func, ast.Attribute) else Part()
        given = [self.value(a) for a in node.args]
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        first = given[0] if given else next(iter(named.values()), Part())
        stores = name == "store" or name.startswith("store_")
        if name == "to":
            return self.cast(node, owner)
        if stores or name in LOADS or name.startswith("load_"):
            where, last = (owner if owner.bases else first), 2 if stores else 1
            mask = named.get("mask", given[last] if not owner.bases and len(given) > last else Part())
            got = self.address(where, mask, stored=stores)
            if name.startswith("atomic"):
                self.address(where, mask, stored=True, atomic=True)
            return Part() if stores else got
        if name in BLOCKS:
            return self.block(node, first)
        if name == "program_id":
            return Part(parts=frozenset({f"{PROGRAM}{first.constant if isinstance(first.constant, int) else 0}"}))
        if name == "arange" or name in RANDOM:
            for base in (b for value in (given if name == "arange" else [first]) for b in value.bases):
                self.uses[base].marks.add("count")
            if name in RANDOM:
                return Part(cast=True)
            end = given[1].bases[0] if len(given) > 1 and given[1].bases else ""
            return Part(parts=frozenset({RANGE}), spans=frozenset({end}), span=end)
        if name == "dot":
            self.mark("half", given, cast=False)
            return Part(cast=True)
        every = merged(owner, *given, *named.values())
        if name in FLOAT32:
            self.mark("full", (owner, *given), cast=False)
            return evolve(every, bases=(), cast=True)
        if name == "where" and given:
            if not given[0].compared:
                self.mark("boolean", given[:1])
            return merged(*given[1:])
        if name in ("range", "static_range"):
            return Part(parts=every.inside.parts)
        if name in THROUGH or name in REDUCE:
            return evolve(owner if owner.bases or owner.loaded else first, constant=None)
        return self.helper(node, given, named) or every.inside

    def cast(self, node: ast.Call, owner: Part) -> Part:
        to = ast.unparse(node.args[0]) if node.args else ""
        if to.endswith(("float32", "float64")):
            self.mark("half", [owner])
            return evolve(owner, cast=True)
        if to.endswith(("int1", "uint1")):
            self.mark("boolean", [owner])
        return evolve(owner, cast=owner.cast and to.endswith(("int32", "int64")))

    def block(self, node: ast.Call, first: Part) -> Part:
        """A block pointer or descriptor: its shape says how many dimensions there are."""
        named = {k.arg: k.value for k in node.keywords}
        shape, strides = (named.get(n, node.args[i] if len(node.args) > i else None) for i, n in ((1, "shape"), (2, "strides")))
        by = self.value(strides) if strides is not None else Part()
        return Part(
            bases=first.bases,
            parts=first.parts | by.inside.parts | {RANGE},
            strides=first.strides | by.strides | set(by.bases),
            bounds=tuple(b for size in getattr(shape, "elts", ()) for b in self.value(size).bases[:1]),
        )

    def helper(self, node: ast.Call, given: list[Part], named: dict[str, Part]) -> Part | None:
        """What a jit function of the workspace returns that is called here."""
        found = self.code.meant(node.func, self.kernel.place.path) if self.depth < DEEPEST else None
        if found is None or not found.is_kernel:
            return None
        names = found.names
        passed = dict.fromkeys(names, Part()) | dict(zip(names, given, strict=False)) | {k: v for k, v in named.items() if k in names}
        body = _Body(self.code, self.uses, found, passed, self.depth + 1)
        body.statements(found.node.body)
        return body.result
