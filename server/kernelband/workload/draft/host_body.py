"""A host function followed by its text: which of its arguments are tensors, of which shapes, and what reaches the kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from attrs import define, field, frozen

from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.conditions import named_dim, require
from kernelband.workload.draft.kernel_use import Use, kernel_uses
from kernelband.workload.draft.torch_calls import ALIKE, made, method
from kernelband.workload.draft.values import (
    Const,
    Dims,
    DtypeOf,
    Instance,
    Param,
    Rank,
    Several,
    Size,
    Strides,
    Tensor,
    Value,
    size_of,
    tensor_of,
)

DEEPEST = 5  # functions in functions
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
TENSOR_ONLY = frozenset({"shape", "dtype", "ndim", "device", "is_cuda", "requires_grad", "data", "T", "mT", "grad", "layout"})


@frozen(eq=False)
class Launched:
    """A launch of a kernel: what is passed, by the kernel's parameters, what it does with them, and the grid."""

    kernel: Definition
    uses: Mapping[str, Use]
    passed: Mapping[str, Value]
    grid: tuple[Value, ...]


@define
class Followed:
    """Everything that was met on the way. ``names``: of the outermost function, at its end."""

    code: Code
    launches: list[Launched] = field(factory=list[Launched])
    names: dict[str, Value] = field(factory=dict[str, Value])
    _uses: dict[object, dict[str, Use]] = field(factory=dict[object, "dict[str, Use]"])

    def follow(self, function: Definition, given: Mapping[str, Value]) -> Value:
        """Read its body with these arguments; what it returns."""
        body = _Body(self, function.place.path, dict(given), (function.place,))
        self.names = body.names
        node = function.function
        body.statements(node.body if node is not None else ())
        return body.result

    def uses(self, kernel: Definition) -> dict[str, Use]:
        """Of the kernel's parameters."""
        if kernel.place not in self._uses:
            self._uses[kernel.place] = kernel_uses(self.code, kernel)
        return self._uses[kernel.place]

    def launched(self, kernel: Definition, passed: Mapping[str, Value], grid: Value) -> None:
        """Note a launch, and what it says of the arguments' kinds."""
        uses = self.uses(kernel)
        for name, value in passed.items():
            use = uses.get(name, Use())
            if use.pointer:
                tensor_of(value, "the kernel reads or writes it")
            elif isinstance(value, Param) and use.count and not use.fraction:
                value.is_a("int", "the kernel counts with it")
            elif isinstance(value, Param) and use.fraction:
                value.fraction = True
        self.launches.append(Launched(kernel, uses, passed, grid.items if isinstance(grid, Several) else (grid,)))


@define
class _Body:
    followed: Followed
    path: str
    names: dict[str, Value]
    inside: tuple[object, ...]  # places of functions, so that none is followed in itself
    result: Value = None
    _kept: list[str] = field(factory=list[str])  # bound again only where they are None

    # ------------------------------------------------------------ statements

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.bind(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.bind(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self.value(node.value)
        elif isinstance(node, ast.Assert):
            require(node.test, self.value)
        elif isinstance(node, ast.If):
            self.branch(node)
        elif isinstance(node, ast.For):
            iterated = self.value(node.iter)
            self.bind(node.target, self.element(iterated))
            self.statements((*node.body, *node.orelse))
        elif isinstance(node, (ast.With, ast.While)):
            self.statements(node.body)
        elif isinstance(node, ast.Try):
            self.statements((*node.body, *node.orelse, *node.finalbody))
        elif isinstance(node, ast.Return) and node.value is not None:
            value = self.value(node.value)
            self.result = value if self.result is None else self.result
        elif isinstance(node, ast.Expr):
            self.value(node.value)

    def branch(self, node: ast.If) -> None:
        if node.body and isinstance(node.body[-1], ast.Raise):
            require(node.test, self.value, holds=False)
            self.statements(node.orelse)
            return
        self.tested(node.test)
        kept = _tested_for_none(node.test)
        self._kept += kept
        self.statements(node.body)
        self.statements(node.orelse)
        del self._kept[len(self._kept) - len(kept) :]

    def tested(self, test: ast.expr) -> None:
        """A parameter that decides by itself is a bool, or may be None."""
        self.value(test)
        value = self.value(test.operand if isinstance(test, ast.UnaryOp) else test)
        if isinstance(value, Param) and value.kind is None:
            value.choices = value.choices or (True, False)

    def bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            if target.id in self._kept and isinstance(self.names.get(target.id), Param):
                return
            if isinstance(value, Size) and target.id not in value.root.names:
                value.root.names.append(target.id)
            self.names[target.id] = value
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            if isinstance(owner, Instance):
                owner.attributes[target.attr] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target.elts, value)

    def unpack(self, targets: list[ast.expr], value: Value) -> None:
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        count = len(targets)
        items: list[Value] = [None] * count
        if isinstance(value, Several) and star is None:
            items = [*value.items[:count], *[None] * (count - len(value.items))]
        elif isinstance(value, Dims):
            if star is None and value.start is None and value.stop is None:
                value.shape.set_rank(count)
            for at in range(count):
                if star is None or at < star:
                    items[at] = named_dim(value, at, count)
                elif at > star:
                    items[at] = value.shape.dim(at - count)
        elif isinstance(value, Strides) and star is None:
            value.shape.set_rank(count)
        elif isinstance(value, Tensor):
            items = [Tensor(dtype=value.dtype) for _ in targets]
        for target, item in zip(targets, items, strict=True):
            if isinstance(target, ast.Starred):
                self.bind(
                    target.value, Dims(value.shape, 0, star - count + 1 if star is not None else None) if isinstance(value, Dims) else None
                )
            else:
                self.bind(target, item)

    # ------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name):
            return self.named(node)
        if isinstance(node, ast.Constant):
            return Const(node.value)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return Several(tuple(self.value(e) for e in node.elts))
        if isinstance(node, ast.UnaryOp):
            inner = self.value(node.operand)
            if isinstance(node.op, ast.USub) and isinstance(inner, Const) and isinstance(inner.value, (int, float)):
                return Const(-inner.value)
            return inner if isinstance(inner, Tensor) else None
        if isinstance(node, ast.IfExp):
            self.tested(node.test)
            first, second = self.value(node.body), self.value(node.orelse)
            return second if first is None or (isinstance(first, Const) and first.value is None) else first
        if isinstance(node, ast.BoolOp):
            found = [self.value(v) for v in node.values]
            return found[0] if found and isinstance(found[0], (Param, Tensor, Size)) else None
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value)
            self.bind(node.target, value)
            return value
        if isinstance(node, ast.Lambda):
            return self.value(node.body)
        return None

    def named(self, node: ast.Name) -> Value:
        if node.id in self.names:
            return self.names[node.id]
        constant = self.followed.code.constant(node.id, self.path)
        if isinstance(constant, (ast.Constant, ast.Tuple, ast.List, ast.Set)) or ast.unparse(constant or node).startswith("torch."):
            return self.value(constant) if constant is not None else None
        return self.followed.code.meant(node, self.path)

    def attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id == "torch":
            return Const(f"torch.{node.attr}")
        owner = self.value(node.value)
        if isinstance(owner, Instance):
            return owner.attributes.get(node.attr)
        if isinstance(owner, Param) and node.attr in TENSOR_ONLY:
            owner.is_a("tensor", f"it has .{node.attr}")
        tensor = tensor_of(owner) if isinstance(owner, (Param, Tensor)) and node.attr in TENSOR_ONLY else None
        if tensor is None:
            return None if isinstance(owner, (Param, Tensor, Definition)) else self.followed.code.meant(node, self.path)
        if node.attr == "shape":
            return Dims(tensor.shape)
        if node.attr == "dtype":
            return DtypeOf(tensor.dtype)
        if node.attr == "ndim":
            return Rank(tensor.shape)
        if node.attr in ("T", "mT"):
            return method(tensor, "t", [], [])
        return tensor if node.attr == "data" else None

    def subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        index = node.slice
        at = self.value(index) if not isinstance(index, (ast.Slice, ast.Tuple)) else None
        place = at.value if isinstance(at, Const) and type(at.value) is int else None
        if isinstance(owner, Dims):
            if isinstance(index, ast.Slice):
                ends = [self.value(e) if e is not None else None for e in (index.lower, index.upper)]
                first, last = (e.value if isinstance(e, Const) and isinstance(e.value, int) else None for e in ends)
                return Dims(owner.shape, first, last) if owner.start is None and owner.stop is None else None
            if place is None:
                return None
            return named_dim(owner, place, place + 1) if place >= 0 else owner.shape.dim(place) if owner.stop is None else None
        if isinstance(owner, Several) and place is not None:
            return owner.items[place] if -len(owner.items) <= place < len(owner.items) else None
        if isinstance(owner, Param) and owner.kind == "tensors":
            return owner.tensor
        if isinstance(owner, Param) and isinstance(index, (ast.Slice, ast.Tuple)):
            owner.is_a("tensor", "parts of it are taken")
        if isinstance(owner, Tensor) or (isinstance(owner, Param) and owner.kind == "tensor"):
            whole = owner if isinstance(owner, Tensor) else owner.tensor
            if isinstance(index, ast.Tuple):
                whole.shape.root.least = max(whole.shape.root.least, sum(not _inserts(e) for e in index.elts))
            return Tensor(dtype=whole.dtype)
        return None

    def binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        for one, other in ((left, right), (right, left)):
            tensor = one if isinstance(one, Tensor) else one.tensor if isinstance(one, Param) and one.kind == "tensor" else None
            if tensor is not None:
                return Tensor(shape=tensor.shape, dtype=tensor.dtype)
            if isinstance(one, Param) and isinstance(other, Const) and isinstance(other.value, float):
                one.is_a("float", "it is calculated with")
        if isinstance(left, Several) and isinstance(right, Several) and isinstance(node.op, ast.Add):
            return Several((*left.items, *right.items))
        operator = OPERATORS.get(type(node.op))
        a, b = size_of(left), size_of(right)
        if operator is None or a is None or b is None or (a.value is not None and b.value is not None):
            return None
        return Size(formula=(operator, a, b))

    def compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        for comparator in node.comparators:
            right = self.value(comparator)
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Param) and isinstance(other, Const) and isinstance(other.value, str):
                    one.is_a("str", "it is compared with strings")
                    one.choices = (*one.choices, other.value)
                elif isinstance(one, Param) and isinstance(other, Const) and other.value is None:
                    one.optional = True
        return None

    def element(self, value: Value) -> Value:
        """What a loop over it has in its hand."""
        if isinstance(value, Param) and value.kind == "tensors":
            return value.tensor
        return value.items[0] if isinstance(value, Several) and value.items else None

    # ------------------------------------------------------------ calls

    def call(self, node: ast.Call) -> Value:
        launch = self.launch(node)
        if launch:
            return None
        func = node.func
        if isinstance(func, ast.Attribute):
            owner = None if isinstance(func.value, ast.Name) and func.value.id == "torch" else self.value(func.value)
            if isinstance(owner, Param) and owner.kind in (None, "tensor") and func.attr in ALIKE:
                owner.is_a("tensor", f"it has .{func.attr}()")
            if isinstance(owner, Tensor) or (isinstance(owner, Param) and owner.kind == "tensor"):
                whole = owner if isinstance(owner, Tensor) else owner.tensor
                return method(whole, func.attr, self.arguments(node), node.args)
            if (
                isinstance(owner, Instance)
                and func.attr == "register_buffer"
                and len(node.args) > 1
                and isinstance(node.args[0], ast.Constant)
            ):
                owner.attributes[str(node.args[0].value)] = self.value(node.args[1])
                return None
            if isinstance(owner, Instance) and owner.of is not None:
                return self.enter(owner.of.method(func.attr), node, owner)
            if isinstance(owner, Definition) and func.attr == "apply" and owner.is_autograd:
                return self.enter(owner.method("forward"), node, None)
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        given = self.arguments(node)
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if name == "len" and given:
            return self.length(given[0])
        if name in ("int", "float", "max", "min") and given:
            return given[0] if len(given) == 1 else next((g for g in given if isinstance(g, Size)), None)
        if name in ("cdiv", "next_power_of_2", "isinstance", "range", "print"):
            return None
        found = self.followed.code.meant(func, self.path) if not isinstance(func, ast.Subscript) else None
        if found is not None and found.function is not None and not found.is_kernel:
            return self.enter(found, node, None)
        return made(name, given, named)

    def arguments(self, node: ast.Call) -> list[Value]:
        return [self.value(a) for a in node.args if not isinstance(a, ast.Starred)]

    def length(self, value: Value) -> Value:
        if isinstance(value, Dims) and value.start is None and value.stop is None:
            return Rank(value.shape)
        if isinstance(value, Tensor) or (isinstance(value, Param) and value.kind == "tensor"):
            return (value if isinstance(value, Tensor) else value.tensor).shape.dim(0)
        return Const(len(value.items)) if isinstance(value, Several) else None

    def enter(self, function: Definition | None, node: ast.Call, owner: Instance | None) -> Value:
        """Follow a function of the workspace that is called here."""
        args = function.function.args if function is not None and function.function is not None else None
        if function is None or args is None or function.place in self.inside or len(self.inside) > DEEPEST:
            return None
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        inner: dict[str, Value] = {}
        marks = function.decorators
        if (
            names
            and "." in function.place.qualname
            and (names[0] in ("self", "cls", "ctx") or (owner is not None and "staticmethod" not in marks))
        ):
            inner[names.pop(0)] = owner
        defaults = dict(zip(reversed(names), reversed(args.defaults), strict=False))
        inner |= {name: Const(d.value) for name, d in defaults.items() if isinstance(d, ast.Constant)}
        inner |= dict(zip(names, self.arguments(node), strict=False))
        inner |= {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        body = _Body(self.followed, function.place.path, inner, (*self.inside, function.place))
        body.statements(function.function.body if function.function is not None else ())
        return body.result

    def launch(self, node: ast.Call) -> bool:
        """Whether it is a launch of a kernel, which is noted then."""
        if not isinstance(node.func, ast.Subscript):
            return False
        target = node.func.value
        if isinstance(target, ast.Call) and target.args:  # wrap_triton(kernel)
            target = target.args[0]
        kernel = self.value(target) if isinstance(target, ast.Name) else self.followed.code.meant(target, self.path)
        function = kernel.function if isinstance(kernel, Definition) and kernel.is_kernel else None
        if not isinstance(kernel, Definition) or function is None:
            return False
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        passed: dict[str, Value] = dict(zip(names, self.arguments(node), strict=False))
        passed |= {k.arg: self.value(k.value) for k in node.keywords if k.arg in names}
        self.followed.launched(kernel, passed, self.value(node.func.slice))
        return True


def _inserts(node: ast.expr) -> bool:
    """``None`` and ``...`` in an index stand for no dimension of the tensor."""
    return isinstance(node, ast.Constant) and node.value in (None, ...)


def _tested_for_none(test: ast.expr) -> list[str]:
    return [
        part.left.id
        for part in ast.walk(test)
        if isinstance(part, ast.Compare) and isinstance(part.left, ast.Name) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in part.ops)
    ]
