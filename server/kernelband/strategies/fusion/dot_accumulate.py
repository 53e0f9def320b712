"""``dot_accumulate``: ``acc += tl.dot(a, b)`` of 8-bit floats as ``acc = tl.dot(a, b, acc=acc)``: summed by the tensor core itself.

Only for 8-bit floats. For float16, bfloat16 and float32 Triton 3.6 and 3.9 make the same PTX of both (the combine pass of TTIR does it).
For 8-bit floats on Hopper the tensor core keeps about 14 bits of a running sum (DeepSeek-V3 report, section 3.3.2), and Triton moves
the addition inside only where it is written so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving

HOPPER = 90


class DotAccumulate:
    """The accumulator, float32 zeros to begin with, goes into the product."""

    name = "dot_accumulate"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    narrow = any(t["dtype"].startswith("float8") for x in view.target_launches for t in x["tensors"].values())
    if not narrow or view.facts.device.arch != HOPPER:
        return
    edits: Edits = []
    for statement in (n for n in all_nodes(kernel.node) if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)):
        target, call = statement.target, statement.value
        if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not _bare(kernel, call) or not _zeros(kernel, target.id):
            continue
        end = module.span(target).end
        between = module.text[end : module.span(call).start]
        added = module.add_arguments(call, [f"acc={target.id}"])
        if added is not None and between.split() == ["+="]:
            edits += [(module.path, e) for e in (Edit(Span(end, end + len(between)), " = "), *added)]
    yield at.proposal(
        {},
        edits,
        "lowers_precision",
        "The product adds to its accumulator inside the tensor core: acc = tl.dot(a, b, acc=acc).",
        "8-bit products are summed outside the tensor core, with an addition for each element of the tile at each step.",
    )


def _bare(kernel: KernelView, call: ast.Call) -> bool:
    """``tl.dot(a, b)`` with neither accumulator nor result type."""
    return kernel.tl(call) == "dot" and len(call.args) == 2 and not any(k.arg in (None, "acc", "out_dtype") for k in call.keywords)


def _zeros(kernel: KernelView, name: str) -> bool:
    """The accumulator begins as float32 zeros, and is otherwise only added to or scaled in place."""
    begins = [s for s in kernel.bindings(name) if not isinstance(s, ast.AugAssign)]
    if len(begins) != 1 or not isinstance(begins[0], ast.Assign):
        return False
    value = begins[0].value
    return kernel.tl(value) == "zeros" and "float32" in ast.unparse(value)
