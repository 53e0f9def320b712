"""``int32_offsets``: offsets that were widened for huge tensors stay 32 bits wide where all tensors are small.

A 64-bit offset takes two registers, and its multiplication four instructions. Whether it is needed is asked at each launch: 2**31 bytes
of storage hold fewer than 2**31 elements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.heuristic import heuristic
from kernelband.strategies.code.view import BYTES, moving

LIMIT = 2**31


class Int32Offsets:
    """``.to(tl.int64)`` becomes ``.to(tl.int64 if WIDE else tl.int32)`` with ``WIDE`` from ``@triton.heuristics``."""

    name = "int32_offsets"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("vectorization", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    casts = [c for c in all_nodes(kernel.node) if isinstance(c, ast.Call) and _widens(view, c)]
    tensors = [n for n in kernel.parameters if any(n in x["tensors"] for x in view.target_launches)]
    used = [n for n in tensors if any(n in a.depends for a in kernel.accesses())]
    if not casts or not used or not view.whole or kernel.model.helpers or not all(_only_addresses(view, c) for c in casts):
        return
    sizes = [prod(t["shape"]) * BYTES.get(t["dtype"], 4) for x in view.target_launches for n, t in x["tensors"].items() if n in used]
    if len(kernel.accesses()) != len(kernel.calls({"load", "store"})) or max(sizes) >= LIMIT:
        return
    flag = kernel.free_name("WIDE")
    listed = ", ".join(f'args["{n}"]' for n in used) + ("," if len(used) == 1 else "")
    added = heuristic(view, {flag: f"any(x is not None and x.untyped_storage().nbytes() >= 2**31 for x in ({listed}))"})
    if added is None:
        return
    tl = kernel.language
    yield at.proposal(
        {"casts": len(casts)},
        [(module.path, e) for e in [*added, *(module.replace(c.args[0], f"{tl}.int64 if {flag} else {tl}.int32") for c in casts)]],
        "exact",
        "Offsets are 64 bits wide only where a tensor holds 2 GiB or more.",
        f"The largest tensor of the cases takes {max(sizes) / 2**20:.0f} MiB: 32 bits reach all of it.",
    )


def _widens(view: View, call: ast.Call) -> bool:
    """``x.to(tl.int64)`` of a program id or index, not of what was loaded."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to" or len(call.args) != 1 or call.keywords:
        return False
    if ast.unparse(call.args[0]) != f"{view.kernel.language}.int64":
        return False
    tokens = view.kernel.tokens(call.func.value)
    return bool(tokens) and all(t.startswith(("#", "@", "~")) or t in view.kernel.constexprs for t in tokens)


def _only_addresses(view: View, cast: ast.Call) -> bool:
    """What the cast makes ends in addresses and in plain comparisons: a narrower type changes no value that is seen."""
    return _ends_in_addresses(view, cast, set(), root=True)


def _ends_in_addresses(view: View, node: ast.expr, seen: set[str], *, root: bool) -> bool:
    kernel = view.kernel
    pointers = {a.pointer for a in kernel.accesses()}
    inner: ast.AST = node
    for around in kernel.module.around(node):
        if inner in pointers:
            return True
        if isinstance(around, ast.Compare):
            return root and inner is node  # a product in a comparison might wrap round for what the mask leaves out
        if isinstance(around, ast.Assign | ast.AugAssign):
            names = bound_names(around)
            if isinstance(around, ast.AugAssign) and any(any(n in x["tensors"] for x in view.target_launches) for n in names):
                return True  # a pointer that moves on
            reads = [
                n
                for n in all_nodes(kernel.node)
                if isinstance(n, ast.Name) and n.id in names and n.id not in seen and isinstance(n.ctx, ast.Load)
            ]
            seen |= set(names)
            plain = inner is node and isinstance(around, ast.Assign)
            return all(_ends_in_addresses(view, n, seen, root=root and plain) for n in reads)
        if not isinstance(around, ast.BinOp | ast.Subscript | ast.UnaryOp):
            return False
        if isinstance(around, ast.BinOp) and isinstance(around.op, ast.FloorDiv | ast.Mod | ast.Div | ast.RShift):
            return False
        inner = around
    return False
