"""Whether accesses are guarded where a block isn't full: by a mask, by indices that go round, by loops that end with the last full one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import paired, target_names
from kernelband.strategies.code.kernel import KernelView


def unguarded(kernel: KernelView, block: str) -> bool:
    """Some access runs over ``block`` elements with neither a mask nor a ``%`` for them: only a divisor may replace it."""
    token = f"#{block}"
    for access in kernel.accesses():
        masked = access.mask is not None and _guards(kernel, access.mask, block)
        whole = any(_in_whole_blocks(x, block) for x in access.loops)
        if not masked and not whole and any(token in kernel.tokens(n, wrap=False) for n in _meant(kernel, access.pointer, access.call)):
            return True
    return bool(kernel.calls({"make_block_ptr"}))  # a descriptor knows its shape and never reaches past it


def _guards(kernel: KernelView, mask: ast.expr, block: str) -> bool:
    """Whether a mask leaves out what lies behind the end, however large the block: ``mask | EVEN`` does if EVEN is asked of the block."""
    match mask:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return all(_guards(kernel, n, block) or _of_block(kernel, n, block) for n in (left, right))
        case ast.BinOp(op=ast.BitAnd(), left=left, right=right):
            return _guards(kernel, left, block) or _guards(kernel, right, block)
        case ast.Subscript(value=value):
            return _guards(kernel, value, block)
        case ast.Name(id=name) if (bound := kernel.bindings(name)) and all(
            isinstance(b, ast.Assign) and len(b.targets) == 1 for b in bound
        ):
            values = [b.value for b in bound if isinstance(b, ast.Assign) and isinstance(b.targets[0], ast.Name)]
            read = any(isinstance(n, ast.Name) and n.id == name for v in values for n in all_nodes(v))
            if len(values) == len(bound) and not read:
                return all(_guards(kernel, v, block) for v in values)
        case _:
            pass
    return f"#{block}" in kernel.tokens(mask)


def _of_block(kernel: KernelView, flag: ast.expr, block: str) -> bool:
    """``@triton.heuristics`` computes the flag from the block that the launch has."""
    called = [d for d in kernel.node.decorator_list if isinstance(d, ast.Call) and ast.unparse(d.func).rpartition(".")[2] == "heuristics"]
    values = [a for d in called for a in (*d.args, *(k.value for k in d.keywords)) if isinstance(a, ast.Dict)]
    pairs = [pair for d in values for pair in zip(d.keys, d.values, strict=True)]
    code = [v for k, v in pairs if isinstance(flag, ast.Name) and isinstance(k, ast.Constant) and k.value == flag.id]
    asked = {n.slice.value for v in code for n in all_nodes(v) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant)}
    return block in asked


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
