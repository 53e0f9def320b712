"""``heavy_first``: where later programs loop longer, as in causal attention, they start first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.literals import given, integer
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.ids import NAME, ids_by_axis, programs, waits

COMMENT = "# The programs with the longest loops start first, so that the last ones to finish are short."
KEEP_SIGN = frozenset({"cdiv", "minimum", "maximum", "min", "max", "multiple_of"})


class HeavyFirst:
    """Counts the program id of triangular work from its end."""

    name = "heavy_first"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    found = ids_by_axis(view)
    if found is None or waits(view) or programs(view) <= view.facts.device.multiprocessors or view.kernel.calls({"num_programs", *ATOMICS}):
        return
    for axis, calls in sorted(found.items()):
        loops = view.kernel.loops()
        ends = [(0 if x.start is None else _growth(view, x.start, axis), _growth(view, x.stop, axis)) for x in loops]
        if (0, 1) not in ends or not set(ends) <= {(0, 0), (0, 1), (1, 1)}:  # (1, 1): a part of its own of each program, on the diagonal
            continue
        loop = loops[ends.index((0, 1))]
        yield at.proposal(
            {"axis": axis},
            _reversed(view, calls, axis),
            "exact",
            f"The program id of axis {axis} counts from the end.",
            f"The loop at line {loop.node.lineno} is longer for a larger id: started last, the longest programs run alone at the end.",
        )


def _reversed(view: View, calls: list[ast.Call], axis: int) -> Edits | None:
    module, tl = view.kernel.module, view.kernel.language
    edits: Edits = []
    for call in calls:
        code = f"{tl}.num_programs({axis}) - 1 - {module.code(call)}"
        parent = module.parents.get(call)
        edits.append((module.path, module.replace(call, code if isinstance(parent, ast.Assign) else f"({code})")))
    for statement in view.kernel.node.body:
        if isinstance(statement, ast.Assign) and any(call in calls for call in all_nodes(statement)):
            comment = module.before(statement, [COMMENT])
            if comment is None:
                return None
            edits.append((module.path, comment))
    return edits


def _growth(view: View, node: ast.expr, axis: int, depth: int = 8) -> int | None:
    """1 when the value grows with the program id of ``axis``, -1 when it falls, 0 when it does not depend on it, None when unclear.

    Factors and divisors are taken to be positive: they are sizes.
    """
    kernel = view.kernel
    if f"@{axis}" not in kernel.tokens(node):
        return 0
    if depth == 0:
        return None
    if kernel.tl(node) == "program_id":
        return 1
    if isinstance(node, ast.Name):
        bindings = kernel.bindings(node.id)
        value = given(bindings[0], node.id) if len(bindings) == 1 else None
        return _growth(view, value, axis, depth - 1) if value is not None else None
    if isinstance(node, ast.IfExp):
        either = {_growth(view, n, axis, depth - 1) for n in (node.body, node.orelse)} - {0}
        return either.pop() if len(either) == 1 else None  # causal or not: at worst no order is better than another
    if isinstance(node, ast.BinOp):
        left, right = _growth(view, node.left, axis, depth - 1), _growth(view, node.right, axis, depth - 1)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Sub):
            right = -right
        if isinstance(node.op, ast.Add | ast.Sub):
            return left or right if left * right >= 0 else None
        if isinstance(node.op, ast.Mult):
            negative = any((integer(n) or 0) < 0 or isinstance(n, ast.UnaryOp) for n in (node.left, node.right))
            return None if negative or (left and right) else left or right
        return left if isinstance(node.op, ast.FloorDiv) and right == 0 else None
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return _growth(view, node.func.value, axis, depth - 1)
        called = kernel.tl(node) or (node.func.id if isinstance(node.func, ast.Name) else "")
        growths = {_growth(view, a, axis, depth - 1) for a in node.args} - {0}
        return growths.pop() if called in KEEP_SIGN and len(growths) == 1 and not node.keywords else None
    return None
