"""One launch becomes several in a row, its stages: the lines for them in the kernel and in the host function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from textwrap import dedent

from attrs import frozen

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies.code import KernelView, LaunchView, Module
from kernelband.strategies.code.aliasing import made_here
from kernelband.strategies.code.blocks import lines, removed
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.fusion.partial_sums import torch_name

SAID = "# Launched once for each stage, with PARTS programs in place of one: each takes every PARTS-th step."


@frozen
class Buffer:
    """A float32 tensor that one stage hands to the next: the kernel's parameter for it, and its numbers for each part as host code."""

    pointer: str
    each: str = ""

    @property
    def variable(self) -> str:
        """What the host function calls it."""
        return self.pointer.removesuffix("_ptr")


def parameters(kernel: KernelView, buffers: Sequence[Buffer]) -> list[Edit] | None:
    """The buffers, the stage and the number of parts at the end of the kernel's parameters; None where one of them is taken."""
    names = ["STAGE", "PARTS", *(b.pointer for b in buffers)]
    constexpr = f"{kernel.language}.constexpr"
    added = [*((b.pointer, "None") for b in buffers), (f"STAGE: {constexpr}", "0"), (f"PARTS: {constexpr}", "1")]
    return kernel.module.add_parameters(kernel.node, added) if all(kernel.free_name(n) == n for n in names) else None


def program(kernel: KernelView, axis: int) -> str:
    """The number of the program among those that there were, which lie along the axes before ``axis``."""
    tl = kernel.language
    return f"{tl}.program_id(0)" if axis == 1 else f"({tl}.program_id(0) + {tl}.program_id(1) * {tl}.num_programs(0))"


def launched(launch: LaunchView, buffers: Sequence[Buffer], parts: int, stages: int, *, alone: bool) -> Edits | None:
    """A launch for each stage in the host function, and the buffers before them. ``alone``: the last stage needs no parts."""
    module, torch = launch.module, torch_name(launch)
    statement, sides = module.parents.get(launch.call), _sides(launch)
    made = next((v for k, v in launch.arguments.items() if isinstance(v, ast.Name) and made_here(launch, k)), None)
    if launch.host is None or torch is None or not isinstance(statement, ast.Expr) or sides is None or made is None or launch.splat:
        return None
    taken = {n.id for n in all_nodes(launch.host) if isinstance(n, ast.Name)} | {a.arg for a in launch.host.args.args}
    span, indent = lines(module, statement), module.indent(statement)
    new = [*(f"{b.pointer}={b.variable}" for b in buffers), "STAGE=stage", "PARTS=parts"]
    more = module.add_arguments(launch.call, new)
    if taken & {"parts", "stage", *(b.variable for b in buffers)} or span is None or indent is None or more is None:
        return None
    stop = module.line_end(module.span(statement).end)
    side = f"parts if stage < {stages - 1} else 1" if alone else "parts"
    written = launch.call.func.slice if isinstance(launch.call.func, ast.Subscript) else launch.grid
    grid = module.replace(written, f"({', '.join(sides)}, {side})")
    inside = lines_of(module, Span(span.start, stop), [*more, grid])
    unused = _unused(launch, written)
    if inside is None or unused is None:
        return None
    count = " * ".join([*map(_factor, sides), "parts"])
    rows = [
        f"parts = {parts}  # programs in place of one, so that the GPU is filled",
        *(
            f"{b.variable} = {torch}.empty({count}{f' * {b.each}' if b.each else ''}, device={made.id}.device, dtype={torch}.float32)"
            for b in buffers
        ),
        f"for stage in range({stages}):",
        *deeper(module.unit, inside),
    ]
    return [(module.path, e) for e in [*unused, Edit(Span(span.start, stop), module.newline.join(deeper(indent, rows)))]]


def lines_of(module: Module, span: Span, edits: Sequence[Edit]) -> list[str] | None:
    """The lines of the text with the edits in it made, without its indentation; None where a string goes over several lines."""
    for node in all_nodes(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.end_lineno != node.lineno:
            there = module.span(node)
            if span.start <= there.start and there.end <= span.end:
                return None
    text, at = "", span.start
    for edit in sorted(edits, key=lambda e: e.span.start):
        if span.start <= edit.span.start and edit.span.end <= span.end:
            text += module.text[at : edit.span.start] + edit.new
            at = edit.span.end
    return dedent("\n".join((text + module.text[at : span.end]).strip("\r\n").splitlines())).split("\n")


def deeper(unit: str, rows: Sequence[str]) -> list[str]:
    """The lines one level further in."""
    return [unit + row if row.strip() else row for row in rows]


def _sides(launch: LaunchView) -> list[str] | None:
    """The grid's sides as code that can stand at the launch; None where they aren't written out, or a tuner decides."""
    sides = launch.sides()
    if sides is None or not launch.unchanged(launch.grid):
        return None
    found: list[str] = []
    for side in sides:
        code, asked = launch.module.code(side), [n for n in all_nodes(side) if isinstance(n, ast.Name) and n.id == launch.meta]
        for name in asked:  # ``meta["BLOCK"]``: what is passed for it
            item = launch.module.parents.get(name)
            key = item.slice.value if isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Constant) else None
            if not isinstance(item, ast.Subscript) or key not in launch.arguments:
                return None
            code = code.replace(launch.module.code(item), _factor(launch.module.code(launch.arguments[key])))
        found.append(code)
    return found


def _factor(code: str) -> str:
    """The code as an operand of a product."""
    plain = isinstance(expression_tree(code).body, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript)
    return code if plain else f"({code})"


def _unused(launch: LaunchView, written: ast.expr) -> list[Edit] | None:
    """A variable that held the grid goes, where nothing else reads it."""
    if not isinstance(written, ast.Name):
        return []
    bound = launch.bindings(written.id)
    gone = removed(launch.module, bound[0]) if len(bound) == 1 and launch.own_grid and isinstance(bound[0], ast.Assign) else None
    return None if gone is None else [gone]
