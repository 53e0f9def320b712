"""What a loop makes of a row, number by number: sums, maxima and minima that can as well be made of its parts."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from attrs import frozen

from kernelband.strategies.code import KernelView, Loop
from kernelband.strategies.code.blocks import exposed, names_bound, siblings
from kernelband.strategies.code.shapes import axis_of, shape_of, shapes
from kernelband.strategies.fusion.accumulate_late import is_zero, reduction
from kernelband.strategies.fusion.partial_sums import added_to


@frozen(eq=False)
class Running:
    """``name`` is a number, or a block that is read as its reduction only: at ``reduced``."""

    name: str
    combined: str  # "sum" | "max" | "min"
    reduced: list[ast.Call]
    block: bool

    @property
    def pointer(self) -> str:
        """The kernel's parameter for the parts' numbers."""
        return f"{self.name.strip('_')}_parts_ptr"

    def stored(self, tl: str) -> str:
        """A part's number."""
        return f"{tl}.{self.combined}({self.name}, axis=0)" if self.block else self.name


def running(kernel: KernelView, loop: Loop, following: Sequence[ast.stmt]) -> list[Running] | None:
    """All that the loop, or a loop in it, carries on; None where some of it isn't such a number of float32. ``following`` may read it."""
    found: list[Running] = []
    known = shapes(kernel)
    block = siblings(kernel.module, loop.node)
    within = set(ast.walk(loop.node))
    carried = (exposed(loop.node.body) - {loop.variable}) & names_bound(loop.node.body)
    for name in sorted(carried, key=lambda n: (kernel.bindings(n)[0].lineno, n)):
        steps = [s for s in kernel.bindings(name) if s in within]
        begins = [s for s in kernel.bindings(name) if s not in within]
        combined = {_combined(kernel, s, name) for s in steps}
        begin = begins[0] if len(begins) == 1 else None
        shape = known.get(name)
        if (
            len(combined) != 1
            or not isinstance(begin, ast.Assign)
            or begin not in block
            or begin.lineno > loop.node.lineno
            or shape is None
        ):
            return None
        how = combined.pop()
        reads = sum(isinstance(n, ast.Name) and n.id == name for n in within)
        if how is None or reads != sum(1 if isinstance(s, ast.AugAssign) else 2 for s in steps):
            return None
        if not (is_zero(kernel, begin.value) if how == "sum" else _floating(begin.value)):
            return None
        reduced = _reductions(kernel, name, how, following)
        if len(shape) > 1 or (shape and reduced is None):
            return None
        found.append(Running(name, how, (reduced or []) if shape else [], bool(shape)))
    return found


def _combined(kernel: KernelView, statement: ast.stmt, name: str) -> str | None:
    total = reduction(kernel, statement)
    if total is not None and total.name == name:
        return total.combined
    if added_to(kernel, statement) == name:
        return "sum"
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or value.keywords or len(value.args) != 2:
        return None
    own = [a for a in value.args if isinstance(a, ast.Name) and a.id == name]
    return {"maximum": "max", "minimum": "min"}.get(kernel.tl(value) or "") if len(own) == 1 else None


def _floating(node: ast.expr) -> bool:
    """A float, or a block of float32."""
    return "float" in ast.unparse(node) or any(isinstance(n, ast.Constant) and type(n.value) is float for n in ast.walk(node))


def _reductions(kernel: KernelView, name: str, how: str, following: Sequence[ast.stmt]) -> list[ast.Call] | None:
    """The calls that reduce the block behind the loop; None where something else reads it."""
    found: list[ast.Call] = []
    known = shapes(kernel)
    for node in (n for s in following for n in ast.walk(s)):
        if isinstance(node, ast.Name) and node.id == name:
            call = kernel.module.parents.get(node)
            whole = isinstance(call, ast.Call) and kernel.tl(call) == how and call.args[:1] == [node] and axis_of(call) in (0, None)
            if not whole or not isinstance(call, ast.Call) or shape_of(kernel, call, known) != ():
                return None
            found.append(call)
    return found
