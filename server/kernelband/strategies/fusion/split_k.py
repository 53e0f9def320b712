"""``split_k``: a product of few tiles and a long K becomes several products of a part of K each; torch adds their float32 sums.

A program takes one tile of the result and walks all of K. With fewer tiles than multiprocessors most of the GPU watches a few long walks.
A further grid axis has SPLIT_K programs share each tile: each takes every SPLIT_K-th tile of K and stores its sum beside the others', so
that the same numbers are added in the same order every time. Sizes that fill the GPU keep one program for each tile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import ceil

from attrs import evolve, frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.access_layout.full import Walk, resolved, walk_of
from kernelband.strategies.code import Access, At, KernelView, Loop, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import beside_value, dependent, exposed, lines, memory, names_bound, names_read, reads
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import atom
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.partial_sums import behind, linear, only_loop, sums
from kernelband.strategies.fusion.split_k_launch import SPLIT, STRIDE, host_edits, new_axis
from kernelband.strategies.reordering.ids import ids_by_axis

SPLITS = (2, 4, 8, 16)
LEAST_TILES = 8  # of K: a shorter walk ends before the parts would be added up
FILL = 2  # programs for each multiprocessor that are tried first: one computes while the other waits
MOST = 4  # more of them fill it no better, and each part is another pass over the result


class SplitK:
    """``SPLIT_K`` programs for each tile of a product, and ``.sum(0)`` in the host function."""

    name = "split_k"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


@frozen(eq=False)
class Step:
    """``name += amount`` in each iteration, or ``-=``: a pointer that walks along K, what is left of K."""

    name: str
    operator: str  # "+=" | "-="
    amount: ast.expr


@frozen(eq=False)
class Product:
    """A kernel that adds up products over K and stores the sum, once, to ``out``; the statement ``address`` reads that pointer."""

    walk: Walk
    steps: list[Step]
    out: str
    address: ast.stmt
    casts: list[ast.Call]  # of the sum to the type of the result
    ids: ast.Assign  # the last statement that reads a program id


def _propose(at: At) -> Iterator[Proposal | None]:
    view, multiprocessors = at.view, at.view.facts.device.multiprocessors
    if not view.whole or len(view.launches) != 1 or view.program.kernel.autotuned:
        return
    product, axis = _product(view), new_axis(view.launches[0])
    if product is None or axis is None:
        return
    idle = [(n, tiles) for n, tiles in _sizes(view, product.walk) if n < multiprocessors and tiles >= LEAST_TILES]
    splits = [s for s in SPLITS if any(s <= tiles and n * s <= MOST * multiprocessors for n, tiles in idle)]
    for split in sorted(splits, key=lambda s: abs(idle[0][0] * s - FILL * multiprocessors)):
        kernel = _kernel(view.kernel, product, axis)
        least = max(split, LEAST_TILES) * max(view.sizes(product.walk.block))
        host = host_edits(view, product.out, split, (product.walk.size, least))
        if kernel is None or host is None:
            return
        (programs, tiles), size = idle[0], product.walk.size
        yield at.proposal(
            {"split": split},
            kernel + host,
            "reassociates",
            f"{split} programs share a tile where there are few tiles: each takes a part of {size}, and torch adds their float32 sums.",
            f"{programs} programs walk {tiles} tiles of {size} each: {multiprocessors} multiprocessors are not filled.",
        )


def _sizes(view: View, walk: Walk) -> list[tuple[int, int]]:
    """(programs, tiles of K) of each launch that is timed, with the blocks that the text has now."""
    gridded = {n: v[0] for n in view.kernel.aranges() if (v := view.sizes(n)) and any(x.grid_reads(n) for x in view.launches)}
    block = max(view.sizes(walk.block), default=0)
    found: list[tuple[int, int]] = []
    for launch, programs in zip(view.timed_launches, view.programs(gridded), strict=True):
        size = {**launch["scalars"], **launch["constants"]}.get(walk.size)
        if type(size) is int and block > 0:
            found.append((programs, ceil(size / block)))
    return found


def _product(view: View) -> Product | None:
    kernel = view.kernel
    loop = only_loop(kernel)
    if loop is None or not loop.has_dot or {SPLIT, STRIDE} & (names_read(kernel.node) | set(kernel.parameters)):
        return None
    walk, ids = walk_of(kernel, evolve(loop, stop=resolved(kernel, loop.stop))), _ids(view)
    following, names = behind(kernel, loop), set(sums(kernel, loop))
    carried = (exposed(loop.node.body) - {loop.variable}) & names_bound(loop.node.body)
    steps = [s for statement in loop.node.body if (s := _step(kernel, loop, statement)) is not None and s.name not in names]
    if walk is None or ids is None or not names or carried != names | {s.name for s in steps}:
        return None
    if exposed(following) & (names_bound([loop.node]) - names) or memory(kernel, following).opaque:
        return None
    stores = [a for a in kernel.accesses() if a.store]
    if len(stores) != 1 or len(kernel.calls({"store"})) != 1 or kernel.module.parents.get(stores[0].call) not in following:
        return None
    value, casts = stores[0].call.args[1:2], list[ast.Call]()
    found = _out(view, stores[0])
    made = dependent([n for s in following for n in all_nodes(s)], names)
    if any(reads(n, made) for n in beside_value(stores[0].call)):
        return None  # where it is stored hangs on the total, and each part has only its own
    if found is None or not value or not linear(kernel, value[0], names, following, casts):
        return None
    out, address = found
    return Product(walk, steps, out, address, casts, ids) if all(_to_result(view, c, out) for c in casts) else None


def _ids(view: View) -> ast.Assign | None:
    """The last statement of the kernel's own block that reads a program id; None where an axis beyond the grid's is read."""
    found, sides = ids_by_axis(view), [x.sides() or [] for x in view.launches]
    if not found or any(axis >= len(s) for axis in found for s in sides):
        return None
    calls = [c for ids in found.values() for c in ids]
    last = [s for s in view.kernel.node.body if any(c in all_nodes(s) for c in calls)][-1]
    return last if isinstance(last, ast.Assign) else None


def _step(kernel: KernelView, loop: Loop, statement: ast.stmt) -> Step | None:
    """The statement as a step by the same amount each time, behind all that reads the name in an iteration, and not read after the loop."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AugAssign) else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name, operator, amount = statement.target.id, statement.op, statement.value
    elif isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and bound_names(statement) == [value.left.id]:
        name, operator, amount = value.left.id, value.op, value.right
    else:
        return None
    body = loop.node.body
    later = body[body.index(statement) + 1 :]
    changing = names_bound(body) | {loop.variable}
    if (
        not isinstance(operator, ast.Add | ast.Sub)
        or names_read(amount) & changing
        or any(isinstance(n, ast.Call) for n in all_nodes(amount))
    ):
        return None
    if any(name in names_read(s) for s in [*later, *behind(kernel, loop)]) or name in names_read(loop.node.iter):
        return None
    once = sum(name in names_bound([s]) for s in body) == 1
    return Step(name, "+=" if isinstance(operator, ast.Add) else "-=", amount) if once else None


def _out(view: View, store: Access) -> tuple[str, ast.stmt] | None:
    """The pointer argument that the store writes to, and the statement that reads it: the only one, in the kernel's own block."""
    kernel = view.kernel
    tensors = {t for x in view.target_launches for t in x["tensors"]} & store.depends
    out = tensors.pop() if len(tensors) == 1 else ""
    names = [n for n in all_nodes(kernel.node) if isinstance(n, ast.Name) and n.id == out]
    reads = [n for n in names if not isinstance(kernel.module.parents.get(n), ast.Attribute)]  # not ``out.dtype``
    where = [s for s in kernel.node.body if any(n is r for n in all_nodes(s) for r in reads)]
    return (out, where[0]) if len(reads) == len(where) == 1 and not kernel.bindings(out) else None


def _to_result(view: View, cast: ast.Call, out: str) -> bool:
    """The cast is to the type that the result has, in the kernel's words or in all cases."""
    written = ast.unparse(cast.args[0])
    types = {f"{view.kernel.language}.{x['tensors'][out]['dtype']}" for x in view.target_launches}
    return written == f"{out}.dtype.element_ty" or types == {written}


def _kernel(kernel: KernelView, product: Product, axis: int) -> Edits | None:
    module, tl, loop = kernel.module, kernel.language, product.walk.loop
    part = kernel.free_name("pid_k")
    named = "axis=" if any(c.keywords for c in kernel.calls({"program_id"})) else ""
    stride = "" if product.walk.counted else f" * {product.walk.block}"
    stop = module.code(loop.call.args[min(len(loop.call.args), 2) - 1])
    options = "".join(f", {k.arg}={module.code(k.value)}" for k in loop.call.keywords)
    call = f"{module.code(loop.call.func)}({part}{stride}, {stop}, {SPLIT}{stride}{options})"
    ahead = [f"{s.name} {s.operator} {part} * {_factor(kernel, s.amount)}" for s in product.steps]
    edits = [
        module.after(product.ids, [f"{part} = {tl}.program_id({named}{axis})"]),
        _above(kernel, loop, [f"# Each of {SPLIT} programs takes every {SPLIT}-th tile of {product.walk.size}.", *ahead]),
        module.replace(loop.call, call),
        *(module.replace(s.amount, f"{SPLIT} * {_factor(kernel, s.amount)}") for s in product.steps),
        *(module.replace(c.args[0], f"{product.out}.dtype.element_ty") for c in product.casts),
        module.before(product.address, [f"{product.out} += {part} * {STRIDE}"]),
        *(module.add_parameters(kernel.node, [(STRIDE, "0"), (f"{SPLIT}: {tl}.constexpr", "1")]) or [None]),
    ]
    return None if any(e is None for e in edits) else [(module.path, e) for e in edits if e is not None]


def _factor(kernel: KernelView, node: ast.expr) -> str:
    """The expression's code behind ``x *``."""
    return kernel.module.code(node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else atom(node)


def _above(kernel: KernelView, loop: Loop, rows: list[str]) -> Edit | None:
    """Rows above the loop and the comment that it has."""
    module = kernel.module
    span, indent = lines(module, loop.node, comments=True), module.indent(loop.node)
    return None if span is None else Edit(Span(span.start, span.start), "".join(f"{indent}{row}{module.newline}" for row in rows))
