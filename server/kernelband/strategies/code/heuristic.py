"""A constexpr that ``@triton.heuristics`` computes at each launch from the arguments: true for every size, whatever the cases were."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.callee import wraps
from kernelband.strategies.code.view import View

WIDTH = 120  # of a line that holds them all


def heuristic(view: View, flags: dict[str, str], also: Sequence[str] = ()) -> list[Edit] | None:
    """The decorator above ``@triton.jit`` and the parameters, for flags by name with the code of their values (which may read ``args``).
    ``also``: parameters that the launches get beside them, which are no constexprs.

    None where the kernel's decorators or parameters are written in a way that leaves no clear place for them, and where the kernel is used
    other than by its launches: what calls it from another kernel, keeps it, or wraps it for torch, expects a plain jit function.
    """
    kernel, module = view.kernel, view.kernel.module
    if view.program.handed_on or any(wraps(part) for launch in view.launches for part in all_nodes(launch.call.func)):
        return None
    jit = kernel.node.decorator_list[-1] if kernel.node.decorator_list else None
    base = jit.func if isinstance(jit, ast.Call) else jit
    if jit is None or not isinstance(base, ast.Attribute) or base.attr != "jit" or not isinstance(base.value, ast.Name):
        return None
    added = module.add_parameters(
        kernel.node, [(f"{flag}: {kernel.language}.constexpr", "False") for flag in flags] + [(name, "1") for name in also]
    )
    start = module.span(jit).start - 1
    indent = module.text[module.line_start(start) : start]
    if added is None or module.text[start : start + 1] != "@" or indent.strip(" \t\f"):
        return None
    items = [f'"{flag}": lambda args: {value}' for flag, value in flags.items()]
    line = f"@{base.value.id}.heuristics({{{', '.join(items)}}})"
    if len(indent) + len(line) > WIDTH:
        inside = "".join(f"{indent}    {item},{module.newline}" for item in items)
        line = f"@{base.value.id}.heuristics({{{module.newline}{inside}{indent}}})"
    return [Edit(Span(start, start), f"{line}{module.newline}{indent}"), *added]


def computed_with(view: View, name: str) -> bool:
    """The kernel computes with the argument whatever its others are, so that it is never None."""
    kernel = view.kernel
    for node in kernel.nodes:
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent, around = kernel.module.parents.get(node), list(kernel.module.around(node))
        inside = around[: around.index(kernel.node)]
        compared = isinstance(parent, ast.Compare) and not any(isinstance(op, ast.Is | ast.IsNot) for op in parent.ops)
        called = isinstance(parent, ast.Call) and (kernel.tl(parent) is not None or ast.unparse(parent.func) == "range")
        if not (compared or called or isinstance(parent, ast.BinOp)):
            continue
        if not any(isinstance(n, ast.If | ast.IfExp | ast.While | ast.BoolOp) for n in inside):
            return True
    return False
