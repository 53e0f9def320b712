"""What an expression of a host function comes to: a tensor, a part of its shape, a number, or nothing that is known."""

from __future__ import annotations

import ast

from attrs import define

from kernelband.workload.draft.calls import Calls
from kernelband.workload.draft.code import Definition
from kernelband.workload.draft.conditions import named_dim
from kernelband.workload.draft.torch_calls import method
from kernelband.workload.draft.values import (
    Const,
    Dims,
    DtypeOf,
    Instance,
    Param,
    Rank,
    Several,
    Size,
    Stride,
    Strides,
    Tensor,
    Value,
    size_of,
    tensor_of,
)

BLOCK = 128  # that a list of sizes is made of
OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
TENSOR_ONLY = frozenset({"shape", "dtype", "ndim", "device", "is_cuda", "requires_grad", "data", "T", "mT", "grad", "layout"})


@define
class Expressions(Calls):
    """What is in the middle of ``Calls``."""

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
            value.tensor.shape.set_rank(count)
            items = [Stride(value.tensor, at) for at in range(count)]
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
            if isinstance(first, Tensor) and isinstance(second, (Param, Tensor)) and first.of is tensor_of(second):
                return second  # x.unsqueeze(0) if x.ndim == 1 else x
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
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
            return self.each(node.elt, node.generators[0])
        return None

    def each(self, node: ast.expr, generator: ast.comprehension) -> Value:
        """``[t.contiguous() for t in (q, k, v)]``"""
        over = self.value(generator.iter)
        if not isinstance(over, Several):
            return None
        before, items = dict(self.names), list[Value]()
        for item in over.items:
            self.bind(generator.target, item)
            items.append(self.value(node))
        self.names.clear()
        self.names.update(before)
        return Several(tuple(items))

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
        if isinstance(owner, Param) and owner.kind == "ints":
            return Const(BLOCK)
        if isinstance(owner, Strides) and place is not None:
            owner.tensor.shape.dim(place)
            return Stride(owner.tensor, place)
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


def _inserts(node: ast.expr) -> bool:
    """``None`` and ``...`` in an index stand for no dimension of the tensor."""
    return isinstance(node, ast.Constant) and node.value in (None, ...)
