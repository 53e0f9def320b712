"""``tensor_descriptors``: tiles of a product are fetched by the tensor memory accelerator (TMA) instead of one pointer per element.

A descriptor holds base, shape and strides once; the hardware computes addresses, fills what lies outside with zeros, and frees the
registers and instructions that pointers and masks take (CUDA programming guide, tensor memory access; ``tl.make_tensor_descriptor``).
The host function says whether base and strides suit the hardware; anything else keeps the pointers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.access_layout.tiles import Side, Tile, read_tile
from kernelband.strategies.access_layout.tma import ALIGNMENT, contiguous, host_edits, outer_strides
from kernelband.strategies.code import At, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import Term, joined
from kernelband.strategies.code.view import BYTES, moving

LEAST_ROW = 16  # elements of a block's last side: 16 bytes whatever the type
SINCE = (3, 4)  # the Triton that has tl.make_tensor_descriptor
HOPPER = 90
WIDTH = 125


class TensorDescriptors:
    """Loads of two-dimensional tiles in loops with a product, through descriptors made on the device."""

    name = "tensor_descriptors"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, device = view.kernel, view.facts.device
    if device.backend != "cuda" or device.arch < HOPPER or view.facts.triton < SINCE or not view.whole:
        return
    if kernel.calls({"make_tensor_descriptor", "make_block_ptr"}) or kernel.model.heuristics:
        return
    for loop in kernel.loops():
        if not loop.has_dot or not loop.innermost:
            continue
        tiles = [t for a in loop.accesses if (t := read_tile(kernel, a, loop)) is not None and _suits(view, t)]
        if tiles:
            yield _described(at, tiles)
            return


def _suits(view: View, tile: Tile) -> bool:
    """In all cases the hardware can read it, in the kernel its names still mean the same, and what wraps round is never stored."""
    kernel = view.kernel
    last = contiguous(view, tile)
    size = _itemsize(view, tile.base)
    if last is None or size is None or not _numbered(view, tile.sides[last].block, LEAST_ROW):
        return False
    strides = outer_strides(tile, last)
    if strides is None or any(n <= 0 or n * size % ALIGNMENT for s in strides for n in view.timed(s)) or not all(map(view.timed, strides)):
        return False
    statement = kernel.module.parents[tile.access.call]
    if not isinstance(statement, ast.Assign) or statement not in tile.loop.node.body:
        return False
    terms = [*tile.offset, *(t for s in tile.sides for t in (*s.origin, *s.bound_terms))]
    return all(_stable(view, t, tile) for t in terms) and all(s.wrap is None or _stored_masked(view, s) for s in tile.sides)


def _itemsize(view: View, pointer: str) -> int | None:
    sizes = {BYTES.get(t["dtype"], 4) for x in view.target_launches for n, t in x["tensors"].items() if n == pointer}
    return sizes.pop() if len(sizes) == 1 else None


def _numbered(view: View, block: str, least: int) -> bool:
    sizes = [int(block)] if block.isdigit() else view.sizes(block)
    return bool(sizes) and min(sizes) >= least


def _stable(view: View, term: Term, tile: Tile) -> bool:
    """No name of the term is bound between where the pointer read it and the end of the loop that will read it again."""
    kernel = view.kernel
    around = list(kernel.module.around(term.read)) if term.read in kernel.module.parents else []
    start = kernel.module.span(term.read).start if isinstance(term.read, ast.expr | ast.stmt) else 0
    outside = [
        n for n in kernel.module.around(tile.access.call) if isinstance(n, ast.For | ast.While) and n not in around and n is not term.read
    ]
    end = kernel.module.span(outside[-1] if outside else tile.access.call).end
    for name in term.names() - {tile.loop.variable}:
        for bound in kernel.bindings(name):
            if start < kernel.module.span(bound).start < end:
                return False
    inner = kernel.module.span(tile.loop.node)
    moved = [b for b in kernel.bindings(tile.loop.variable) if inner.start < kernel.module.span(b).start < inner.end]
    return tile.loop.variable not in term.names() or (tile.loop.node in around and not moved)


def _stored_masked(view: View, side: Side) -> bool:
    """Rows past the end hold what they wrapped round to before, and zeros now: neither may reach memory or another row."""
    kernel = view.kernel
    if (
        kernel.calls({"sum", "max", "min", "argmax", "argmin", "cumsum", "softmax", "sort", "reduce", "associative_scan"})
        or side.wrap is None
    ):
        return False
    limit = ast.unparse(side.wrap)
    stores = [a for a in kernel.accesses() if a.store]
    return (
        bool(stores)
        and not kernel.model.helpers
        and len(stores) == len(kernel.calls({"store"}))
        and all(_below(view, a.mask, limit) for a in stores)
    )


def _below(view: View, mask: ast.expr | None, limit: str) -> bool:
    if isinstance(mask, ast.Name) and len(found := view.kernel.bindings(mask.id)) == 1 and isinstance(found[0], ast.Assign):
        return _below(view, found[0].value, limit)
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd):
        return _below(view, mask.left, limit) or _below(view, mask.right, limit)
    return (
        isinstance(mask, ast.Compare)
        and len(mask.ops) == 1
        and isinstance(mask.ops[0], ast.Lt)
        and ast.unparse(mask.comparators[0]) == limit
    )


def _described(at: At, tiles: list[Tile]) -> Proposal | None:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    flag = kernel.free_name("DESCRIPTORS")
    added = module.add_parameters(kernel.node, [(f"{flag}: {kernel.language}.constexpr", "False")])
    if added is None:
        return None
    edits: Edits = [(module.path, e) for e in added]
    made: list[str] = []
    names: dict[Tile, str] = {}
    for tile in tiles:
        names[tile] = kernel.free_name(tile.base.removesuffix("_ptr").lower() + "_desc")
        if list(names.values()).count(names[tile]) > 1:
            return None
        made += _make(view, tile, names[tile])
    head = module.before(_placed(view, tiles), [f"if {flag}:", *(f"{module.unit}{line}" for line in made)])
    if head is None:
        return None
    edits.append((module.path, head))
    for group in _groups(tiles):
        edit = _either(view, group, names, flag)
        if edit is None:
            return None
        edits.append((module.path, edit))
    for launch in view.launches:
        more = host_edits(view, launch, tiles, flag)
        if more is None:
            return None
        edits += more
    listed = " and ".join(t.base for t in tiles)
    return at.proposal(
        {"loads": len(tiles)},
        edits,
        "exact",
        f"Tiles of {listed} come through tensor descriptors (TMA) where base and strides are whole {ALIGNMENT} bytes, else by pointers.",
        f"The loop feeds a product with tiles of {' and '.join(map(_tile_text, tiles))}: a descriptor replaces a pointer per element.",
    )


def _tile_text(tile: Tile) -> str:
    return f"{tile.sides[0].block} × {tile.sides[1].block}"


def _make(view: View, tile: Tile, name: str) -> list[str]:
    last = contiguous(view, tile) or 0
    row, column = tile.sides[1 - last], tile.sides[last]
    base = " + ".join([tile.base, *(t.code for t in tile.offset)])
    parts = [base, f"shape=[{row.bound}, {column.bound}]", f"strides=[{row.stride}, 1]", f"block_shape=[{row.block}, {column.block}]"]
    head = f"{name} = {view.kernel.language}.make_tensor_descriptor("
    line = f"{head}{', '.join(parts)})"
    return [line] if len(line) <= WIDTH else [head, *(f"{view.kernel.module.unit}{part}," for part in parts), ")"]


def _load(view: View, tile: Tile, name: str) -> str:
    last = contiguous(view, tile) or 0
    code = f"{name}.load([{joined(tile.sides[1 - last].origin)}, {joined(tile.sides[last].origin)}])"
    return code if last == 1 else f"{view.kernel.language}.trans({code})"


def _placed(view: View, tiles: list[Tile]) -> ast.stmt:
    """Before the outermost loop in which nothing is bound that the descriptors are made of."""
    kernel = view.kernel
    names = {tiles[0].base}
    for tile in tiles:
        names |= {tile.base} | {n for t in (*tile.offset, *(t for s in tile.sides for t in s.bound_terms)) for n in t.names()}
        names |= {s.stride for s in tile.sides if s.stride is not None}
    place: ast.stmt = tiles[0].loop.node
    for around in kernel.module.around(tiles[0].loop.node):
        if isinstance(around, ast.For | ast.While):
            if any(around in kernel.module.around(b) or b is around for n in names for b in kernel.bindings(n)):
                break
            place = around
    return place


def _groups(tiles: list[Tile]) -> list[list[Tile]]:
    """Loads that stand next to each other."""
    body = tiles[0].loop.node.body
    groups: list[list[Tile]] = []
    place = {t: next(i for i, s in enumerate(body) if t.access.call in all_nodes(s)) for t in tiles}
    for tile in tiles:
        if groups and place[groups[-1][-1]] == place[tile] - 1:
            groups[-1].append(tile)
        else:
            groups.append([tile])
    return groups


def _either(view: View, group: list[Tile], names: dict[Tile, str], flag: str) -> Edit | None:
    """``if DESCRIPTORS:`` with the loads through descriptors, ``else:`` with the lines as they stand."""
    module = view.kernel.module
    statements = [module.parents[t.access.call] for t in group]
    first, final = statements[0], statements[-1]
    if not isinstance(first, ast.stmt) or not isinstance(final, ast.stmt):
        return None
    indent = module.indent(first)
    if indent is None:
        return None
    start, end = module.span(first).start, module.span(final).end
    deeper = indent + module.unit
    lines = [f"if {flag}:"]
    for tile, statement in zip(group, statements, strict=True):
        if not isinstance(statement, ast.Assign):
            return None
        target = ", ".join(ast.unparse(t) for t in statement.targets)
        lines.append(f"{deeper}{target} = {_load(view, tile, names[tile])}")
    lines.append(f"{indent}else:")
    kept = module.text[start:end].replace("\r\n", "\n").split("\n")
    lines += [deeper + kept[0], *(deeper + line.removeprefix(indent) if line.startswith(indent) else line for line in kept[1:])]
    return Edit(Span(start, end), module.newline.join(lines))
