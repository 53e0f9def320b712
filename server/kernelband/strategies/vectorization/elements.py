"""``elements_per_thread``: warps computed from a block that is itself computed from the shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, LaunchView, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.quotients import holding
from kernelband.strategies.code.view import moving

ELEMENTS = (16, 8, 32, 4)
MOST_WARPS = (16, 32)  # 32 leave a thread 64 registers


class ElementsPerThread:
    """``num_warps=min(max(BLOCK // (32 * n), 1), 16)``, or 32, at launches whose block is the next power of two of a size."""

    name = "elements_per_thread"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("vectorization", self.name, _propose, program, facts)


def power_of_two(view: View, launch: LaunchView) -> str | None:
    """Code of the only block of this launch, when it is a power of two that follows from the shape."""
    blocks = [b for b in view.kernel.aranges() if b in launch.arguments]
    if len(blocks) != 1:
        return None
    passed = launch.arguments[blocks[0]]
    value = passed
    if isinstance(passed, ast.Name):
        bindings = launch.bindings(passed.id)
        if len(bindings) != 1 or not isinstance(bindings[0], ast.Assign):
            return None
        value = bindings[0].value
    if _shifted(value):
        return launch.module.code(passed) if isinstance(passed, ast.Name) else f"({launch.module.code(passed)})"
    computed = holding(value) is not None
    # A minimum or maximum with another number keeps it one only when that number is.
    plain = isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in ("next_power_of_2", "min", "max")
    return launch.module.code(passed) if computed and plain else None


def _shifted(value: ast.expr) -> bool:
    """``2 ** (n - 1).bit_length()`` or ``1 << (n - 1).bit_length()``, within ``int(...)`` or not."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "int" and len(value.args) == 1:
        value = value.args[0]
    if not isinstance(value, ast.BinOp) or not isinstance(value.left, ast.Constant):
        return False
    power = (isinstance(value.op, ast.Pow) and value.left.value == 2) or (isinstance(value.op, ast.LShift) and value.left.value == 1)
    bits = value.right
    return (
        power and isinstance(bits, ast.Call) and isinstance(bits.func, ast.Attribute) and bits.func.attr == "bit_length" and not bits.args
    )


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if view.kernel.model.autotuned or not view.called:
        return
    blocks = [power_of_two(view, x) for x in view.called]
    widest = view.widest
    if any(b is None for b in blocks):
        return
    present = view.option("num_warps", 4)
    for elements, most in _choices(widest):
        edits: Edits = []
        for launch, block in zip(view.called, blocks, strict=True):
            more = launch.set_options({"num_warps": f"min(max({block} // {32 * elements}, 1), {most})"})
            if more is None:
                return
            edits += more
        held = (
            f"{widest / (32 * present):g} elements of a {widest}-element row" if widest else "a number of elements that grows with the row"
        )
        yield at.proposal(
            {"elements": elements} | ({"most": most} if most != MOST_WARPS[0] else {}),
            edits,
            view.summation(),
            f"Warps follow the block: {elements} elements per thread, 1 to {most} warps.",
            f"With {present} warps for every shape each thread holds {held}.",
        )


def _choices(widest: int) -> Iterator[tuple[int, int]]:
    """Elements for each thread and the most warps, without what gives a row of the cases the warps that it had from another choice."""
    seen: set[int] = set()
    for elements, most in [(e, m) for e in ELEMENTS for m in MOST_WARPS]:
        warps = min(max(widest // (32 * elements), 1), most)
        if (most == MOST_WARPS[0] and not widest) or (widest and warps not in seen):
            seen.add(warps)
            yield elements, most
