"""From how kernels index to the shapes and dtypes that nothing else says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernelband.workload.draft import names
from kernelband.workload.draft.conditions import equal
from kernelband.workload.draft.host_body import Launched
from kernelband.workload.draft.kernel_value import RANGE, Use
from kernelband.workload.draft.values import CEILING, POWER, Const, Param, Size, Stride, Tensor, Value, size_of

ROWS_BY = 2  # the rank of what a kernel goes over row by row


def settle(params: Sequence[Param], launches: Sequence[Launched]) -> None:
    """Give every tensor among the parameters a rank. What is guessed is said in its ``why``."""
    for launch in launches:
        for tensor, use in _pointers(launch):
            _marks(tensor, use, launch)
    for _ in range(2):  # one that is like another waits for that one
        for launch in launches:
            for tensor, use in _pointers(launch):
                _by_use(tensor, use, launch)
                _by_span(tensor, use, launch)
                _by_steps(tensor, use, launch)
    tensors = [p for p in params if p.kind in ("tensor", "tensors")]
    for launch in launches:
        _blocks(launch)
    for param in tensors:
        _by_least(param)
    for param in tensors:
        for one, other in param.tensor.shape.root.later:
            equal(one, other)
    main = _main(tensors)
    for param in tensors:
        if main is not None and param is not main and _says_nothing(param, main):
            param.tensor.shape.merge(main.tensor.shape)
            param.tensor.why = f"guessed: the shape of {main.name}"
        if param.tensor.shape.root.rank is None:
            _by_guess(param, main)


def _blocks(launch: Launched) -> None:
    """A block that has to cover a row is as large as the next power of two."""
    for name, use in launch.uses.items():
        block, row = launch.passed.get(name), size_of(launch.passed.get(use.covers)) if use.covers else None
        if isinstance(block, Param) and row is not None and block.size.root.value is None and block.size.root.formula is None:
            block.is_a("int", "the kernel counts with it")
            block.size.merge(Size(formula=(POWER, row, row)))


def _pointers(launch: Launched) -> Iterator[tuple[Tensor, Use]]:
    for name, value in launch.passed.items():
        use = launch.uses.get(name, Use())
        tensor = _tensor(value)
        if use.pointer and tensor is not None:
            yield tensor, use


def _tensor(value: Value) -> Tensor | None:
    if isinstance(value, Param):
        return value.tensor if value.kind in ("tensor", "tensors") else None
    return value if isinstance(value, Tensor) else None


def _marks(tensor: Tensor, use: Use, launch: Launched) -> None:
    tensor.loaded, tensor.stored = tensor.loaded or use.loaded, tensor.stored or use.stored
    tensor.integer, tensor.boolean = tensor.integer or use.integer, tensor.boolean or use.boolean
    tensor.half, tensor.full = tensor.half or use.half, tensor.full or use.full
    tensor.scattered = tensor.scattered or use.scattered
    for pointer, times in use.index:
        other = _tensor(launch.passed.get(pointer))
        if other is not None and tensor.index_of is None:
            tensor.index_of = (other, 0 if times else -1)
    if tensor.of is not None:
        _marks(tensor.of, use, launch)


def _by_use(tensor: Tensor, use: Use, launch: Launched) -> None:
    """The shape, from what addresses are made of and what masks compare with."""
    shape, passed = tensor.shape, launch.passed
    bounds = [size for b in use.bounds if (size := _bound(b, passed)) is not None]
    if shape.root.rank == 1 and len(bounds) == 1 and RANGE in use.parts:
        _same_length(shape.dim(0), bounds[0], tensor)
    if shape.root.rank is not None:
        if len(bounds) == shape.root.rank >= ROWS_BY:
            for dim, bound in zip(shape.dims(), bounds, strict=True):
                if not dim.root.names and dim.root.value is None and bound.root.numel is None:
                    dim.merge(bound)
        return
    twin = next((t for t, u in _pointers(launch) if t.shape.root.rank is not None and RANGE in u.parts and _alike(u, use)), None)
    if twin is not None and not shape.known:
        shape.merge(twin.shape)
        tensor.why = f"the kernel goes over it as over {twin.name}" if twin.name else "as the kernel indexes it"
        return
    values = [passed.get(part) for part in sorted(use.strides - launch.constants)]
    strides = [v.tensor for v in (*values, *(passed.get(p) for p in use.parts)) if isinstance(v, Stride)]
    other = next((t for t in strides if t.shape.root is not shape.root), None)
    own = sorted({v.index for v in values if isinstance(v, Stride) and v.tensor.shape.root is shape.root})
    counts = [s for v in values if not isinstance(v, Const) and (s := size_of(v)) is not None]
    grid = [size_of(launch.grid[axis]) if axis < len(launch.grid) else None for axis in use.programs]
    anew = [size for part in sorted(use.around) if (size := size_of(passed.get(part))) is not None]
    rows = anew[0] if anew else next((g for g in grid if g is not None), None)
    if other is not None and not shape.known:
        shape.merge(other.shape)
        tensor.why = f"the kernel takes the strides of {other.name or 'another tensor'} for it"
    elif len(own) > 1 and use.spans and own == list(range(len(own))):  # each but the last dimension has a stride
        shape.set_rank(len(own) + 1)
        tensor.why = "as the kernel indexes it"
    elif len(strides) > ROWS_BY:
        return
    elif RANGE in use.parts and len(bounds) >= ROWS_BY:
        _dims(tensor, bounds)
    elif RANGE in use.parts and (use.programs or anew) and (len(counts) == 1 or strides):
        _dims(tensor, [rows, bounds[0] if bounds else counts[0] if counts else None])
    elif RANGE in use.parts and len(bounds) == 1 and not counts:
        if bounds[0].root.numel is not None and not shape.known:
            shape.merge(bounds[0].root.numel)
            tensor.why = "the kernel goes over all of it with the same places"
        else:
            _dims(tensor, bounds)
            tensor.flat = bool(use.programs)
    elif RANGE not in use.parts and use.programs and rows is not None and not counts:
        _dims(tensor, [rows])
    elif not use.parts and not use.index:
        _dims(tensor, [Size(value=1, exact=True)])


def _by_span(tensor: Tensor, use: Use, launch: Launched) -> None:
    """A row that is gone through at once, up to a size of the host's, is as long as that."""
    for span in use.spans - use.strides:
        size = launch.passed.get(span)
        rounded = isinstance(size, Size) and size.root.formula is not None and size.root.formula[0] == POWER
        if isinstance(size, Size) and (tensor.shape.root.rank or 0) >= ROWS_BY and not rounded:
            _if_free(tensor.shape.dim(-1), size)


def _by_steps(tensor: Tensor, use: Use, launch: Launched) -> None:
    """Where an axis of the grid is multiplied by a stride, there are as many as there are programs."""
    for name, axis in use.steps:
        stride, size = launch.passed.get(name), size_of(launch.grid[axis]) if axis < len(launch.grid) else None
        rounded = size is not None and size.root.formula is not None and size.root.formula[0] == CEILING
        if isinstance(stride, Stride) and stride.tensor.shape.root is tensor.shape.root and size is not None and not rounded:
            _if_free(tensor.shape.dim(stride.index), size)


def _alike(one: Use, other: Use) -> bool:
    """Whether addresses are made in the same way."""
    return (one.parts, one.strides, one.around, one.spans, one.bounds) == (
        *(other.parts, other.strides, other.around, other.spans, other.bounds),
    )


def _if_free(dim: Size, size: Size) -> None:
    root = dim.root
    if not root.names and root.value is None and not root.parts and size.root.numel is None:
        dim.merge(size)


def _bound(said: str, passed: Mapping[str, Value]) -> Size | None:
    """What a mask compares with: an argument, or a part of one."""
    name, _, by = said.partition(" // ")
    size = size_of(passed.get(name))
    return Size(formula=("//", size, Size(value=int(by)))) if size is not None and by else size


def _same_length(dim: Size, bound: Size, tensor: Tensor) -> None:
    if bound.root.numel is not None and bound.root.numel.root is tensor.shape.root:
        return
    dim.merge(bound)


def _dims(tensor: Tensor, sizes: Sequence[Size | None]) -> None:
    if not tensor.shape.set_rank(len(sizes)):
        return
    tensor.why = "as the kernel indexes it"
    for at, size in enumerate(sizes):
        if size is not None:
            tensor.shape.dim(at).merge(size)


def _by_least(param: Param) -> None:
    """Of ``x.shape[1]`` and ``x.stride(0)`` the rank is at least 2 and 1; ``x.shape[-1]`` speaks of rows."""
    root = param.tensor.shape.root
    if root.rank is not None or root.least == 0:
        return
    rank = max(root.least, ROWS_BY) if root.from_back or root.least > 1 else root.least
    param.tensor.shape.set_rank(rank)
    for view in param.tensor.views:  # x.view(-1, x.shape[-1]) is x itself, then
        if view.shape.root.rank == rank == ROWS_BY and view.shape.dim(-1).root is param.tensor.shape.dim(-1).root:
            param.tensor.shape.merge(view.shape)
    param.tensor.why = f"guessed: {rank} dimension{'s' if rank > 1 else ''}"


def _main(tensors: Sequence[Param]) -> Param | None:
    """The one that others are like: the first that has rows."""
    known = [p for p in tensors if p.tensor.shape.root.rank is not None]
    return next((p for p in known if (p.tensor.shape.root.rank or 0) >= ROWS_BY), known[0] if known else None)


def _says_nothing(param: Param, main: Param) -> bool:
    """Whether nothing but the rank is known of it, and that is the other one's."""
    one, two = param.tensor.shape, main.tensor.shape
    if one.root is two.root or one.root.rank is None or one.root.rank != two.root.rank or one.root.rank < ROWS_BY:
        return False
    pairs = [(a.root, b.root) for a, b in zip(one.dims(), two.dims(), strict=True)]
    unknown = [not a.names and a.value is None and not a.parts for a, b in pairs if a is not b]
    return bool(unknown) and all(unknown)


def _by_guess(param: Param, main: Param | None) -> None:
    tensor, name = param.tensor, param.name
    if main is None:
        tensor.shape.set_rank(1)
        tensor.why = "guessed: 1 dimension"
        return
    whole = main.tensor.shape
    if tensor.index_of is not None and tensor.index_of[0].shape.root is whole.root:  # looked up there: as many as one likes
        _dims(tensor, [Size(names=[f"n_{name}"])])
        tensor.why = "guessed: 1 dimension"
    elif names.is_vector(name):
        _dims(tensor, [whole.dim(-1)])
        tensor.why = f"guessed: as long as the last dimension of {main.name}"
    elif tensor.integer or names.holds_places(name):
        _dims(tensor, [whole.dim(0)])
        tensor.why = f"guessed: as long as the first dimension of {main.name}"
    else:
        tensor.shape.merge(whole)
        tensor.why = f"guessed: the shape of {main.name}"
