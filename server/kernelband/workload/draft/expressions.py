"""What an expression of a host function comes to: a tensor, a part of its shape, a number, or nothing that is known."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Protocol

from attrs import define, field

from kernelband.source.model import Place
from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.conditions import named_dim
from kernelband.workload.draft.torch_calls import ALIKE, made, method
from kernelband.workload.draft.values import (
    POWER,
    Const,
    Dims,
    DtypeOf,
    Instance,
    Linear,
    Param,
    Rank,
    Several,
    Shape,
    Size,
    Strides,
    Tensor,
    Value,
    size_of,
    tensor_of,
)

DEEPEST = 5  # functions in functions
OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
TENSOR_ONLY = frozenset({"shape", "dtype", "ndim", "device", "is_cuda", "requires_grad", "data", "T", "mT", "grad", "layout"})


class Walk(Protocol):
    """Where the function is followed from."""

    code: Code

    def enter(self, function: Definition, names: dict[str, Value], inside: tuple[Place, ...]) -> Value:
        """What a function returns whose parameters are these."""
        ...

    def launched(self, kernel: Definition, passed: Mapping[str, Value], grid: Value) -> None:
        """A launch was met."""
        ...


@define
class Expressions:
    """``names``: what each means; ``inside``: the functions that are being followed, so that none is in itself; ``kept``: parameters that
    are bound again only where they are None.
    """

    walk: Walk
    path: str
    names: dict[str, Value]
    inside: tuple[Place, ...]
    kept: list[str] = field(factory=list[str])

    def bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.kept and isinstance(self.names.get(target.id), Param):
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

    def tested(self, test: ast.expr) -> None:
        """A parameter that decides by itself is a bool, or may be None."""
        self.value(test)
        value = self.value(test.operand if isinstance(test, ast.UnaryOp) else test)
        if isinstance(value, Param) and value.kind is None:
            value.choices = value.choices or (True, False)

    # ------------------------------------------------------------ values

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
        constant = self.walk.code.constant(node.id, self.path)
        if isinstance(constant, (ast.Constant, ast.Tuple, ast.List, ast.Set)) or ast.unparse(constant or node).startswith("torch."):
            return self.value(constant) if constant is not None else None
        return self.walk.code.meant(node, self.path)

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
            return None if isinstance(owner, (Param, Tensor, Definition)) else self.walk.code.meant(node, self.path)
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
            if isinstance(owner, Instance) and func.attr in ("register_buffer", "register_parameter") and len(node.args) > 1:
                owner.attributes[ast.unparse(node.args[0]).strip("'")] = self.value(node.args[1])
                return None
            if isinstance(owner, Instance) and isinstance(owner.attributes.get(func.attr), Linear):
                return self.linear(owner.attributes[func.attr], node)
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
        if name == POWER and given and (size := size_of(given[0])) is not None and size.value is None:
            return Size(formula=(POWER, size, size))
        if name in ("cdiv", POWER, "isinstance", "range", "print"):
            return None
        found = self.walk.code.meant(func, self.path) if not isinstance(func, ast.Subscript) else None
        if found is not None and found.function is not None and not found.is_kernel:
            return self.enter(found, node, None)
        return made(name, given, named)

    def linear(self, layer: Value, node: ast.Call) -> Value:
        """What a ``torch.nn.Linear`` gives: the shape of what it takes, but for the last dimension."""
        given = tensor_of(self.value(node.args[0]), "a layer takes it") if node.args else None
        if given is None or not isinstance(layer, Linear):
            return None
        if layer.taken is not None:
            given.shape.dim(-1).merge(layer.taken)
        out = Shape()
        if layer.given is not None:
            out.dim(-1).merge(layer.given)
        return Tensor(shape=out)

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
        return self.walk.enter(function, inner, self.inside)

    def launch(self, node: ast.Call) -> bool:
        """Whether it is a launch of a kernel, which is noted then."""
        if not isinstance(node.func, ast.Subscript):
            return False
        target = node.func.value
        if isinstance(target, ast.Call) and target.args:  # wrap_triton(kernel)
            target = target.args[0]
        kernel = self.value(target) if isinstance(target, ast.Name) else self.walk.code.meant(target, self.path)
        function = kernel.function if isinstance(kernel, Definition) and kernel.is_kernel else None
        if not isinstance(kernel, Definition) or function is None:
            return False
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        passed: dict[str, Value] = dict(zip(names, self.arguments(node), strict=False))
        passed |= {k.arg: self.value(k.value) for k in node.keywords if k.arg in names}
        self.walk.launched(kernel, passed, self.value(node.func.slice))
        return True


def _inserts(node: ast.expr) -> bool:
    """``None`` and ``...`` in an index stand for no dimension of the tensor."""
    return isinstance(node, ast.Constant) and node.value in (None, ...)
