"""``contiguous_rows``: a persistent program takes neighbouring tiles instead of every n-th."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Loop, View
from kernelband.strategies.code.blocks import exposed, names_bound, names_read, siblings
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.ids import NAME


class ContiguousRows:
    """``range(pid, n, num_programs)`` becomes ``range(pid * each, min((pid + 1) * each, n))``."""

    name = "contiguous_rows"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if view.kernel.calls(ATOMICS):
        return
    for loop in view.kernel.loops():
        if not _strided(view, loop) or loop.node not in view.kernel.node.body or not _independent(view, loop):
            continue
        yield at.proposal(
            {"line": loop.node.lineno - view.kernel.node.lineno},
            _contiguous(view, loop),
            "exact",
            f"Each program takes neighbouring values of {loop.variable}, in one run, instead of every n-th.",
            "A program that walks on through memory stays in the pages and lines that it has open, and its tiles share operands.",
        )


def _strided(view: View, loop: Loop) -> bool:
    """A loop from the program id in steps of the number of programs, along one axis; names for them are followed."""
    start, step = _behind(view, loop.start), _behind(view, loop.step)
    if loop.kind not in ("builtin", "range") or start is None or step is None or view.kernel.tl(step) != "num_programs":
        return False
    if view.kernel.tl(start) != "program_id" or view.kernel.tokens(loop.stop) & {"@0", "@1", "@2", "@?"}:
        return False
    axis = next(iter(view.kernel.tokens(start)), "")[1:]
    written = next((ast.unparse(n) for n in [*step.args, *(k.value for k in step.keywords)]), "")
    return axis == written


def _independent(view: View, loop: Loop) -> bool:
    """What is done for a tile follows from its number: nothing comes from the tile before, nothing is left over from the last one, and
    nothing tells which program does it.
    """
    kernel, body = view.kernel, loop.node.body
    read = {n for s in body for n in names_read(s)} - {loop.variable} - names_bound(body)
    programs = {n for n in read if any(t.startswith("@") for t in kernel.depends.get(n, ()))}
    asked = any(kernel.tl(n) in ("program_id", "num_programs") for s in body for n in all_nodes(s))
    block = siblings(kernel.module, loop.node)
    carried = (exposed(body) - {loop.variable} | exposed(block[block.index(loop.node) + 1 :])) & (names_bound(body) | {loop.variable})
    return not (carried or programs or asked or kernel.model.helpers)


def _behind(view: View, node: ast.expr | None) -> ast.Call | None:
    """The call behind a name that is bound once, at the top."""
    if isinstance(node, ast.Name):
        bindings = view.kernel.bindings(node.id)
        node = bindings[0].value if len(bindings) == 1 and isinstance(bindings[0], ast.Assign) else None
    return node if isinstance(node, ast.Call) else None


def _contiguous(view: View, loop: Loop) -> Edits | None:
    kernel, module, tl = view.kernel, view.kernel.module, view.kernel.language
    assert loop.start is not None
    assert loop.step is not None
    pid, count = module.code(loop.start), module.code(loop.stop)
    each = kernel.free_name("rows_each" if "row" in loop.variable else "tiles_each")
    first = kernel.free_name("first_row" if "row" in loop.variable else "first_tile")
    lines = [f"{each} = {tl}.cdiv({count}, {module.code(loop.step)})", f"{first} = {pid} * {each}"]
    before = module.before(loop.node, lines)
    if before is None or len(loop.call.args) != 3:
        return None
    return [
        (module.path, before),
        (module.path, module.replace(loop.start, first)),
        (module.path, Edit(Span(module.span(loop.stop).start, module.span(loop.step).end), f"{tl}.minimum({first} + {each}, {count})")),
    ]
