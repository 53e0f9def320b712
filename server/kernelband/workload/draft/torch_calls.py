"""What torch's functions, operators, and a tensor's attributes and methods make of shapes and dtypes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kernelband.workload.draft.values import (
    Const,
    Dims,
    Instance,
    Linear,
    Param,
    Rank,
    Several,
    Shape,
    Size,
    Tensor,
    Value,
    size_of,
    tensor_of,
    whole,
)

SAME = frozenset({"contiguous", "cuda", "detach", "clone", "requires_grad_", "zero_", "fill_", "cpu", "is_contiguous", "is_floating_point"})
CASTS = frozenset({"float", "half", "bfloat16", "long", "int", "to", "type", "type_as"})
NOTHING = frozenset({"data_ptr", "element_size", "is_cuda", "get_device", "storage_offset"})  # that is followed
VIEWS = frozenset({"transpose", "permute", "unsqueeze", "squeeze", "expand", "masked_fill", "expand_as", "view_as", "narrow"})
OTHER = frozenset(
    {"size", "stride", "numel", "nelement", "dim", "ndimension", "view", "reshape", "t", "flatten", "new_empty", "new_zeros", "amax", "sum"}
    | {"mean", "chunk", "split", "unbind", "index_select", "abs", "max_seqlen"}
)
ALIKE = SAME | CASTS | NOTHING | VIEWS | OTHER
ATTRIBUTES = frozenset({"shape", "dtype", "ndim", "device", "is_cuda", "requires_grad", "data", "T", "mT", "grad", "layout"})
LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"})
MADE = frozenset({"empty", "zeros", "ones", "full", "rand", "randn", "randint", "empty_strided"})
OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}


def attribute(owner: Value, name: str) -> Value:
    """``owner.name``"""
    if isinstance(owner, Instance):
        return owner.attributes.get(name)
    tensor = tensor_of(owner, f"it has .{name}") if name in ATTRIBUTES else None
    if tensor is None:
        return None
    if name in ("T", "mT"):
        return method(tensor, "t", [], [])
    found: dict[str, Value] = {"shape": Dims(tensor), "dtype": tensor.dtype, "ndim": Rank(tensor.shape), "data": tensor}
    return found.get(name)


def method(tensor: Tensor, name: str, given: Sequence[Value], nodes: Sequence[ast.expr]) -> Value:
    """``tensor.name(*given)``; ``nodes``: the arguments as they are written."""
    shape, made_of = tensor.shape, Shape()
    first = whole(given[0]) if given else None
    if name in SAME:
        return tensor
    if name in CASTS:
        return Tensor(shape=shape, of=tensor)
    if name in ("size", "stride"):
        every = Dims(tensor, strides=name == "stride")
        return every.item(first) if first is not None else every if not given else None
    if name in ("numel", "nelement"):
        return Size(numel=shape)
    if name in ("dim", "ndimension"):
        return Rank(shape)
    if name in ("view", "reshape"):
        return _viewed(tensor, given[0].items if len(given) == 1 and isinstance(given[0], Several) else given, nodes)
    if name == "t" or (name == "transpose" and shape.root.rank == 2):
        shape.set_rank(2)
        made_of.set_dims([shape.dim(1), shape.dim(0)])
        return Tensor(shape=made_of, dtype=tensor.dtype, of=tensor)
    if name == "flatten" and len(given) == 2:
        if first == 0 and whole(given[1]) == -2:  # rows
            made_of.set_dims([None, shape.dim(-1)])
        return tensor.view(made_of)
    if name == "flatten":
        made_of.set_dims([Size(numel=shape)])
        return Tensor(shape=made_of, dtype=tensor.dtype, of=tensor)
    if name in ("new_empty", "new_zeros"):
        return made("empty", given)
    return None if name in NOTHING else Tensor(dtype=tensor.dtype, of=tensor if name in VIEWS else None)


def _viewed(tensor: Tensor, given: Sequence[Value], nodes: Sequence[ast.expr]) -> Tensor:
    """Of ``x.view(-1, x.shape[-1])`` the last dimension is that of x."""
    if nodes and not given:
        return Tensor(dtype=tensor.dtype, of=tensor)
    viewed = Shape()
    viewed.set_dims([size_of(item) if whole(item) != -1 else None for item in given])
    if len(given) == 1 and isinstance(given[0], Const):
        viewed.dim(0).merge(Size(numel=tensor.shape))
    return tensor.view(viewed)


def made(name: str, given: Sequence[Value]) -> Value:
    """What a function of torch's returns; None where that isn't known here."""
    if name in LIKE and given:
        source = tensor_of(given[0], f"torch.{name} is called with it")
        return Tensor(shape=source.shape) if source is not None else None
    if name == "Parameter" and given:
        return given[0]
    if name == "Linear" and len(given) > 1:
        return Linear(size_of(given[0]))
    if name not in MADE:
        return None
    several = next((g for g in given[: None if name == "randint" else 1] if isinstance(g, (Several, Dims))), None)
    if isinstance(several, Dims):
        return Tensor(shape=several.shape if several.whole else Shape())
    sizes = several.items if several is not None else given if name != "randint" else ()
    out = Tensor()
    if sizes and None not in sizes:
        for item in sizes:
            if isinstance(item, Param):
                item.is_a("int", "a tensor of that size is made")
        out.shape.set_dims([size_of(item) for item in sizes])
    return out


def linear(layer: Linear, given: Sequence[Value]) -> Value:
    """What a ``torch.nn.Linear`` gives, which takes rows of a certain length."""
    tensor = tensor_of(given[0], "a layer takes it") if given else None
    if tensor is not None and layer.taken is not None:
        tensor.shape.dim(-1).merge(layer.taken)
    return Tensor() if tensor is not None else None


def length(value: Value) -> Value:
    """``len(value)``"""
    if isinstance(value, Several):
        return Const(len(value.items))
    if isinstance(value, Dims) and value.whole:
        return Rank(value.shape)
    if isinstance(value, Param) and value.kind == "ints":
        return value.size
    tensor = tensor_of(value)
    return tensor.shape.dim(0) if tensor is not None else None


def binary(op: ast.operator, left: Value, right: Value) -> Value:
    """``left op right``"""
    for one, other in ((left, right), (right, left)):
        tensor = tensor_of(one)
        if tensor is not None:
            return Tensor(shape=tensor.shape)
        if isinstance(one, Param) and isinstance(other, Const) and isinstance(other.value, float):
            one.is_a("float", "it is calculated with")
    operator, a, b = OPERATORS.get(type(op)), size_of(left), size_of(right)
    if operator is None or a is None or b is None or (a.value is not None and b.value is not None):
        return None
    return Size(formula=(operator, a, b))
