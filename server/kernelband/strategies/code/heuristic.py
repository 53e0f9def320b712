"""A constexpr that ``@triton.heuristics`` computes at each launch from the arguments: true for every size, whatever the cases were."""

from __future__ import annotations

import ast

from kernelband.source.model import Edit, Span
from kernelband.strategies.code.view import View

WIDTH = 120  # of a line that holds them all


def heuristic(view: View, flags: dict[str, str]) -> list[Edit] | None:
    """The decorator above ``@triton.jit`` and the parameters, for flags by name with the code of their values (which may read ``args``).

    None where the kernel's decorators or parameters are written in a way that leaves no clear place for them.
    """
    kernel, module = view.kernel, view.kernel.module
    jit = kernel.node.decorator_list[-1] if kernel.node.decorator_list else None
    base = jit.func if isinstance(jit, ast.Call) else jit
    if jit is None or not isinstance(base, ast.Attribute) or base.attr != "jit" or not isinstance(base.value, ast.Name):
        return None
    added = module.add_parameters(kernel.node, [(f"{flag}: {kernel.language}.constexpr", None) for flag in flags])
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
