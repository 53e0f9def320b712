"""Whether accesses are guarded where a block isn't full: by a mask, by indices that go round, by loops that end with the last full one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.strategies.code.binding import paired, target_names
from kernelband.strategies.code.kernel import KernelView


def unguarded(kernel: KernelView, block: str) -> bool:
    """Some access runs over ``block`` elements with neither a mask nor a ``%`` for them: only a divisor may replace it."""
    token = f"#{block}"
    for access in kernel.accesses():
        masked = access.mask is not None and token in kernel.tokens(access.mask)
        whole = any(_in_whole_blocks(x, block) for x in access.loops)
        if not masked and not whole and any(token in kernel.tokens(n, wrap=False) for n in _meant(kernel, access.pointer, access.call)):
            return True
    return bool(kernel.calls({"make_block_ptr"}))  # a descriptor knows its shape and never reaches past it


def _meant(kernel: KernelView, pointer: ast.expr, at: ast.AST) -> Iterator[ast.expr]:
    """What a pointer may be made of where ``at`` reads it: nothing that a branch has bound whose condition is false there."""
    bindings = kernel.bindings(pointer.id) if isinstance(pointer, ast.Name) else []
    if not isinstance(pointer, ast.Name) or not bindings or any(not isinstance(b, ast.Assign | ast.AugAssign) for b in bindings):
        yield pointer
        return
    there = dict(_conditions(kernel, at))
    for bound in bindings:
        if any(there.get(condition, taken) != taken for condition, taken in _conditions(kernel, bound)):
            continue
        if isinstance(bound, ast.AugAssign):
            yield bound.value
        elif isinstance(bound, ast.Assign):
            yield from (v for t in bound.targets for one, v in paired(t, bound.value) if pointer.id in target_names(one))


def _conditions(kernel: KernelView, node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Constexprs that the branches around it ask for, and whether they are taken where these are true."""
    inner = node
    for around in kernel.module.around(node):
        match around:
            case ast.If(test=ast.Name(id=name) as test, body=body) if inner is not test and name in kernel.constexprs:
                if not kernel.bindings(name):
                    yield name, inner in body
            case _:
                pass
        inner = around


def _in_whole_blocks(loop: ast.For, block: str) -> bool:
    """``range(0, n // BLOCK * BLOCK, BLOCK)`` or ``range(0, n // BLOCK)``: it ends with the last block that is full."""
    if not isinstance(loop.iter, ast.Call) or len(loop.iter.args) < 2:
        return False
    stop = loop.iter.args[1]
    whole = stop.left if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Mult) and ast.unparse(stop.right) == block else stop
    return isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.FloorDiv) and ast.unparse(whole.right) == block
