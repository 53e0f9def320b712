"""``split_passes``: loops that add up a long row and one that then writes it become launches of their own, with many programs for a row.

Batch, group and instance norms with a program for each channel or group, norms of a few very long rows: what a loop needs of the one before
is a number or two. Each part of a launch stores its own; each program of the next adds them up again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, Loop, View
from kernelband.strategies.code.affine import counts, own_places
from kernelband.strategies.code.aliasing import apart, made_here, pointers
from kernelband.strategies.code.blocks import exposed, lines, memory, names_bound, plain
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.parts import every_nth, part_counts
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.ids import NAME, one_more_axis
from kernelband.strategies.reordering.running import Running, running
from kernelband.strategies.reordering.stages import SAID, Buffer, deeper, launched, lines_of, parameters, program

FILLS = (2, 4, 8)  # programs for each multiprocessor
LEAST_STEPS = 2  # of each loop in each part


class SplitPasses:
    """One more side of the grid, a number for each part, and two stages in the host function."""

    name = "split_passes"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


@frozen(eq=False)
class Passes:
    """The loops of a kernel's own block, the last of which writes, and what each of the others hands on."""

    loops: list[Loop]
    numbers: list[list[Running]]

    @property
    def handed(self) -> list[Running]:
        """Of all loops, in their order."""
        return [n for some in self.numbers for n in some]


def _propose(at: At) -> Iterator[Proposal | None]:
    view, multiprocessors = at.view, at.view.facts.device.multiprocessors
    alone, passes = one_more_axis(view), _passes(view)
    if alone is None or passes is None or not own_places(view, passes.loops[-1]):
        return
    launch, axis = alone
    programs, taken = min(view.programs(), default=0), [counts(view, loop) for loop in passes.loops]
    steps = min((n for found in taken for n in found), default=0)
    if not programs or not all(taken):
        return
    names = " and ".join(n.name for n in passes.handed)
    times = {2: "two", 3: "three"}[len(passes.loops)]
    for parts in part_counts(multiprocessors, programs, steps, fills=FILLS, least=LEAST_STEPS):
        kernel, host = _kernel(view.kernel, passes, axis), launched(launch, _buffers(passes), parts, len(passes.loops), alone=False)
        if kernel is None or host is None:
            return
        yield at.proposal(
            {"parts": parts},
            kernel + host,
            "reassociates" if any(n.combined == "sum" for n in passes.handed) else "exact",
            f"Each loop is split among {parts} programs (grid axis {axis}), in {times} launches; later ones combine the parts' {names}.",
            f"{programs} programs walk {steps} steps {times} times: {multiprocessors} multiprocessors are not filled.",
        )


def _passes(view: View) -> Passes | None:
    """Two or three loops; nothing is stored before the first has ended, nothing lives from step to step of the last."""
    kernel = view.kernel
    body = kernel.node.body[1:] if ast.get_docstring(kernel.node) is not None else kernel.node.body
    loops = [x for x in kernel.loops() if x.node in body]
    if not 2 <= len(loops) <= 3 or sum(isinstance(s, ast.For | ast.While | ast.If) for s in body) != len(loops):
        return None
    if loops[-1].node is not body[-1] or any(x.node.orelse or x.kind == "static_range" for x in loops) or not plain(body):
        return None
    walks, others = [x.node for x in loops], [s for s in body if not isinstance(s, ast.For)]
    adding = memory(kernel, [*body[: body.index(walks[0])], *walks[:-1]])
    if adding.stores or memory(kernel, [*walks, *others]).opaque or kernel.calls(ATOMICS):
        return None
    numbers: list[list[Running]] = []
    for loop in loops[:-1]:
        behind = body[body.index(loop.node) + 1 :]
        found = running(kernel, loop, behind)
        # What the loop binds beside them isn't there in the next launch.
        if not found or exposed(behind) & (names_bound([loop.node]) - {n.name for n in found}):
            return None
        numbers.append(found)
    if exposed(walks[-1].body) & names_bound(walks[-1].body):
        return None
    return Passes(loops, numbers) if _separate(view, loops[-1]) else None


def _separate(view: View, second: Loop) -> bool:
    """What is stored lies in tensors of the host function's own making that nothing of the kernel reads."""
    accesses = view.kernel.accesses()
    if len(accesses) != len(view.kernel.calls({"load", "store"})) or not apart(view, second, [a for a in accesses if not a.store]):
        return False
    last = set(all_nodes(second.node))
    own, others = ([pointers(view, a) for a in accesses if a.store and (a.call in last) == inside] for inside in (True, False))
    if frozenset[str]().union(*own) & frozenset[str]().union(*others):
        return False  # each part stores again what stands before the last loop, when another one may have passed there
    stored = frozenset[str]().union(*(pointers(view, a) for a in accesses if a.store))
    read = frozenset[str]().union(*(pointers(view, a) for a in accesses if not a.store))
    return not stored & read and all(made_here(view.launches[0], name) for name in stored)


def _kernel(kernel: KernelView, passes: Passes, axis: int) -> Edits | None:
    module, tl, first, last = kernel.module, kernel.language, passes.loops[0].node, passes.loops[-1].node
    part, parts = kernel.free_name("part"), kernel.free_name("parts")
    indent, start = module.indent(first), lines(module, first, comments=True)
    added, rows = parameters(kernel, _buffers(passes)), _stage(kernel, passes, 0, (program(kernel, axis), part, parts))
    if indent is None or start is None or added is None or rows is None:
        return None
    text = module.newline.join(deeper(indent, [SAID, f"{part} = {tl}.program_id({axis})", *rows]))
    end = module.line_end(module.span(last).end)
    return [(module.path, e) for e in [*added, Edit(Span(start.start, end), text)]]


def _buffers(passes: Passes) -> list[Buffer]:
    return [Buffer(n.pointer) for n in passes.handed]


def _stage(kernel: KernelView, passes: Passes, number: int, names: tuple[str, str, str]) -> list[str] | None:
    """The lines of a stage and of those behind it, without indentation."""
    module, tl, loop, (which, part, parts) = kernel.module, kernel.language, passes.loops[number], names
    again = [module.replace(call, n.name) for n in passes.handed for call in n.reduced]
    start, stop = lines(module, loop.node, comments=True), module.line_end(module.span(loop.node).end)
    steps = module.replace(loop.call, every_nth(kernel, loop, part, "PARTS"))
    body = None if start is None else lines_of(module, Span(start.start, stop), [steps, *again])
    if body is None or number == len(passes.loops) - 1:
        return body
    following = lines(module, passes.loops[number + 1].node, comments=True)
    between = None if following is None else lines_of(module, Span(stop, following.start), again)
    rest = _stage(kernel, passes, number + 1, names)
    if between is None or rest is None:
        return None
    own, unit = passes.numbers[number], module.unit
    numbered = [f"{parts} = {which} * PARTS + {tl}.arange(0, PARTS)"] if number == 0 else []
    later = [*numbered, *(f"{n.name} = {tl}.{n.combined}({tl}.load({n.pointer} + {parts}), axis=0)" for n in own), *between, *rest]
    return [
        f"if STAGE == {number}:",
        *deeper(unit, [*body, *(f"{tl}.store({n.pointer} + {which} * PARTS + {part}, {n.stored(tl)})" for n in own)]),
        "else:",
        *deeper(unit, later),
    ]
