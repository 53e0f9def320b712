"""A loop split among programs: one more axis of the grid, along which each takes every so-many-th step."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kernelband.source.model import Edit
from kernelband.strategies.code.kernel import KernelView, Loop
from kernelband.strategies.code.launch import LaunchView


def part_counts(multiprocessors: int, programs: int, steps: int, *, fills: Sequence[int], least: int) -> list[int]:
    """Powers of two that give each multiprocessor some of ``fills`` programs, and each part at least so many steps."""
    found: list[int] = []
    for fill in fills:
        wanted = 1 << max((fill * multiprocessors // programs) - 1, 0).bit_length() if programs < fill * multiprocessors else 1
        while wanted * least > steps:
            wanted //= 2
        found.append(wanted)
    return [p for p in dict.fromkeys(found) if p > 1]


def in_parts(kernel: KernelView, loop: Loop, axis: int, part: str) -> list[Edit] | None:
    """``part`` is read from the grid before the loop, which begins at it and steps by the number of parts."""
    module = kernel.module
    begin = module.before(loop.node, [said(axis), f"{part} = {kernel.language}.program_id({axis})"])
    every = f"{kernel.language}.num_programs({axis})"
    return None if begin is None else [begin, module.replace(loop.call, every_nth(kernel, loop, part, every))]


def said(axis: int) -> str:
    """The comment above a part's number."""
    return f"# Grid axis {axis} splits the loop: each part takes every num_programs({axis})-th step."


def every_nth(kernel: KernelView, loop: Loop, part: str, parts: str) -> str:
    """The call of ``range`` for the loop's steps from ``part`` on, every ``parts``-th."""
    module = kernel.module
    step = module.code(loop.step) if loop.step is not None else "1"
    step = step if loop.step is None or isinstance(loop.step, ast.Name | ast.Constant) else f"({step})"
    start = module.code(loop.start) if loop.start is not None and ast.unparse(loop.start) != "0" else ""
    first = f"{part} * {step}" if step != "1" else part
    function = module.code(loop.call).partition("(")[0]
    more = "".join(f", {k.arg}={module.code(k.value)}" for k in loop.call.keywords)
    by = f"{parts} * {step}" if step != "1" else parts
    return f"{function}({f'{start} + ' if start else ''}{first}, {module.code(loop.stop)}, {by}{more})"


def new_axis(launch: LaunchView, ids: set[int]) -> int | None:
    """The number of the axis that the grid would get; None where its sides aren't written out, or the kernel reads an axis beyond them."""
    sides = launch.sides()
    return len(sides) if sides is not None and 1 <= len(sides) <= 2 and all(i < len(sides) for i in ids) else None


def with_side(launch: LaunchView, count: str) -> Edit:
    """The grid with one more side behind those that it has."""
    sides = ", ".join(launch.module.code(s) for s in launch.sides() or [])
    return launch.module.replace(launch.grid, f"({sides}, {count})")
