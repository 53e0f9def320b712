"""``axis_in_loop``: one program walks along the second axis of the grid, and loads once what is the same all along it.

Where programs are many and hold little, there need be nothing to share: starting one takes longer than its work (262,144 programs of 64
pairs took 175 µs for 80 MB on an H200, with any number of warps).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.ids import NAME, ids_by_axis
from kernelband.strategies.reordering.persistent import Shape, early, tile_shape
from kernelband.strategies.reordering.rows import hidden_stores, in_loop, invariant, names

MANY = 8  # programs for each multiprocessor that must be left along the first axis
LITTLE = 1024  # bytes that a program holds of a tensor
HOSTS = 256  # of such programs for each multiprocessor, where starting them is what takes time


class AxisInLoop:
    """``head = tl.program_id(1)`` becomes ``for head in range(n_heads)``, and the grid loses that side."""

    name = "axis_in_loop"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view, sms = at.view, at.view.facts.device.multiprocessors
    shape, found = tile_shape(view, axis=1), ids_by_axis(view)
    if shape is None or found is None or set(found) != {0, 1} or view.kernel.calls({"dot", "dot_scaled"}) or view.kernel.model.autotuned:
        return
    grids = [x["grid"] for x in view.timed_launches]
    if not grids or min(g[0] for g in grids) < MANY * sms or min(prod(g[1:]) for g in grids) < 2:
        return
    if not _apart(view) or not all(x.own_grid and all(map(x.unchanged, x.sides() or ())) for x in view.launches):
        return
    steady = invariant(view, shape, varies=("@1", "~"))
    rest = view.kernel.node.body[shape.place + 1 :]
    leaving = early(rest)
    if not set(rest[: rest.index(leaving[-1]) + 1] if leaving else ()) <= set(steady):
        return  # one value of the axis might leave, or do something before
    loaded = [s for s in steady if s not in leaving and any(view.kernel.tl(n) == "load" for n in all_nodes(s))]
    programs = min(prod(g) for g in grids)
    shared = names(loaded)
    if loaded:
        done = f"; {shared} {'is' if len(loaded) == 1 else 'are'} loaded once for them."
        why = f"{grids[0][1]} programs each load the same {shared}"
    elif view.widest * view.itemsize <= LITTLE and programs >= HOSTS * sms:
        done, why = ".", f"{programs} programs hold {view.widest} elements each, so that starting them is most of the work"
    else:
        return
    yield at.proposal(
        {},
        _edits(view, shape, steady),
        "exact",
        f"A program walks over all values of {shape.pid} in a loop{done}",
        f"{why}; the first axis alone has {grids[0][0]} programs for {sms} multiprocessors.",
    )


def _apart(view: View) -> bool:
    """Each value of the axis has elements of its own of all that is stored: what several programs write, or read while another writes it,
    they would do in turn.
    """
    kernel = view.kernel
    tensors = {t for x in view.target_launches for t in x["tensors"]}
    stored = {t for a in kernel.accesses() if a.store for t in a.depends} & tensors
    if hidden_stores(view):
        return False  # out of sight
    return all("@1" in kernel.tokens(a.pointer) for a in kernel.accesses() if a.store or a.depends & stored)


def _edits(view: View, shape: Shape, steady: list[ast.stmt]) -> Edits | None:
    module = view.kernel.module
    counts = {x.module.code(s[1]) for x in view.launches if (s := x.sides()) is not None and len(s) == 2}
    if len(counts) != 1 or any(x.meta is not None or len(x.sides() or ()) != 2 for x in view.launches):
        return None
    count = counts.pop()
    name = view.kernel.free_name(count if count.isidentifier() else f"num_{shape.pid}s")
    edits = in_loop(view, shape, steady, f"range({name})")
    parameters = module.add_parameters(view.kernel.node, [(name, None)])
    if edits is None or parameters is None:
        return None
    edits += [(module.path, e) for e in parameters]
    for launch in view.launches:
        added = launch.add_arguments([f"{name}={count}"])
        first = (launch.sides() or [])[0]
        if added is None:
            return None
        edits += [*added, (launch.module.path, launch.module.replace(launch.grid, f"({launch.module.code(first)},)"))]
    return edits
