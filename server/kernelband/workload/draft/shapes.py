"""From how kernels index to the shapes and dtypes that nothing else says."""

from __future__ import annotations

from collections.abc import Sequence

from kernelband.workload.draft import names
from kernelband.workload.draft.conditions import equal
from kernelband.workload.draft.kernel_use import RANGE, Use
from kernelband.workload.draft.reading import Launch
from kernelband.workload.draft.values import CEILING, GUESSED, POWER, Const, Param, Size, Stride, Tensor, size_of, tensor_of

ROWS_BY = 2  # the rank of what a kernel goes over row by row
INDEXED = "as the kernel indexes it"


def settle(params: Sequence[Param], launches: Sequence[Launch]) -> None:
    """Give every tensor among the parameters a rank. What is guessed is said in its ``why``."""
    pointers = [(tensor, use, launch) for launch in launches for tensor, use in launch.pointers()]
    for tensor, use, launch in pointers:
        _mark(tensor, use, launch)
    for _ in range(2):  # one that is like another waits for that one
        for tensor, use, launch in pointers:
            _by_use(tensor, use, launch)
            _by_programs(tensor, use, launch)
    for launch in launches:
        _blocks(launch)
    tensors = [p for p in params if p.kind in ("tensor", "tensors")]
    for param in tensors:
        _by_least(param.tensor)
    for param in tensors:
        for one, other in param.tensor.shape.root.later:
            equal(one, other)
    known = [p for p in tensors if p.tensor.shape.rows]
    main = next((p for p in known if p.tensor.shape.rows >= ROWS_BY), known[0] if known else None)  # the one that others are like
    for param in tensors:
        if main is not None and _says_nothing(param.tensor, main.tensor):
            _like(param.tensor, main.tensor)
        if param.tensor.shape.root.rank is None:
            _by_guess(param, main)


def _mark(tensor: Tensor, use: Use, launch: Launch) -> None:
    tensor.marks |= use.marks
    for pointer, times in use.index:
        other = tensor_of(launch.passed.get(pointer))
        if other is not None and tensor.index_of is None:
            tensor.index_of = (other, 0 if times else -1)
    if tensor.of is not None:
        _mark(tensor.of, use, launch)


def _by_use(tensor: Tensor, use: Use, launch: Launch) -> None:
    """The shape, from what addresses are made of and what masks compare with."""
    shape, at, passed = tensor.shape, use.places, launch.passed
    rank, ranged = shape.root.rank, RANGE in at.parts
    bounds = [size for b in at.bounds if (size := _bound(b, launch)) is not None]
    if rank is not None:
        if rank == 1 == len(bounds) and ranged and not (bounds[0].root.numel and bounds[0].root.numel.root is shape.root):
            shape.dim(0).merge(bounds[0])
        for dim, bound in zip(shape.dims(), bounds, strict=True) if len(bounds) == rank >= ROWS_BY else ():
            if not dim.root.names and dim.root.value is None and bound.root.numel is None:
                dim.merge(bound)
        return
    twin = next((t for t, u in launch.pointers() if t.shape.root.rank is not None and RANGE in u.places.parts and u.places == at), None)
    if twin is not None and not shape.known:
        shape.merge(twin.shape)
        tensor.why = f"the kernel goes over it as over {twin.name}" if twin.name else INDEXED
        return
    values = [passed.get(part) for part in sorted(at.strides - launch.kernel.constants)]
    strides = [v.tensor for v in (*values, *(passed.get(p) for p in at.parts)) if isinstance(v, Stride)]
    other = next((t for t in strides if t.shape.root is not shape.root), None)
    own = sorted({v.index for v in values if isinstance(v, Stride) and v.tensor.shape.root is shape.root})
    counts = [s for v in values if not isinstance(v, Const) and (s := size_of(v)) is not None]
    anew = [size for part in sorted(at.around) if (size := launch.size(part)) is not None]
    rows = next((size for size in (*anew, *map(launch.axis, at.programs)) if size is not None), None)
    if other is not None and not shape.known:
        shape.merge(other.shape)
        tensor.why = f"the kernel takes the strides of {other.name or 'another tensor'} for it"
    elif len(own) > 1 and at.spans and own == list(range(len(own))):  # each but the last dimension has a stride
        _dims(tensor, [None] * (len(own) + 1))
    elif len(strides) > ROWS_BY:
        return
    elif ranged and len(bounds) >= ROWS_BY:
        _dims(tensor, bounds)
    elif ranged and (at.programs or anew) and (len(counts) == 1 or strides):
        _dims(tensor, [rows, next(iter((*bounds, *counts)), None)])
    elif ranged and len(bounds) == 1 and not counts:
        if bounds[0].root.numel is not None and not shape.known:
            shape.merge(bounds[0].root.numel)
            tensor.why = "the kernel goes over all of it with the same places"
        else:
            _dims(tensor, bounds)
    elif not ranged and at.programs and rows is not None and not counts:
        _dims(tensor, [rows])
    elif not at.parts and not use.index:
        _dims(tensor, [Size(value=1)])


def _by_programs(tensor: Tensor, use: Use, launch: Launch) -> None:
    """A row that is gone through at once, up to a size of the host's, is as long as that. Where an axis of the grid is multiplied by a
    stride, there are as many as there are programs.
    """
    for span in use.places.spans - use.places.strides:
        size = launch.passed.get(span)
        if isinstance(size, Size) and tensor.shape.rows >= ROWS_BY:
            _if_free(tensor.shape.dim(-1), size)
    for name, axis in use.places.steps:
        stride, size = launch.passed.get(name), launch.axis(axis)
        if isinstance(stride, Stride) and stride.tensor.shape.root is tensor.shape.root and size is not None:
            _if_free(tensor.shape.dim(stride.index), size)


def _if_free(dim: Size, size: Size) -> None:
    """The dimension is that long, unless it is something else, or the size was rounded up."""
    root, made = dim.root, size.root
    rounded = made.formula is not None and made.formula[0] in (POWER, CEILING)
    if not root.names and root.value is None and not root.parts and made.numel is None and not rounded:
        dim.merge(size)


def _bound(said: str, launch: Launch) -> Size | None:
    """What a mask compares with: an argument, or a part of one."""
    name, _, by = said.partition(" // ")
    size = launch.size(name)
    return Size(formula=("//", size, Size(value=int(by)))) if size is not None and by else size


def _dims(tensor: Tensor, sizes: Sequence[Size | None], why: str = INDEXED) -> None:
    if tensor.shape.set_dims(sizes):
        tensor.why = why


def _blocks(launch: Launch) -> None:
    """A block that has to cover a row is as large as the next power of two."""
    for name, use in launch.uses.items():
        block, row = launch.passed.get(name), launch.size(use.covers)
        if isinstance(block, Param) and row is not None and block.size.root.value is None and block.size.root.formula is None:
            block.is_a("int", "the kernel counts with it")
            block.size.merge(Size(formula=(POWER, row, row)))


def _by_least(tensor: Tensor) -> None:
    """Of ``x.shape[1]`` and ``x.stride(0)`` the rank is at least 2 and 1; ``x.shape[-1]`` speaks of rows."""
    shape, root = tensor.shape, tensor.shape.root
    if root.rank is not None or root.least == 0:
        return
    rank = max(root.least, ROWS_BY) if shape.from_back or root.least > 1 else root.least
    shape.set_rank(rank)
    for view in tensor.views:  # x.view(-1, x.shape[-1]) is x itself, then
        if view.shape.root.rank == rank == ROWS_BY and view.shape.dim(-1).root is shape.dim(-1).root:
            shape.merge(view.shape)
    tensor.why = f"{GUESSED}: {rank} dimension{'s' if rank > 1 else ''}"


def _says_nothing(tensor: Tensor, main: Tensor) -> bool:
    """Whether nothing but the rank is known of it, and that is the other one's."""
    one, two = tensor.shape, main.shape
    if one.root is two.root or not one.rows == two.rows >= ROWS_BY:
        return False
    other = [a.root for a, b in zip(one.dims(), two.dims(), strict=True) if a.root is not b.root]
    return bool(other) and all(not a.names and a.value is None and not a.parts for a in other)


def _like(tensor: Tensor, main: Tensor) -> None:
    tensor.shape.merge(main.shape)
    tensor.why = f"{GUESSED}: the shape of {main.name}"


def _by_guess(param: Param, main: Param | None) -> None:
    tensor, name = param.tensor, param.name
    whole = main.tensor.shape if main is not None else None
    if whole is None or main is None:
        _dims(tensor, [None], f"{GUESSED}: 1 dimension")
    elif tensor.index_of is not None and tensor.index_of[0].shape.root is whole.root:  # looked up there: as many as one likes
        _dims(tensor, [Size([f"n_{name}"])], f"{GUESSED}: 1 dimension")
    elif names.sounds_like("vector", name):
        _dims(tensor, [whole.dim(-1)], f"{GUESSED}: as long as the last dimension of {main.name}")
    elif "integer" in tensor.marks or names.sounds_like("places", name):
        _dims(tensor, [whole.dim(0)], f"{GUESSED}: as long as the first dimension of {main.name}")
    else:
        _like(tensor, main.tensor)
