"""Which tiles are worth trying in a kernel's place, by what its body does with them, and the proposal of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import ceil, prod

from attrs import evolve

from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Proposal
from kernelband.strategies.code import At, LaunchView, View
from kernelband.strategies.code.aliasing import apart
from kernelband.strategies.code.guards import unguarded
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.resizing import resizable
from kernelband.strategies.tiling import space
from kernelband.strategies.tiling.multiples import Whole
from kernelband.strategies.tiling.space import Attention, Product, Tile

ADDED = "+"  # in place of a configuration's number: one more


def covered(view: View, launch: LaunchView | None) -> list[str]:
    """The tile's constexprs that may have another value: the grid or a loop covers the rest of the axis.

    A loop that ends at the block itself, ``tl.static_range(MAX_BLOCKS)``, covers nothing: it only becomes longer with the block.
    """
    kernel = view.kernel
    ends = [x.stop for x in kernel.loops() if not (isinstance(x.stop, ast.Name) and not kernel.bindings(x.stop.id))]
    stepped, queue = set[str](), [e for e in (*ends, *(x.step for x in kernel.loops())) if e is not None]
    # Variables such as ``num_k = tl.cdiv(K, BLOCK_K)`` stand between the block and the loop.
    while queue:
        names = {n.id for n in all_nodes(queue.pop()) if isinstance(n, ast.Name)} - stepped
        stepped |= names
        queue += [b.value for name in names for b in kernel.bindings(name) if isinstance(b, ast.Assign)]
    return [x for x in kernel.aranges() if x in stepped or (launch is not None and launch.grid_reads(x))]


def written(launch: LaunchView, name: str, otherwise: int) -> int:
    value = next((k.value for k in launch.keywords if k.arg == name), None)
    if isinstance(value, ast.Name) and (variable := launch.number(value.id)) is not None:
        return variable[0]
    literal = integer(value)
    return otherwise if literal is None else literal


def options_of(tile: Tile, warps: int, stages: int) -> dict[str, int | str]:
    options: dict[str, int | str] = {}
    if tile.num_warps != warps:
        options["num_warps"] = tile.num_warps
    if tile.num_stages is not None and tile.num_stages != stages:
        options["num_stages"] = tile.num_stages
    return options


def candidates(view: View, present: dict[str, int], warps: int, stages: int, whole: Whole | None = None) -> Iterator[Tile]:
    """Tiles that are right for any size. ``whole``: blocks that may grow where the launch finds that they divide the sizes."""
    dot = bool(view.kernel.calls({"dot", "dot_scaled"}))
    fewer = {n for n in present if resizable(view, n, parts=True)}
    parts = {n for n in fewer if whole is None or not whole.computed(n)}
    free = {n for n in fewer if not unguarded(view.kernel, n) and resizable(view, n)}
    if not fewer:
        found: Iterator[Tile] = space.warps_only(view.widest, view.itemsize, dot=dot)
    elif dot:
        product, attention = _product(view, present), _attention(view, present)
        if product is not None:
            found = iter(space.products(product, view.facts.device))
        elif attention is not None:
            found = iter(space.attentions(attention, view.facts.device))
        else:
            found = iter(space.neighbours(list(present), present, warps, stages))
    else:
        blocks = {n: present[n] for n in [n for n in present if n in fewer][:2]}
        gridded = _gridded(view, blocks)
        programs = space.Programs(view.programs(gridded), frozenset(gridded), _along(view), view.beside(set(blocks)))
        found = iter(space.blocks_and_warps(blocks, programs, view.itemsize, view.facts.device))
    deepest = None if _loads_apart(view) else stages
    most = {n: max(present[n], 1 << (length - 1).bit_length()) for n in present if (length := _length(view, n) or 0) > 0}
    made: list[Tile] = []
    for wanted in found:
        tile = evolve(
            wanted, blocks={n: min(v, most.get(n, v)) for n, v in wanted.blocks.items()}
        )  # half of a larger one would always be idle
        same = all(present[n] == v for n, v in tile.blocks.items()) and tile.num_warps == warps and tile.num_stages in (None, stages)
        sound = all(
            v == present[n] or n in free or (n in parts and present[n] % v == 0) or _fits(whole, n, v) for n, v in tile.blocks.items()
        )
        if not same and tile not in made and sound and (deepest is None or (tile.num_stages or 0) <= deepest):
            made.append(tile)
            yield tile


def _fits(whole: Whole | None, block: str, size: int) -> bool:
    return whole is not None and whole.fits(block, size)


def _length(view: View, block: str) -> int | None:
    """The longest axis of the cases that indices over the block end at, where that is a parameter; None where it isn't known."""
    kernel = view.kernel
    compared = [n for n in kernel.nodes if isinstance(n, ast.Compare) and f"#{block}" in kernel.tokens(n.left)]
    ends = {e.id if isinstance(e, ast.Name) else "" for n in compared for e in n.comparators}
    found = [{**x["constants"], **x["scalars"]}.get(e) for x in view.target_launches for e in ends]
    numbers = [n for n in found if type(n) is int]
    return max(numbers) if numbers and len(numbers) == len(found) else None


def _loads_apart(view: View) -> bool:
    """The loops whose loads the launch's num_stages has run ahead, those of products, store nothing that they might load."""
    loops = [x for x in view.kernel.loops() if x.has_dot and x.innermost]
    return all(apart(view, x, [a for a in x.accesses if not a.store]) for x in loops)


def _along(view: View) -> str | None:
    """The block whose indices are written as ``cols[None, :]``: by custom the one that runs along memory."""
    for node in all_nodes(view.kernel.node):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
            first, second = node.slice.elts
            blocks = [t[1:] for t in view.kernel.tokens(node.value) if t.startswith("#")]
            if isinstance(first, ast.Constant) and first.value is None and isinstance(second, ast.Slice) and len(blocks) == 1:
                return blocks[0]
    return None


def _gridded(view: View, present: dict[str, int]) -> dict[str, int]:
    """Those blocks that the number of programs follows; of an autotune list, whose grid is a function, all are taken to be."""
    return {n: v for n, v in present.items() if not view.launches or any(x.grid_reads(n) for x in view.launches)}


def _product(view: View, present: dict[str, int]) -> Product | None:
    """Roles of the sides, from the one product of the kernel: K is what both operands run over."""
    dots = view.kernel.calls({"dot"})
    if len(dots) != 1 or len(dots[0].args) < 2:
        return None
    left, right = ({t[1:] for t in view.kernel.tokens(a) if t.startswith("#")} for a in dots[0].args[:2])
    m, n, k = sorted(left - right), sorted(right - left), sorted(left & right)
    if not (len(m) == len(n) == len(k) == 1) or {m[0], n[0], k[0]} != set(present):
        return None
    types = [t["dtype"] for x in view.target_launches for t in x["tensors"].values() if len(t["shape"]) > 1]
    dtype = types[0] if types else "float16"
    output = {m[0]: present[m[0]], n[0]: present[n[0]]}
    persistent = view.launches and not any(x.grid_reads(side) for x in view.launches for side in output)
    programs = tuple(_tiles(view, output) if persistent else view.programs(output))
    return Product(m[0], n[0], k[0], present, programs, view.itemsize, "tf32" if dtype == "float32" else dtype)


def _tiles(view: View, output: dict[str, int]) -> list[int]:
    """Tiles of each launch that is timed, where a fixed number of programs walks over them: from the sizes that the indices end at."""
    counts: list[int] = []
    for launch in view.timed_launches:
        count = 1
        for block, size in output.items():
            ends = [v for e in view.kernel.extents(block) if type(v := launch["scalars"].get(e, launch["constants"].get(e))) is int]
            count *= ceil(max(ends, default=size) / size)
        counts.append(count)
    return counts


def _attention(view: View, present: dict[str, int]) -> Attention | None:
    """Roles in a kernel with several products over two free blocks: the grid goes over one, a loop over the other."""
    kernel = view.kernel
    stepped = {ast.unparse(x.step) for x in kernel.loops() if x.step is not None} | {
        n.id for x in kernel.loops() for n in all_nodes(x.stop) if isinstance(n, ast.Name)
    }
    outer = [n for n in present if n in _gridded(view, present)]
    inner = [n for n in present if n not in outer and n in stepped]
    fixed = [n for n in kernel.aranges() if n not in present]
    products = len(kernel.calls({"dot"}))
    if products < 2 or len(present) != 2 or len(outer) != 1 or len(inner) != 1:
        return None
    depth = prod(max(view.sizes(n), default=64) for n in fixed[:1]) if fixed else 64
    programs = tuple(view.programs({outer[0]: present[outer[0]]}))
    return Attention(outer[0], inner[0], depth, present[outer[0]], programs, view.itemsize, products)


def make(
    at: At, tile: Tile, edits: Edits, *, where: dict[str, str], present: dict[str, int], options: tuple[int, int], beside: str
) -> Proposal | None:
    """``beside``: what is to be said with the numbers, ``, with the grid``."""
    stages = tile.num_stages if tile.num_stages is not None else options[1]
    changes = [(n, present[n], v) for n, v in tile.blocks.items()] + [
        ("num_warps", options[0], tile.num_warps),
        ("num_stages", options[1], stages),
    ]
    told = [f"{n} {a}→{b}" for n, a, b in changes if a != b]
    what = f"{' and '.join([', '.join(told[:-1]), told[-1]] if len(told) > 1 else told)}{beside}."
    parameters = {
        **tile.blocks,
        "num_warps": tile.num_warps,
        **({"num_stages": tile.num_stages} if tile.num_stages is not None else {}),
        **where,
    }
    only_stages = all(n == "num_stages" for n, a, b in changes if a != b)
    return at.proposal(parameters, edits, "exact" if only_stages else at.view.summation(), what, _why(at.view, tile, present))


def _why(view: View, tile: Tile, present: dict[str, int]) -> str:
    device = view.facts.device
    dots = view.kernel.calls({"dot", "dot_scaled"})
    if dots and len(tile.blocks) == 3:
        product = _product(view, present)
        if product is not None:
            m, n, k = (tile.blocks[x] for x in (product.m, product.n, product.k))
            old = present[product.m] * present[product.n] / (present[product.m] + present[product.n]) / product.itemsize * 2
            new = m * n / (m + n) / product.itemsize * 2
            shared = (tile.num_stages or 0) * (m + n) * k * product.itemsize / 1024
            return (
                f"A {m}×{n} tile does {new:.0f} operations for each byte that it fetches, {old:.0f} before, "
                f"with {shared:.0f} KB of operands in flight of {device.shared_per_program // 1024} KB."
            )
    attention = _attention(view, present) if dots and len(tile.blocks) == 2 else None
    if attention is not None:
        rows, columns = tile.blocks[attention.outer], tile.blocks[attention.inner]
        registers = space.attention_registers(attention, rows, columns, tile.num_warps)
        return (
            f"Each element of the inner operands is fetched for {rows} rows, {present[attention.outer]} before, and the {rows}×{columns} "
            f"and {rows}×{attention.depth} accumulators take {registers} registers of a thread."
        )
    block = prod(tile.blocks.values()) * view.beside(set(tile.blocks)) if tile.blocks else view.widest
    if not block or dots:
        return f"The present tile is one of many that fit {device.name}."
    each = block * view.itemsize / (tile.num_warps * 32)
    return f"Each of {tile.num_warps * 32} threads gets {each:.0f} bytes of a {block}-element block; 16 to 64 keep wide accesses in flight."
