"""Block pointers, and whether they go on by whole blocks of one side: another size of the block then means the same elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import zip_longest

from attrs import frozen

from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.kernel import KernelView, Loop, block_shape
from kernelband.strategies.code.literals import integer


@frozen(eq=False)
class BlockPointer:
    """``name = tl.make_block_ptr(...)``; the call alone has no name. ``offsets`` and ``sides`` by dimension."""

    name: str
    call: ast.Call
    offsets: tuple[ast.expr, ...]
    sides: tuple[ast.expr, ...]

    def along(self, block: str) -> list[int]:
        """The dimensions in which it is as wide as the block."""
        return [i for i, side in enumerate(self.sides) if ast.unparse(side) == block]


def block_pointers(kernel: KernelView) -> Iterator[BlockPointer | None]:
    """All that the kernel makes; None for one whose offsets and shape aren't written out."""
    for call in kernel.calls({"make_block_ptr"}):
        named = {k.arg: k.value for k in call.keywords}
        offsets = call.args[3] if len(call.args) > 3 else named.get("offsets")
        shape, around = block_shape(call), kernel.module.parents.get(call)
        name = next(iter(bound_names(around)), "") if isinstance(around, ast.Assign) and around.value is call else ""
        written = isinstance(offsets, ast.Tuple | ast.List) and isinstance(shape, ast.Tuple | ast.List)
        if written and isinstance(offsets, ast.Tuple | ast.List) and isinstance(shape, ast.Tuple | ast.List):
            yield BlockPointer(name, call, tuple(offsets.elts), tuple(shape.elts)) if len(offsets.elts) == len(shape.elts) else None
        else:
            yield None


def advances(kernel: KernelView, pointer: BlockPointer, dimension: int) -> list[ast.expr | None]:
    """By how much statements move the pointer on in a dimension; None for what is no ``p = tl.advance(p, (0, BLOCK))``."""
    found: list[ast.expr | None] = []
    for bound in kernel.bindings(pointer.name) if pointer.name else ():
        value = bound.value if isinstance(bound, ast.Assign) else None
        if value is pointer.call:
            continue
        given = value.args if isinstance(value, ast.Call) and kernel.tl(value) == "advance" and len(value.args) == 2 else []
        own = bool(given) and isinstance(given[0], ast.Name) and given[0].id == pointer.name
        steps = given[1].elts if own and isinstance(given[1], ast.Tuple | ast.List) else []
        found.append(steps[dimension] if dimension < len(steps) else None)
    return found


def goes_by(kernel: KernelView, loop: Loop, block: str) -> bool:
    """Whether a loop has a turn for each block of an axis."""
    if loop.step is not None:
        return ast.unparse(loop.step) == block
    return block in kernel.tokens(loop.stop)


def walks_on(kernel: KernelView, name: str, block: str, loop: Loop) -> bool:
    """What the loop, which goes on by the block, makes of the name is that block pointer one block further on."""
    made = [p for p in block_pointers(kernel) if p is not None and p.name == name]
    inside = [b for b in kernel.bindings(name) if loop.node in kernel.module.around(b)]
    if len(made) != 1 or len(inside) != 1 or inside[0] not in loop.node.body:
        return False
    (pointer,), others = made, len(kernel.bindings(name)) - 2  # beside where it is made and where it goes on
    if others or loop.node in kernel.module.around(pointer.call):
        return False
    for i, offset in enumerate(pointer.offsets):
        (step,) = advances(kernel, pointer, i)
        by_blocks = step is not None and ast.unparse(step) == block and block not in kernel.tokens(offset)
        if step is None or not (by_blocks if i in pointer.along(block) else block not in kernel.tokens(step)):
            return False
    return bool(pointer.along(block))


def beginnings(kernel: KernelView, block: str) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """Places of block pointers along the block, ``offset + tl.arange(0, BLOCK)``, where they stay as they begin; None where it isn't seen,
    or the tensor's own shape tells the block.
    """
    for call in kernel.calls({"advance"}):
        around = kernel.module.parents.get(call)
        own = list(bound_names(around)) if isinstance(around, ast.Assign) and around.value is call else []
        if not call.args or own != [ast.unparse(call.args[0])]:
            yield call, None
    for call, pointer in zip_longest(kernel.calls({"make_block_ptr"}), block_pointers(kernel)):
        tensor = [*call.args[:3], *(k.value for k in call.keywords if k.arg in ("base", "shape", "strides"))]
        if pointer is None or any(block in kernel.tokens(n) for n in tensor):
            yield call, None
            continue
        for i in pointer.along(block):
            moved = [s for s in advances(kernel, pointer, i) if s is None or integer(s) != 0]
            if not moved:
                yield call, _place(kernel, call, pointer.offsets[i], block, i)
            elif not any(goes_by(kernel, x, block) and walks_on(kernel, pointer.name, block, x) for x in kernel.loops()):
                yield call, None


def _place(kernel: KernelView, call: ast.Call, offset: ast.expr, block: str, dimension: int) -> ast.expr:
    language = ast.Name(kernel.language, ast.Load())
    lanes = ast.Call(ast.Attribute(language, "arange", ast.Load()), [ast.Constant(0), ast.Name(block, ast.Load())], [])
    lanes.lineno, lanes.col_offset = call.lineno, call.col_offset + dimension
    return ast.copy_location(ast.BinOp(offset, ast.Add(), lanes), call)
