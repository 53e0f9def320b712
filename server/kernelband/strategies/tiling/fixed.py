"""Blocks that no move of tiling changes, for they come from elsewhere than a number at the launch, or the results tell their size.

They are named, so that nobody waits for it.
"""

from __future__ import annotations

import ast

from kernelband.source.model import Program
from kernelband.strategies._base import Facts
from kernelband.strategies.code import LaunchView, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.literals import bound, integer
from kernelband.strategies.code.resizing import why_kept
from kernelband.strategies.tiling.candidates import covered
from kernelband.strategies.tiling.settled import block_knob

LONGEST = 60  # characters of code that are shown
DEEP = 4  # variables behind variables


def fixed_blocks(program: Program, facts: Facts) -> tuple[str, ...]:
    """One sentence for each block that might have another size, were it written as a number: which one, and where it comes from; and for
    each of which another size would give other results.

    Not of blocks that follow from a size, the power of two that holds a row, say: they are no choice. What a list of configurations or a
    heuristic sets isn't fixed by that.
    """
    view = View.read(program, facts)
    if view is None:
        return ()
    said = [] if view.kernel.aranges() else [_without(view)]
    for launch in view.launches:
        reached = covered(view, launch)
        for name in view.kernel.aranges():
            if name not in reached and not _grid_reads(launch, name):
                continue
            knob = block_knob(view, launch, name)
            elsewhere = name in program.kernel.heuristics or knob is not None or launch.held(name) is not None
            source = None if elsewhere else _source(view, launch, name)
            if source is not None:
                said.append(f"{name} comes from {source}: not changed.")
            elif told := why_kept(view, name, parts=True):
                said.append(f"{name} isn't changed: {told}.")
    return tuple(dict.fromkeys(said))


def _without(view: View) -> str:
    """Of a kernel with no constexpr that is the size of a ``tl.arange``."""
    kernel = view.kernel
    own = [c for c in kernel.calls({"arange"}) if len(c.args) == 2]
    if own:
        return f"The block at line {own[0].lineno} isn't changed: its size, {ast.unparse(own[0].args[1])}, is no constexpr of the kernel's."
    called = [n.func.value for n in kernel.nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "load"]
    described = [v.id for v in called if isinstance(v, ast.Name) and v.id in kernel.parameters]
    if described:
        return f"Tiles come through {described[0]}, a tensor descriptor that the host makes: their shape isn't changed."
    pointed = kernel.calls({"make_block_ptr"})
    if pointed:
        return f"Tiles come through the block pointer at line {pointed[0].lineno}, and no tl.arange: their shape isn't changed."
    return "A program takes single elements: without tl.arange there is no block."


def _grid_reads(launch: LaunchView, name: str) -> bool:
    """The grid has what is passed for the block in it, as code: ``cdiv(n, self.block)`` beside ``BLOCK=self.block``."""
    value = launch.arguments.get(name)
    if value is None:
        return False
    same = {ast.unparse(v) for v in (value, *_origin(launch, value)[:1])}
    return any(isinstance(n, ast.expr) and ast.unparse(n) in same for n in launch.grid_nodes())


def _source(view: View, launch: LaunchView, name: str) -> str | None:
    """What the block comes from, in words and code; None where it can't be told, or is the tuner's."""
    value = launch.arguments.get(name)
    if value is not None:
        if integer(value) is not None:  # a number that the grid repeats for one of two blocks of that size
            return f"the number {ast.unparse(value)}, which is another block's too, and the grid doesn't tell which it means"
        return _origin(launch, value)[1]
    if view.program.kernel.autotuned or view.kernel.model.configs:
        return None
    unpacked = [k.value for k in launch.call.keywords if k.arg is None]
    if unpacked:
        return f"**{_short(launch, unpacked[0])}" if len(unpacked) == 1 else "what is unpacked at the launch"
    given = next((p for p in view.kernel.model.parameters if p.name == name), None)
    return "its default in the kernel" if given is not None and given.default is not None else None


def _origin(launch: LaunchView, value: ast.expr) -> tuple[ast.expr, str]:
    """The code behind the host's variables, and what to call it."""
    for deep in range(DEEP):
        if not isinstance(value, ast.Name):
            break
        own = launch.bindings(value.id)
        behind = _behind(launch, value.id, own)
        if behind is None or integer(behind) is not None:
            direct = "which another kernel gets too" if launch.number(value.id) is not None else "which other code reads too"
            whose = _whose(launch, value.id, own) if behind is None else direct if deep == 0 else ""
            return value, f"{value.id}, {whose}" if whose else value.id
        value = behind
    return value, _short(launch, value)


def _behind(launch: LaunchView, name: str, own: list[ast.stmt]) -> ast.expr | None:
    """What the one assignment of a variable binds to it; None where there is no such."""
    tops = own or [s for s in launch.module.tree.body if name in bound_names(s)]
    target, value = (bound(tops[0]) if len(tops) == 1 and name not in launch.host_parameters else None) or (None, None)
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return next((v for t, v in zip(target.elts, value.elts, strict=True) if isinstance(t, ast.Name) and t.id == name), None)
    return value


def _whose(launch: LaunchView, name: str, own: list[ast.stmt]) -> str:
    """What is to be said of a variable that no single assignment explains."""
    if name in launch.host_parameters and not own and launch.host is not None:
        return f"a parameter of {launch.host.name}"
    if len(own) > 1 or (own and name in launch.host_parameters):
        return "which is set more than once"
    if own and isinstance(own[0], ast.For):
        return "which a loop sets"
    return "which is imported" if not own and name in launch.module.imported else ""


def _short(launch: LaunchView, node: ast.expr) -> str:
    code = launch.module.code(node)
    return code if len(code) <= LONGEST else f"{code[: LONGEST - 3]}..."
