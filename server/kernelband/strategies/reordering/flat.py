"""When a loop over tiles and a product's own gain by being one: nothing masks rows of what is loaded, and threads load several elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.syntax import all_nodes
from kernelband.strategies.access_layout.even import numbered_block, own_block, side_of
from kernelband.strategies.access_layout.full import comparisons, resolved
from kernelband.strategies.code import Loop, View
from kernelband.strategies.code.heuristic import computed_with
from kernelband.strategies.code.linear import dimension
from kernelband.strategies.reordering.groups import stays_below

ALIGNED = 16  # elements: what Triton takes for divisible


def row_masks(view: View, loop: Loop) -> dict[tuple[str, str], list[ast.Compare]] | None:
    """Comparisons over whole blocks of the grid by (size, block); None when a load has others beside them that don't follow the loop."""
    kernel = view.kernel
    found: dict[tuple[str, str], list[ast.Compare]] = {}
    folded: set[ast.AST] = set()
    for node in comparisons(kernel, kernel.node):
        pair = _over_grid(view, node)
        if pair is not None:
            found.setdefault(pair, []).append(node)
            folded.add(node)
    loads = [a.mask for a in loop.accesses if not a.store and a.mask is not None]
    if not any(c in folded for mask in loads for c in _compared(view, mask)):
        found = {}  # nothing is in the way
    if any(c not in folded and not _follows(view, c, loop) for mask in loads for c in _compared(view, mask)):
        return None
    return None if any(not computed_with(view, size) for size, _ in found) else found


def strides(view: View, loop: Loop) -> list[str] | None:
    """What is true of the numbers that the loads' addresses are made of whenever they are timed, as far as it decides how many elements a
    thread loads at once: loads of single ones can't be issued ahead, and in one loop every tile would wait for them. None where one may be
    None.
    """
    kernel = view.kernel
    read = frozenset[str]().union(*(kernel.tokens(a.pointer) for a in loop.accesses if not a.store))
    units: list[str] = []
    wholes: list[str] = []
    for name in kernel.parameters:
        numbers = view.timed(name) if name in read and name not in kernel.constexprs and not kernel.bindings(name) else []
        kept = units if numbers == [1] else wholes if numbers and all(n % ALIGNED == 0 for n in numbers) else None
        if kept is not None and not computed_with(view, name):
            return None
        if kept is not None:
            kept.append(f'args["{name}"]')
    # One lookup and one operation for each number: a launch waits for it.
    wide = f"({' | '.join(wholes)})" if len(wholes) > 1 else "".join(wholes)
    return ([" == ".join([*units, "1"])] if units else []) + ([f"{wide} % {ALIGNED} == 0"] if wholes else [])


def evenly(masks: dict[tuple[str, str], list[ast.Compare]]) -> list[str]:
    """What is true where the masks always are."""
    return [f'args["{size}"] % args["{block}"] == 0' for size, block in masks]


def said_of(masks: dict[tuple[str, str], list[ast.Compare]], strides: list[str]) -> str:
    said = (["sizes are multiples of the blocks"] if masks else []) + (["rows are of neighbouring elements"] if strides else [])
    return " and ".join(said) or "there are more tiles than that"


def _over_grid(view: View, node: ast.Compare) -> tuple[str, str] | None:
    """(size, block) of ``pid * BLOCK + arange(0, BLOCK) < size`` where the program's axis has ``cdiv(size, BLOCK)`` programs."""
    kernel, size = view.kernel, node.comparators[0]
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt) or not isinstance(size, ast.Name) or size.id not in kernel.parameters:
        return None
    placed = dimension(node.left)
    offsets = placed[1] if placed is not None else node.left
    found = numbered_block(kernel, offsets, node)
    if found is None or kernel.bindings(size.id):
        return None
    block, number = found
    for axis in range(3):
        if own_block(kernel, offsets, node, axis) is not None and all(side_of(x, size.id, block, axis) for x in view.launches):
            return size.id, block
    return (size.id, block) if stays_below(view, number, size.id, block) else None


def _compared(view: View, mask: ast.expr) -> Iterator[ast.Compare]:
    """The comparisons that a mask is made of, behind names too, but for those that a flag switches off."""
    queue, seen = [mask], set[ast.AST]()
    while queue:
        node = queue.pop()
        if node in seen or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)):
            continue
        seen.add(node)
        if isinstance(node, ast.Compare):
            yield node
            continue
        known = resolved(view.kernel, node)
        queue += [known] if known is not node else [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]


def _follows(view: View, node: ast.expr, loop: Loop) -> bool:
    """It stands in the loop, and reads the loop's variable or what the loop binds: no mask of rows."""
    bound = {n.id for n in all_nodes(loop.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    read = {n.id for n in all_nodes(node) if isinstance(n, ast.Name)}
    return loop.node in view.kernel.module.around(node) and bool(read & bound)
