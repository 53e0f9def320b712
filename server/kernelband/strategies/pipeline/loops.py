"""The loops that hints are for, and how a hint is written on one."""

from __future__ import annotations

import ast

from kernelband.strategies.code import Loop, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.trips import runs_once

NAME = "pipeline"


def load_loops(view: View) -> list[Loop]:
    """Innermost counted loops that load blocks and run more than once; ``static_range`` left out."""
    loops = [x for x in view.kernel.loops() if x.innermost and x.kind in ("builtin", "range")]
    return [x for x in loops if any(not a.store and a.blocks for a in x.accesses) and not runs_once(view, x)]


def hint(view: View, loop: Loop, name: str, value: str) -> Edits | None:
    """The loop as ``tl.range`` with a hint; None when it has that hint already."""
    module = view.kernel.module
    written = next((k.value for k in loop.call.keywords if k.arg == name), None)
    if written is not None:
        return None if ast.unparse(written) == value else [(module.path, module.replace(written, value))]
    added = module.add_arguments(loop.call, [f"{name}={value}"])
    if added is None:
        return None
    edits = [(module.path, e) for e in added]
    if loop.kind == "builtin":
        edits.append((module.path, module.replace(loop.call.func, f"{view.kernel.language}.range")))
    return edits


def hints(view: View, loops: list[Loop], name: str, value: str) -> Edits:
    """The hint on each of the loops that does not have it."""
    return [e for x in loops for e in hint(view, x, name, value) or []]


def has_hint(loop: Loop, name: str) -> bool:
    """Whether the author has written that hint, whatever its value."""
    return any(k.arg == name for k in loop.call.keywords)


def lines(loops: list[Loop]) -> str:
    """The loops in words: "loop at line 12"."""
    numbers = [str(x.node.lineno) for x in loops]
    return f"loop at line {numbers[0]}" if len(numbers) == 1 else f"loops at lines {', '.join(numbers[:-1])} and {numbers[-1]}"
