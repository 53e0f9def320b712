"""``split_walk``: a kernel that walks along an axis and makes its result of what it has carried is launched twice: parts, then the result.

Attention for one new token with a program for each head, the root of a sum of squares, a log-sum-exp over a few long rows: there are too
few programs, and the result isn't a sum of parts. Each part stores what it has carried; one program puts them together and goes on. For
attention this is flash-decoding (https://pytorch.org/blog/flash-decoding).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program, Span
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, LaunchView, Loop, View
from kernelband.strategies.code.affine import counts
from kernelband.strategies.code.blocks import exposed, lines, names_bound
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.parts import every_nth, part_counts
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.partial_sums import behind, linear, only_loop
from kernelband.strategies.reordering.carried import Carried, Carry, carried
from kernelband.strategies.reordering.ids import NAME, one_more_axis
from kernelband.strategies.reordering.stages import SAID, Buffer, deeper, launched, lines_of, parameters, program

FILLS = (4, 8, 2)  # programs for each multiprocessor
LEAST_STEPS = 2  # of the loop in each part
MOST_PARTS = 64  # which one program puts together, one after the other


class SplitWalk:
    """One more side of the grid, a buffer for each value that is carried, and two stages in the host function."""

    name = "split_walk"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view, multiprocessors = at.view, at.view.facts.device.multiprocessors
    alone, loop = one_more_axis(view), only_loop(view.kernel)
    found = _walk(view, loop) if loop is not None else None
    programs = min(view.programs(), default=0)
    if alone is None or loop is None or found is None or not programs:
        return
    (launch, axis), steps = alone, min(counts(view, loop), default=0)
    names = ", ".join(c.name for c in found.carries)
    for parts in part_counts(multiprocessors, programs, min(steps, MOST_PARTS * LEAST_STEPS), fills=FILLS, least=LEAST_STEPS):
        buffers = _buffers(launch, found)
        kernel = _kernel(view.kernel, loop, found, axis) if buffers is not None else None
        host = launched(launch, buffers, parts, 2, alone=True) if buffers is not None else None
        if kernel is None or host is None:
            return
        yield at.proposal(
            {"parts": parts},
            kernel + host,
            "exact" if all(c.how in ("max", "min") for c in found.carries) else "reassociates",
            f"The loop over {loop.variable} is split among {parts} programs (grid axis {axis}); a second launch unites their {names}.",
            f"{programs} programs walk {steps} steps each: {multiprocessors} multiprocessors are not filled.",
        )


def _walk(view: View, loop: Loop) -> Carried | None:
    """What the loop carries, where all stores stand behind it and aren't sums of parts, which ``split_reduction`` adds up."""
    kernel = view.kernel
    following, found = behind(kernel, loop), carried(kernel, loop)
    stores = kernel.calls({"store"})
    if found is None or not stores or any(kernel.module.parents.get(s) not in following for s in stores):
        return None
    names = {c.name for c in found.carries}
    if exposed(following) & (names_bound([loop.node]) - names):
        return None  # the last step's
    sums = {c.name for c in found.carries if c.how == "sum"}
    added = all(len(s.args) > 1 and linear(kernel, s.args[1], sums, following, []) for s in stores)
    return None if added and sums == names else found


def _buffers(launch: LaunchView, found: Carried) -> list[Buffer] | None:
    """One for each value; None where the sides of a block aren't passed at the launch as plain code."""
    buffers: list[Buffer] = []
    for carry in found.carries:
        sides = [launch.arguments.get(side) for side in carry.shape]
        if any(s is None or not isinstance(s, ast.Constant | ast.Name | ast.Attribute | ast.Call | ast.Subscript) for s in sides):
            return None
        buffers.append(Buffer(carry.pointer, " * ".join(launch.module.code(s) for s in sides if s is not None)))
    return buffers


def _kernel(kernel: KernelView, loop: Loop, found: Carried, axis: int) -> Edits | None:
    module, tl = kernel.module, kernel.language
    part, other, place = (kernel.free_name(n) for n in ("part", "other", "place"))
    indent, start = module.indent(loop.node), lines(module, loop.node, comments=True)
    added = parameters(kernel, [Buffer(c.pointer) for c in found.carries])
    if indent is None or start is None or added is None:
        return None
    stop, end = (module.line_end(module.span(s).end) for s in (loop.node, kernel.node.body[-1]))
    steps = lines_of(module, Span(start.start, stop), [module.replace(loop.call, every_nth(kernel, loop, part, "PARTS"))])
    rest = lines_of(module, Span(stop, end), [])
    if steps is None or rest is None:
        return None
    which, unit = program(kernel, axis), module.unit
    rows = [
        SAID,
        f"{part} = {tl}.program_id({axis})",
        "if STAGE == 0:",
        *deeper(unit, [*steps, f"{place} = {which} * PARTS + {part}"]),
        *deeper(unit, [f"{tl}.store({_address(kernel, c, place)}, {c.name})" for c in found.carries]),
        "else:",
        f"{unit}for {other} in range(PARTS):",
        *deeper(unit * 2, [f"{place} = {which} * PARTS + {other}", *_together(kernel, found, place, other)]),
        *deeper(unit, rest),
    ]
    edits = [*added, Edit(Span(start.start, end), module.newline.join(deeper(indent, rows)))]
    return [(module.path, e) for e in edits]


def _address(kernel: KernelView, carry: Carry, place: str) -> str:
    tl = kernel.language
    match carry.shape:
        case (side,):
            return f"{carry.pointer} + {place} * {side} + {tl}.arange(0, {side})"
        case (rows, columns):
            lanes = f"{tl}.arange(0, {rows})[:, None] * {columns} + {tl}.arange(0, {columns})[None, :]"
            return f"{carry.pointer} + {place} * {rows} * {columns} + {lanes}"
        case _:
            return f"{carry.pointer} + {place}"


def _together(kernel: KernelView, found: Carried, place: str, other: str) -> list[str]:
    """The lines that take another part in. One behind the first that has seen nothing but what is left out has sums of NaN, where the loop
    went on with what it had: they count for nothing.
    """
    tl, rows = kernel.language, list[str]()
    for carry in found.carries:
        loaded = f"{tl}.load({_address(kernel, carry, place)})"
        if carry.how == "sum":
            rows.append(f"{carry.name} += {loaded}")
        elif carry.how in ("max", "min"):
            rows.append(f"{carry.name} = {tl}.{carry.how}imum({carry.name}, {loaded})")
    highest = next((c for c in found.carries if c.how == "highest"), None)
    if highest is None:
        return rows
    names = ("theirs", "highest", "base", "ours", "weight", "unseen")
    theirs, both, base, ours, weight, unseen = (kernel.free_name(n) for n in names)
    rows += [
        f"{theirs} = {tl}.load({_address(kernel, highest, place)})",
        f'{unseen} = ({other} > 0) & ({theirs} == float("-inf"))  # its sums are NaN',
        f"{both} = {tl}.maximum({highest.name}, {theirs})",
        f'{base} = {tl}.where({both} == float("-inf"), 0.0, {both})  # of parts that have seen nothing',
        f"{ours} = {tl}.where({highest.name} == {both}, 1.0, {found.exponential}({highest.name} - {base}))",
        f"{weight} = {found.exponential}({theirs} - {base})",
    ]
    for carry in (c for c in found.carries if c.how == "below"):
        wide = "[:, None]" if len(carry.shape) == 2 and len(highest.shape) == 1 else ""
        loaded = f"{tl}.where({unseen}{wide}, 0.0, {tl}.load({_address(kernel, carry, place)}))"
        rows.append(f"{carry.name} = {carry.name} * {ours}{wide} + {loaded} * {weight}{wide}")
    return [*rows, f"{highest.name} = {both}"]
