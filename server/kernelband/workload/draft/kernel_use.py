"""What a kernel does with each of its parameters: which are pointers, what is loaded and stored through them, and how it indexes."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from attrs import define, evolve, field

from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.kernel_value import PROGRAM, RANGE, Place, Use, merged

DEEPEST = 4  # helpers in helpers
FLOAT32 = frozenset({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sqrt_rn", "sin", "cos", "erf", "sigmoid", "softmax", "tanh", "floor"})
THROUGH = frozenset({"max_contiguous", "multiple_of", "broadcast_to", "expand_dims", "reshape", "view", "trans", "advance", "ravel"})
REDUCE = frozenset({"sum", "max", "min", "argmax", "argmin", "cumsum", "associative_scan", "reduce", "sort", "cumprod", "xor_sum"})


def kernel_uses(code: Code, kernel: Definition) -> dict[str, Use]:
    """By parameter of the kernel."""
    function = kernel.function
    assert function is not None
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    reader = _Reader(code, {name: Use() for name in names})
    reader.run(kernel, {name: Place(bases=(name,)) for name in names}, 0)
    return reader.uses


@define
class _Reader:
    code: Code
    uses: dict[str, Use]

    def run(self, kernel: Definition, names: dict[str, Place], depth: int) -> Place:
        """The body of a kernel or helper; what it returns."""
        function = kernel.function
        assert function is not None
        body = _Body(self, kernel, names, depth)
        body.statements(function.body)
        return body.result

    def use(self, name: str) -> Use:
        return self.uses.setdefault(name, Use())

    def address(self, value: Place, mask: Place, *, stored: bool, atomic: bool = False) -> Place:
        """What is loaded through it."""
        if not value.bases:
            return Place()
        pointer = value.bases[0]
        use = self.use(pointer)
        use.stored, use.loaded = use.stored or stored, use.loaded or not stored
        use.parts |= value.parts | set(value.bases[1:])
        use.strides |= value.strides
        use.around |= value.around
        use.spans |= value.spans
        use.steps |= value.steps
        use.bounds += [b for b in (*mask.bounds, *value.bounds) if b not in use.bounds]
        for of, times in value.loaded:
            if of != pointer:
                self.use(of).integer = True
                self.use(of).index.append((pointer, times))
                self.use(of).scattered = self.use(of).scattered or (stored and not atomic)
                use.scattered = use.scattered or (stored and not atomic)
        for part in value.parts | set(value.bases[1:]) | set(mask.bounds):
            if part in self.uses:
                self.use(part).count = True
        return Place(loaded=frozenset({(pointer, False)}))


@define
class _Body:
    reader: _Reader
    kernel: Definition
    names: dict[str, Place]
    depth: int
    result: Place = field(factory=Place)

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
            self.bind(node.target, self.value(node.value), node.value)
        elif isinstance(node, ast.AugAssign):
            old = self.value(node.target)
            new = self.binary(node.op, old, self.value(node.value))
            self.bind(node.target, new, None)
        elif isinstance(node, ast.For):
            self.bind(node.target, self.value(node.iter), None)
            self.statements((*node.body, *node.orelse))
        elif isinstance(node, (ast.While, ast.If)):
            self.value(node.test)
            self.statements((*node.body, *node.orelse))
        elif isinstance(node, ast.Return) and node.value is not None:
            self.result = self.value(node.value)
        elif isinstance(node, ast.Expr):
            self.value(node.value)

    def bind(self, target: ast.expr, value: Place, source: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = source.elts if isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts) else None
            for at, inner in enumerate(target.elts):
                self.bind(inner, self.value(items[at]) if items else value, None)

    # ------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Place:
        if isinstance(node, ast.Name):
            return self.names.get(node.id, Place())
        if isinstance(node, ast.Constant):
            return Place(constant=node.value)
        if isinstance(node, ast.BinOp):
            return self.binary(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp):
            inner = self.value(node.operand)
            number = inner.constant
            return Place(constant=-number) if isinstance(node.op, ast.USub) and isinstance(number, (int, float)) else inner
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.BoolOp):
            return merged(*map(self.value, node.values))
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            return merged(self.value(node.body), self.value(node.orelse))
        if isinstance(node, (ast.Tuple, ast.List)):
            return merged(*map(self.value, node.elts))
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return self.value(node.value)
        if isinstance(node, ast.Attribute):
            return self.value(node.value) if node.attr == "T" else Place()
        if isinstance(node, ast.Call):
            return self.call(node)
        return Place()

    def binary(self, op: ast.operator, left: Place, right: Place) -> Place:
        both = merged(left, right)
        for one, other in ((left, right), (right, left)):
            if one.loaded and other.bases and not isinstance(op, (ast.BitAnd, ast.BitOr)):
                for name in other.bases:
                    self.reader.use(name).fraction = True
        if isinstance(op, (ast.Add, ast.Sub)):
            return evolve(both, bases=(*left.bases, *right.bases))
        if isinstance(op, (ast.LShift, ast.RShift)) or (isinstance(op, ast.BitAnd) and isinstance(right.constant, int)):
            for name, _ in left.loaded:
                self.reader.use(name).integer = True
        bases = frozenset(left.bases) | frozenset(right.bases)
        if isinstance(op, ast.Mod) and len(right.bases) == 1 and not right.parts and left.parts:
            return Place(parts=bases, around=bases, loaded=both.loaded)
        times = isinstance(op, ast.Mult)
        part = ""
        if isinstance(op, ast.FloorDiv) and len(left.bases) == 1 and not left.parts and isinstance(right.constant, int):
            part = f"{left.bases[0]} // {right.constant}"
        strides = both.strides | bases if times else both.strides
        steps, spans = both.steps, frozenset[str]() if times or part else both.spans
        for one, other in ((left, right), (right, left)):
            if times and len(one.parts) == 1 and not one.bases and len(other.bases) == 1:
                steps |= {(other.bases[0], int(p.removeprefix(PROGRAM))) for p in one.parts if p.startswith(PROGRAM)}
        made = evolve(both, bases=(), parts=both.parts | bases, strides=strides, steps=steps, spans=spans, constant=None, part=part)
        return evolve(made, loaded=frozenset((n, t or times) for n, t in both.loaded))

    def compare(self, node: ast.Compare) -> Place:
        sides = [self.value(node.left), *map(self.value, node.comparators)]
        bounds: list[str] = []
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, (ast.Lt, ast.LtE)) and right.part:
                bounds.append(right.part)
            elif isinstance(op, (ast.Lt, ast.LtE)) and len(right.bases) == 1 and not right.parts and not right.loaded:
                if left.loaded:  # numbers are compared, not places
                    continue
                bounds.append(right.bases[0])
                self.reader.use(right.bases[0]).count = True
                if left.span and left.parts == frozenset({RANGE}):
                    self.reader.use(left.span).covers = right.bases[0]
            if isinstance(op, (ast.Lt, ast.LtE)) and RANGE in left.parts and right.loaded and not right.cast:
                for name, _ in right.loaded:  # a length
                    self.reader.use(name).integer = True
            for one, other in ((left, right), (right, left)):
                sure = isinstance(other.constant, int) and other.constant < 0
                places = RANGE in other.parts or any("ignore" in b.lower() or "pad" in b.lower() for b in other.bases)
                if isinstance(op, (ast.Eq, ast.NotEq)) and (sure or places) and not one.cast:
                    for name, _ in one.loaded:
                        self.reader.use(name).integer = True
        both = merged(*sides)
        return evolve(both, bases=(), bounds=tuple(bounds), compared=True, constant=None)

    def call(self, node: ast.Call) -> Place:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        owner = self.value(func.value) if isinstance(func, ast.Attribute) else Place()
        given = [self.value(a) for a in node.args]
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        first = given[0] if given else next(iter(named.values()), Place())
        mask = named.get("mask", Place())
        if name == "to":
            return self.cast(node, owner)
        if name in ("load", "gather", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg") or name.startswith("load_"):
            where = owner if owner.bases else first
            mask = mask if "mask" in named or owner.bases or len(given) < 2 else given[1]
            got = self.reader.address(where, mask, stored=False)
            if name.startswith("atomic"):
                self.reader.address(where, mask, stored=True, atomic=True)
            return got
        if name == "store" or name.startswith("store_"):
            mask = mask if "mask" in named or owner.bases or len(given) < 3 else given[2]
            self.reader.address(owner if owner.bases else first, mask, stored=True)
            return Place()
        if name in ("make_block_ptr", "make_tensor_descriptor", "_experimental_make_tensor_descriptor"):
            return self.block(node, first)
        if name == "program_id":
            axis = first.constant if isinstance(first.constant, int) else 0
            return Place(parts=frozenset({f"{PROGRAM}{axis}"}))
        if name == "arange":
            for value in given:
                for base in value.bases:
                    self.reader.use(base).count = True
            end = given[1].bases if len(given) > 1 else ()
            return Place(parts=frozenset({RANGE}), spans=frozenset({end[0] if end else ""}), span=end[0] if end else "")
        if name == "dot":
            for value in given:
                for loaded, _ in value.loaded if not value.cast else ():
                    self.reader.use(loaded).half = True
            return Place(cast=True)
        if name in ("rand", "randn", "randint", "rand4x", "randint4x"):
            if first.bases:
                self.reader.use(first.bases[0]).count = True
            return Place(cast=True)
        every = merged(owner, *given, *named.values())
        if name in FLOAT32:
            for value in (owner, *given):
                for loaded, _ in value.loaded if not value.cast else ():
                    self.reader.use(loaded).full = True
            return evolve(every, bases=(), cast=True, constant=None)
        if name == "where" and given:
            if not given[0].compared:
                for loaded, _ in given[0].loaded:
                    self.reader.use(loaded).boolean = True
            return merged(*given[1:])
        if name in ("range", "static_range"):
            return Place(parts=every.parts | set(every.bases))
        if name in THROUGH or name in REDUCE:
            return evolve(owner if owner.bases or owner.loaded else first, constant=None)
        return self.helper(node, given, named) or evolve(every, bases=(), parts=every.parts | set(every.bases), constant=None)

    def cast(self, node: ast.Call, owner: Place) -> Place:
        to = ast.unparse(node.args[0]) if node.args else ""
        if to.endswith(("float32", "float64")):
            for name, _ in owner.loaded:
                self.reader.use(name).half = True
            return evolve(owner, cast=True)
        if to.endswith(("int1", "uint1")):
            for name, _ in owner.loaded:
                self.reader.use(name).boolean = True
        return evolve(owner, cast=False) if owner.cast and not to.endswith(("int32", "int64")) else owner

    def block(self, node: ast.Call, first: Place) -> Place:
        """A block pointer or descriptor: its shape says how many dimensions there are."""
        named = {k.arg: k.value for k in node.keywords}
        shape = named.get("shape", node.args[1] if len(node.args) > 1 else None)
        strides = named.get("strides", node.args[2] if len(node.args) > 2 else None)
        bounds: list[str] = []
        for item in shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else ():
            bounds += self.value(item).bases[:1]
        parts = self.value(strides) if strides is not None else Place()
        every, strides = first.parts | parts.parts | {*parts.bases, RANGE}, first.strides | parts.strides | {*parts.bases}
        return Place(bases=first.bases, parts=every, strides=strides, bounds=tuple(bounds))

    def helper(self, node: ast.Call, given: list[Place], named: dict[str, Place]) -> Place | None:
        """What a jit function of the workspace returns that is called here."""
        found = self.reader.code.meant(node.func, self.kernel.place.path) if self.depth < DEEPEST else None
        function = found.function if found is not None and found.is_kernel else None
        if found is None or function is None:
            return None
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        passed = dict.fromkeys(names, Place()) | dict(zip(names, given, strict=False)) | {k: v for k, v in named.items() if k in names}
        return self.reader.run(found, passed, self.depth + 1)
