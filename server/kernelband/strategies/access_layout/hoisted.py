"""``hoisted_loads``: what a loop loads again from the same place in each iteration is loaded once, before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Loop, View
from kernelband.strategies.code.aliasing import apart, pointers
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.view import moving

#: Calls that give the same for the same arguments and change nothing.
PURE = frozenset({"load", "arange", "program_id", "num_programs", "cdiv", "where", "minimum", "maximum", "full", "zeros"})
MOST_ELEMENTS = 8192  # held in registers through the loop


class HoistedLoads:
    """Invariant loads, with the lines that they need, moved in front of their loop."""

    name = "hoisted_loads"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


@frozen(eq=False)
class Moved:
    """Statements of a loop's body that go before it, in order, and how many loads are among them."""

    loop: Loop
    statements: list[ast.Assign]
    names: list[str]


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    for number, loop in enumerate(view.kernel.loops(), start=1):
        moved = _invariant(view, loop)
        if moved is None:
            continue
        edits = _edits(view, moved)
        if edits is not None:
            yield at.proposal(
                {"loop": number},
                [(view.kernel.module.path, e) for e in edits],
                "exact",
                f"{' and '.join(moved.names)} {'is' if len(moved.names) == 1 else 'are'} loaded once, before the {loop.variable} loop.",
                f"The addresses don't depend on {loop.variable}: each iteration asks the caches for the same elements again.",
            )


def _invariant(view: View, loop: Loop) -> Moved | None:
    kernel, body = view.kernel, loop.node.body
    inside = [n for s in body for n in all_nodes(s)]
    if loop.kind == "static_range" or kernel.model.helpers:
        return None
    varying = {n for s in inside if isinstance(s, ast.stmt) for n in bound_names(s)} | {loop.variable}
    candidates: list[ast.Assign] = []
    for statement in body:
        if _movable(view, statement, varying) and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            candidates.append(statement)
            varying.discard(statement.targets[0].id)
    loads = [s for s in candidates if any(kernel.tl(n) == "load" for n in all_nodes(s.value))]
    loads = [s for s in loads if _untouched(view, s, loop) and _small(view, s)]
    if not loads:
        return None
    wanted = list(loads)
    needed = {n.id for s in loads for n in all_nodes(s.value) if isinstance(n, ast.Name)}
    for statement in reversed(candidates):
        target = statement.targets[0]
        if statement not in wanted and isinstance(target, ast.Name) and target.id in needed:
            if any(kernel.tl(n) == "load" for n in all_nodes(statement.value)):
                return None
            wanted.append(statement)
            needed |= {n.id for n in all_nodes(statement.value) if isinstance(n, ast.Name)}
    names = [t.id for s in loads if isinstance(t := s.targets[0], ast.Name)]
    return Moved(loop, sorted(wanted, key=lambda s: s.lineno), names)


def _movable(view: View, statement: ast.stmt, varying: set[str]) -> bool:
    """``NAME = ...``, the only statement that binds the name, of names that the loop leaves alone, without side effects."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return False
    kernel, name = view.kernel, statement.targets[0].id
    if len(kernel.bindings(name)) != 1 or name in kernel.parameters:
        return False
    for node in all_nodes(statement.value):
        if isinstance(node, ast.Name) and node.id in varying:
            return False
        if isinstance(node, ast.Call) and kernel.tl(node) not in PURE and not _cast(node):
            return False
        if isinstance(node, ast.Call) and kernel.tl(node) == "load" and any(k.arg == "volatile" for k in node.keywords):
            return False
    return not any(isinstance(n, ast.Lambda | ast.NamedExpr) for n in all_nodes(statement.value))


def _cast(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "to"


def _untouched(view: View, statement: ast.Assign, loop: Loop) -> bool:
    """Masked, and at places that no program's number moves, so that loading for a loop of no iterations does no harm; and nothing that the
    kernel stores can be what is loaded.
    """
    accesses = [a for a in loop.accesses if any(n is a.call for n in all_nodes(statement))]
    calls = [n for n in all_nodes(statement) if view.kernel.tl(n) == "load"]
    known = len(accesses) == len(calls) and all(a.mask is not None and pointers(view, a) for a in accesses)
    if any(a.by_program for a in accesses) and _differs(view, loop):
        return False  # a program of no iterations may have nothing there
    return known and apart(view, loop, accesses)


def _differs(view: View, loop: Loop) -> bool:
    """Programs go round for different times."""
    bounds = [e for e in (loop.start, loop.stop, loop.step) if e is not None]
    return any(t.startswith("@") for e in bounds for t in view.kernel.tokens(e))


def _small(view: View, statement: ast.Assign) -> bool:
    """It fits into registers beside the rest."""
    elements = 1
    for block in (t[1:] for t in view.kernel.tokens(statement.value) if t.startswith("#")):
        elements *= max([int(block)] if block.isdigit() else view.sizes(block) or [MOST_ELEMENTS + 1])
    return elements <= MOST_ELEMENTS


def _edits(view: View, moved: Moved) -> list[Edit] | None:
    module, node = view.kernel.module, moved.loop.node
    if len(moved.statements) == len(node.body):
        return None
    edits: list[Edit] = []
    lines: list[str] = []
    for statement in moved.statements:
        span = module.span(statement)
        start, end = module.line_start(span.start), module.line_end(span.end)
        rest = module.text[span.end : end].strip(" \t\f")
        if module.indent(statement) is None or (rest and not rest.startswith("#")) or statement.lineno != statement.end_lineno:
            return None
        after = end + (2 if module.text[end : end + 2] == "\r\n" else 1)
        edits.append(Edit(Span(start, after), ""))
        lines.append(module.text[span.start : end].rstrip(" \t\f"))
    head = module.before(node, lines)
    return None if head is None else [head, *edits]
