"""``one_block``: loops over a row become one block that holds the row, loaded once.

The block becomes the power of two that holds the row (up to 64 KB), and the row's length a constant. A loop whose bounds are constants
and that runs once is no loop: the compiler drops it, and then sees that the next pass loads the same elements and drops those loads too.
Longer rows still loop, so every size stays right.

A row just beyond a power of two fills half of such a block. The other half moves no bytes, but has registers and instructions: for small
blocks they are free, a large one holds so many elements a thread that what was won is lost several times (a row of 8193: 0.28x). So the
block isn't larger than the rows of the cases need, rows beyond them loop, and a row of the cases that would waste so much keeps its loops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.access_layout.constants import constant
from kernelband.strategies.code import At, KernelView, LaunchView, Loop, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.guards import unguarded
from kernelband.strategies.code.heuristic import computed_with, heuristic
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import atom
from kernelband.strategies.code.quotients import holding
from kernelband.strategies.code.resizing import resizable
from kernelband.strategies.code.view import moving
from kernelband.strategies.code.walking import number_of_blocks

ROW_BYTES = 65536
ANY_FILL = 4096  # elements of a block that may be padded as it comes: 16 registers a thread with 8 warps
MOST_PADDED = 1.6  # times its row, for a larger one


class OneBlock:
    """BLOCK as the power of two that holds N, and ``N: tl.constexpr``, with warps to match."""

    name = "one_block"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


def _walks(view: View) -> tuple[list[Loop], str, str] | None:
    """The loops ``for off in range(0, N, BLOCK)`` or ``for i in range(tl.cdiv(N, BLOCK))`` over one row, with N and BLOCK; all innermost,
    none with a product.
    """
    found = [(x, pair) for x in view.kernel.loops() if (pair := _walked(view.kernel, x)) is not None]
    loops, pairs = [x for x, _ in found], {pair for _, pair in found}
    if len(pairs) != 1 or any(not x.innermost or x.has_dot or x.kind == "static_range" for x in loops):
        return None
    size, block = pairs.pop()
    starts = all(x.start is None or ast.unparse(x.start) == "0" for x in loops)
    return (loops, size, block) if starts and block in view.kernel.constexprs and size in view.kernel.parameters else None


def _walked(kernel: KernelView, loop: Loop) -> tuple[str, str] | None:
    """The names of the length that a loop goes over, and of the block that it goes by."""
    length, by = (loop.stop, loop.step) if loop.step is not None else number_of_blocks(kernel, loop) or (None, None)
    return (length.id, by.id) if isinstance(length, ast.Name) and isinstance(by, ast.Name) else None


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    walk = _walks(view)
    if walk is None or not view.whole or view.kernel.model.autotuned:
        return
    loops, size, block = walk
    rows = view.numbers(size)
    longest = max(rows, default=0)
    limit = ROW_BYTES // max(view.itemsize, 1) // view.beside({block})
    if not 0 < longest <= limit or unguarded(view.kernel, block) or not resizable(view, block) or any(_wasteful(n) for n in rows):
        return
    limit = min(limit, max(ANY_FILL, _power(longest)))
    folded = _folded(view, loops, size, block)
    if folded is None:
        return
    known, edits = folded
    for launch in view.launches:
        more = _block(launch, size, block, limit, longest, kilobytes=limit * view.itemsize // 1024)
        if more is None:
            return
        edits += more
    if not edits:
        return
    times = "once" if len(loops) == 1 else f"once instead of {len(loops)} times"
    kilobytes = longest * view.itemsize // 1024
    choices: list[int | str] = [8, 16, 4, 32]
    at_launch = [x.module.span(x.arguments[block]) for x in view.launches]
    named = all(isinstance(x.arguments[block], ast.Name) for x in view.launches)
    if named and not any(e.span in at_launch for _, e in edits):
        choices[1:1] = ["BLOCK // 512", "BLOCK // 256"]
    for warps in choices:
        options = [x.set_options({"num_warps": _warps(x, block, warps)}) for x in view.launches]
        if (isinstance(warps, int) and warps * 32 > longest) or any(o is None for o in options):
            continue
        yield at.proposal(
            {"num_warps": warps},
            edits + [e for o in options for e in o or []],
            "reassociates",
            f"One block holds the row, loaded {times}: {block} = next_power_of_2({size}), {limit} at most; {known}{warps} warps.",
            f"The longest row of the cases, {longest} elements, is {kilobytes} KB: it fits in the registers of one program.",
        )


def _power(row: int) -> int:
    """The power of two that holds a row."""
    return 1 << (row - 1).bit_length()


def _wasteful(row: int) -> bool:
    return _power(row) > max(ANY_FILL, MOST_PADDED * row)


def _folded(view: View, loops: list[Loop], size: str, block: str) -> tuple[str, Edits] | None:
    """What tells the compiler that the loops run once, and that in words.

    A size that is the same in all cases becomes a constant. One that varies would compile the kernel for each of its values: of that, only
    whether a block holds the row is told.
    """
    if size in view.kernel.constexprs:
        return "", []
    module = view.kernel.module
    fixed = constant(view, size)
    if fixed is not None:
        return f"{size} constant; ", [(module.path, fixed)]
    flag = view.kernel.free_name("ONE_BLOCK")
    added = heuristic(view, {flag: f'args["{size}"] <= args["{block}"]'})
    if added is None or not computed_with(view, size):
        return None
    stops = [module.replace(x.stop, f"{block if x.step is not None else 1} if {flag} else {module.code(x.stop)}") for x in loops]
    return f"{flag} folds the loops; ", [(module.path, e) for e in (*added, *stops)]


def _warps(launch: LaunchView, block: str, warps: int | str) -> int | str:
    """The code of num_warps: a number, or so many elements a warp of the block that the launch passes."""
    if isinstance(warps, int):
        return warps
    return f"min(max({launch.module.code(launch.arguments[block])} // {warps.rpartition(' ')[2]}, 1), 16)"


def _block(launch: LaunchView, size: str, block: str, limit: int, longest: int, *, kilobytes: int) -> Edits | None:
    """The launch's block as a power of two that holds ``size``, ``longest`` in the cases; nothing when it does so already.

    ``kilobytes``: what a block of ``limit`` elements takes.
    """
    passed, length = launch.arguments.get(block), launch.arguments.get(size)
    if passed is None or length is None or launch.grid_reads(block):
        return None
    held = launch.held(block)
    if held is not None:
        if ast.unparse(launch.arguments[held[0]]) != ast.unparse(length):
            return None
        return [] if held[1] >= longest else _raised(launch, passed, held[1], limit)
    bound = launch.bindings(passed.id) if isinstance(passed, ast.Name) else []
    other = holding(bound[0].value if len(bound) == 1 and isinstance(bound[0], ast.Assign) else passed)
    if other is not None:
        return [] if ast.unparse(other) == ast.unparse(length) else None
    knob = launch.knob(block)
    if knob is None:
        return None
    at = knob.places[0][1]
    statement = next((n for n in launch.module.around(at) if isinstance(n, ast.stmt)), None)
    away = isinstance(passed, ast.Constant) and passed not in set(all_nodes(launch.call))  # in a dictionary above the launch
    if away and (statement is None or not _known(launch, length, statement)):
        return None
    parameter_or_constant = statement is None or isinstance(statement, ast.FunctionDef) or statement in launch.module.tree.body
    if isinstance(passed, ast.Name) and (parameter_or_constant or not _known(launch, length, statement)):
        at = passed  # written at the launch instead, where the length is known
    # ``triton.next_power_of_2`` is the same number, but takes the host many times as long.
    holds, word = (
        f"min({limit}, 1 << ({atom(length)} - 1).bit_length())",
        f"  # the power of two that holds a row, up to {kilobytes} KB",
    )
    above = _above(launch, block, f"{block} = {holds}{word}") if at is passed and isinstance(passed, ast.Constant) and not away else None
    if above is not None:
        return [(launch.module.path, e) for e in (above, launch.module.replace(at, block))]
    edits = [launch.module.replace(at, holds)]
    note = launch.module.after(statement, []) if isinstance(statement, ast.Assign) and statement.value is at else None
    if note is not None and statement is not None and note.span.start == launch.module.span(statement).end:
        edits.append(Edit(note.span, word))
    return [(launch.module.path, e) for e in edits]


def _above(launch: LaunchView, name: str, line: str) -> Edit | None:
    """A line before the launch; None where the host function has that name already, or the launch is part of something larger."""
    statement = next((n for n in launch.module.around(launch.call) if isinstance(n, ast.stmt)), None)
    if launch.host is None or not isinstance(statement, ast.Expr | ast.Assign | ast.Return):
        return None
    taken = {n.id for n in all_nodes(launch.host) if isinstance(n, ast.Name)} | {a.arg for a in launch.host.args.args}
    return None if name in taken else launch.module.before(statement, [line])


def _raised(launch: LaunchView, passed: ast.expr, present: int, limit: int) -> Edits | None:
    """``min(4096, ...)`` with a limit that holds the row."""
    bound = launch.bindings(passed.id) if isinstance(passed, ast.Name) else []
    value = bound[0].value if bound and isinstance(bound[0], ast.Assign) else passed
    literals = [n for n in all_nodes(value) if isinstance(n, ast.Constant) and n.value == present]
    return [(launch.module.path, launch.module.replace(literals[0], str(limit)))] if len(literals) == 1 else None


def _known(launch: LaunchView, length: ast.expr, statement: ast.stmt | None) -> bool:
    """Every variable of the length is bound before the statement."""
    if statement is None or launch.host is None:
        return False
    names = {n.id for n in all_nodes(length) if isinstance(n, ast.Name)}
    for name in names:
        for bound in launch.bindings(name):
            if bound.lineno >= statement.lineno and name in bound_names(bound):
                return False
    return True
