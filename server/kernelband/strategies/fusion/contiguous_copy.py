"""``contiguous_copy``: ``x = x.contiguous()`` is left to huge views where the kernel takes every stride of x and uses all of them.

The copy is a pass over memory, read and written, before the kernel reads the same data once more. Proposed only where a case's tensor
really isn't contiguous: for one that is, the call costs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, LaunchView, View
from kernelband.strategies.code.aliasing import made_here, pointers
from kernelband.strategies.code.blocks import reads
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.module import FunctionNode, Module
from kernelband.strategies.code.view import moving

HARMLESS = frozenset({"shape", "size", "numel", "dtype", "device", "element_size", "ndim", "dim", "is_cuda"})


class ContiguousCopy:
    """The kernel walks over the tensor as it lies in memory."""

    name = "contiguous_copy"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    launch = view.launches[0] if len(view.launches) == 1 else None
    if not view.whole or launch is None or launch.host is None:
        return
    edits: Edits = []
    told: list[str] = []
    for statement in launch.host.body:
        name = _copied(statement)
        indent = launch.module.indent(statement)
        if name is None or indent is None or not _scattered(view, name) or not _by_strides(view, launch, launch.host, statement, name):
            continue
        edits.append((launch.module.path, launch.module.replace(statement, _kept(launch.module, name, indent))))
        told.append(name)
    yield at.proposal(
        {},
        edits,
        view.summation(),
        f"No contiguous copy of {' and '.join(told)}: the kernel reads what lies in memory by its strides, as far as 32-bit offsets reach.",
        "The kernel gets every stride, and the cases pass tensors that aren't contiguous: the copy moves their bytes twice more.",
    )


def _kept(module: Module, name: str, indent: str) -> str:
    """The copy, for a tensor whose elements lie so far apart that offsets of 32 bits don't reach them."""
    test = f"if sum((n - 1) * s for n, s in zip({name}.shape, {name}.stride())) >= 2**31:"
    return f"{test}{module.newline}{indent}{module.unit}{name} = {name}.contiguous()"


def _copied(statement: ast.stmt) -> str | None:
    """The name in ``x = x.contiguous()``."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        return name if ast.unparse(statement.value) == f"{name}.contiguous()" else None
    return None


def _scattered(view: View, name: str) -> bool:
    """In some case the argument isn't contiguous."""
    for case in view.facts.cases:
        for tensor in case.get("tensors", []):
            if tensor["name"] == name and not contiguous(tensor["shape"], tensor["stride"]):
                return True
    return False


def contiguous(shape: list[int], strides: list[int]) -> bool:
    """Whether a tensor lies row by row without gaps."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=False):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def _by_strides(view: View, launch: LaunchView, host: FunctionNode, statement: ast.stmt, name: str) -> bool:
    """All that happens to the tensor afterwards: sizes are read, and one kernel gets it with all its strides and uses them."""
    kernel, module = view.kernel, launch.module
    parameter = [p for p, v in launch.arguments.items() if isinstance(v, ast.Name) and v.id == name]
    strides = {p: v for p, v in launch.arguments.items() if ast.unparse(v).startswith(f"{name}.stride(")}
    ranks = {len(t["shape"]) for c in view.facts.cases for t in c.get("tensors", []) if t["name"] == name}
    wanted = {f"{name}.stride({i})" for i in range(max(ranks, default=0))}
    if len(parameter) != 1 or len(ranks) != 1 or {ast.unparse(v) for v in strides.values()} != wanted or len(strides) != len(wanted):
        return False
    for node in all_nodes(host):
        if not isinstance(node, ast.Name) or node.id != name or node.lineno <= statement.lineno:
            continue
        around = module.parents.get(node)
        passed = around is launch.call
        measured = isinstance(around, ast.Attribute) and around.attr in (*HARMLESS, "stride")
        in_launch = any(n is launch.call for n in module.around(node))
        if not passed and not (measured and (in_launch or (isinstance(around, ast.Attribute) and around.attr != "stride"))):
            return False
    reaching = [a for a in kernel.accesses() if parameter[0] in kernel.tokens(a.pointer)]
    complete = len(kernel.accesses()) == len(kernel.calls({"load", "store"})) and not kernel.model.helpers and not kernel.calls(ATOMICS)
    # What was copied could be overwritten by its own result: transposed in place, say.
    targets = [pointers(view, a) for a in kernel.accesses() if a.store]
    complete = complete and all(targets) and all(made_here(launch, n) for names in targets for n in names)
    # One stride may serve two tensors; and what else is made of one was made of a tensor without gaps.
    theirs = [a.call for a in reaching]
    others = [a.pointer for a in kernel.accesses() if a.call not in theirs] + [a.mask for a in kernel.accesses() if a.mask is not None]
    others += [
        n.iter if isinstance(n, ast.For) else n.test for n in kernel.nodes if isinstance(n, ast.For | ast.If | ast.IfExp | ast.While)
    ]
    stored = [x for a in kernel.accesses() if a.store for x in a.call.args[1:2]]
    complete = complete and not any(set(strides) & kernel.tokens(x) for x in others) and not any(reads(x, set(strides)) for x in stored)
    return complete and bool(reaching) and all(not a.store and set(strides) <= kernel.tokens(a.pointer) for a in reaching)
