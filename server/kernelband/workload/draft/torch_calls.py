"""What torch's functions and a tensor's methods make of shapes and dtypes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from kernelband.workload.draft.values import (
    Const,
    Dims,
    Dtype,
    DtypeOf,
    Linear,
    Param,
    Rank,
    Several,
    Shape,
    Size,
    Stride,
    Strides,
    Tensor,
    Value,
    size_of,
)

SAME = frozenset({"contiguous", "cuda", "detach", "clone", "requires_grad_", "zero_", "fill_", "cpu", "is_contiguous", "is_floating_point"})
CAST = {"float": "float32", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32", "to": "", "type": "", "type_as": ""}
OTHER = frozenset(
    {"size", "stride", "numel", "nelement", "dim", "data_ptr", "element_size", "view", "reshape", "t", "transpose", "permute", "flatten"}
    | {"unsqueeze", "squeeze", "expand", "new_empty", "new_zeros", "amax", "sum", "mean", "masked_fill", "narrow", "chunk", "split"}
    | {"ndimension", "is_cuda", "get_device", "storage_offset", "expand_as", "view_as", "unbind", "index_select", "abs", "max_seqlen"}
)
ALIKE = SAME | CAST.keys() | OTHER
VIEWS = frozenset({"transpose", "permute", "unsqueeze", "squeeze", "expand", "masked_fill", "expand_as", "view_as", "narrow"})
LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"})
MADE = frozenset({"empty", "zeros", "ones", "full", "rand", "randn", "randint", "empty_strided"})


def method(tensor: Tensor, name: str, given: Sequence[Value], nodes: Sequence[ast.expr]) -> Value:
    """``tensor.name(*given)``; ``nodes``: the arguments as they are written."""
    shape = tensor.shape
    if name in SAME:
        return tensor
    if name in CAST:
        return Tensor(shape=shape, of=tensor)
    first = given[0].value if given and isinstance(given[0], Const) else None
    if name == "size":
        return shape.dim(first) if isinstance(first, int) else Dims(shape) if not given else None
    if name == "stride":
        if isinstance(first, int):
            shape.dim(first)
            return Stride(tensor, first)
        return Strides(tensor) if not given else None
    if name in ("numel", "nelement"):
        return numel(shape)
    if name in ("dim", "ndimension"):
        return Rank(shape)
    if name in ("view", "reshape"):
        return _viewed(tensor, given[0].items if len(given) == 1 and isinstance(given[0], Several) else given, nodes)
    if name == "t" or (name == "transpose" and shape.root.rank == 2):
        shape.set_rank(2)
        turned = Shape()
        turned.set_rank(2)
        for at in (0, 1):
            turned.dim(at).merge(shape.dim(1 - at))
        return Tensor(shape=turned, dtype=tensor.dtype, of=tensor)
    if name == "flatten" and len(given) == 2:  # flatten(0, -2): rows
        rows = Shape()
        if first == 0 and isinstance(given[1], Const) and given[1].value == -2:
            rows.set_rank(2)
            rows.dim(1).merge(shape.dim(-1))
        return tensor.view(rows)
    if name == "flatten":
        flat = Shape()
        flat.set_rank(1)
        flat.dim(0).merge(numel(shape))
        return Tensor(shape=flat, dtype=tensor.dtype, of=tensor)
    if name in ("new_empty", "new_zeros"):
        return made("empty", given, {"dtype": DtypeOf(tensor.dtype)})
    if name in ("data_ptr", "element_size", "is_cuda", "get_device", "storage_offset"):
        return None
    return Tensor(dtype=tensor.dtype, of=tensor if name in VIEWS else None)


def numel(shape: Shape) -> Size:
    """The number of all its elements."""
    return Size(numel=shape)


def _viewed(tensor: Tensor, given: Sequence[Value], nodes: Sequence[ast.expr]) -> Tensor:
    """Of ``x.view(-1, x.shape[-1])`` the last dimension is that of x."""
    if len(given) != len(nodes) and not given:
        return Tensor(dtype=tensor.dtype, of=tensor)
    viewed = Shape()
    viewed.set_rank(len(given))
    for at, item in enumerate(given):
        size = size_of(item) if not (isinstance(item, Const) and item.value == -1) else None
        if size is not None:
            viewed.dim(at).merge(size)
    if len(given) == 1 and isinstance(given[0], Const):
        viewed.dim(0).merge(numel(tensor.shape))
    return tensor.view(viewed)


def made(name: str, given: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """What a function of torch's returns; None where that isn't known here."""
    if name in LIKE and given:
        like = given[0]
        if isinstance(like, Param):
            like.is_a("tensor", f"torch.{name} is called with it")
        source = like.tensor if isinstance(like, Param) else like
        return Tensor(shape=source.shape, dtype=_dtype(named, source.dtype)) if isinstance(source, Tensor) else None
    if name == "Parameter" and given:
        return given[0]
    if name == "Linear" and len(given) > 1:
        return Linear(size_of(given[0]), size_of(given[1]))
    if name not in MADE:
        return None
    sizes = given
    if name == "randint":
        sizes = next((g.items for g in given if isinstance(g, Several)), ())
    elif len(given) >= 1 and isinstance(given[0], (Several, Dims)):
        if isinstance(given[0], Dims):
            return Tensor(shape=given[0].shape if given[0].start is None and given[0].stop is None else Shape(), dtype=_dtype(named))
        sizes = given[0].items
    out = Tensor(dtype=_dtype(named))
    if sizes and all(s is not None for s in sizes):
        out.shape.set_rank(len(sizes))
        for at, item in enumerate(sizes):
            size = size_of(item)
            if size is not None:
                if isinstance(item, Param):
                    item.is_a("int", "a tensor of that size is made")
                out.shape.dim(at).merge(size)
    return out


def _dtype(named: Mapping[str, Value], otherwise: Dtype | None = None) -> Dtype:
    given = named.get("dtype")
    if isinstance(given, DtypeOf):
        return given.dtype
    if isinstance(given, Const) and isinstance(given.value, str):
        return Dtype(given.value.removeprefix("torch."), "it is made so")
    return otherwise if otherwise is not None and "dtype" not in named else Dtype()
