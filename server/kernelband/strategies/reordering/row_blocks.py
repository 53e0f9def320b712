"""``row_blocks``: an element-wise kernel that holds a whole row as one block gets a program for each part of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, LaunchView, View
from kernelband.strategies.code.aliasing import all_apart, place_of
from kernelband.strategies.code.blocks import plain
from kernelband.strategies.code.elementwise import CASTS, compile_time, is_elementwise
from kernelband.strategies.code.kernel import Access
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import definition
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.names import module_alias
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.ids import NAME, one_more_axis

PARTS = (2048, 1024, 4096, 512)  # elements: 16 to 64 bytes for each of some warps
ELEMENTS = (8, 16)  # of a part for each thread
MOST_WARPS = 16
MOST_SIDE = 65535  # programs along the second and third axis of a grid


class RowBlocks:
    """``tl.arange(0, BLOCK)`` becomes ``tl.program_id(1) * PART + tl.arange(0, PART)``, and the grid gets a side."""

    name = "row_blocks"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    found, block = one_more_axis(view), _block(view)
    if found is None or block is None or not (all_apart(view) or _own_elements(view)):
        return
    launch, axis = found
    widest, present = max(view.numbers(block), default=0), view.option("num_warps", 4)
    for elements in ELEMENTS:
        for part in (p for p in PARTS if 2 * p <= widest <= p * MOST_SIDE):
            warps = min(max(part // (32 * elements), 1), MOST_WARPS)
            yield at.proposal(
                {"block": part, "num_warps": warps},
                _edits(view, launch, block, part, axis=axis, warps=warps),
                "exact",
                f"A row's {block} elements go to programs of {part} each (grid axis {axis}); num_warps is {warps}.",
                f"Nothing ties the elements of a row together, and a block of {widest} is {widest / (32 * present):g} for each thread of a "
                "program that loads all of them before it stores any.",
            )


def _block(view: View) -> str | None:
    """The kernel's only block, if each of its elements is computed by itself, in a straight line."""
    kernel = view.kernel
    blocks, aranges = kernel.aranges(), kernel.calls({"arange"})
    if len(blocks) != 1 or blocks[0] not in kernel.constexprs or blocks[0] in kernel.model.heuristics:
        return None
    block = blocks[0]
    if any(len(c.args) != 2 or c.keywords or integer(c.args[0]) != 0 for c in aranges):
        return None
    sides = {c.args[1] for c in aranges}
    reads = [n for n in kernel.nodes if isinstance(n, ast.Name) and n.id == block and isinstance(n.ctx, ast.Load)]
    if any(n not in sides for n in reads) or not plain(kernel.node.body):
        return None
    for node in kernel.nodes:
        if isinstance(node, ast.For | ast.Subscript) or (isinstance(node, ast.If | ast.IfExp) and not compile_time(kernel, node.test)):
            return None
        if isinstance(node, ast.Call) and not (
            kernel.is_id(node) or kernel.tl(node) in ("load", "store", "arange") or _computes(view, node)
        ):
            return None
    accesses = kernel.accesses()
    complete = len(accesses) == len(kernel.calls({"load", "store"}))
    stores = [a for a in accesses if a.store]
    return block if complete and stores and all(f"#{block}" in a.depends for a in stores) else None


def _own_elements(view: View) -> bool:
    """Everything is loaded where it is stored: in place, no part of a row reads what another part writes."""
    pointers = {t for x in view.target_launches for t in x["tensors"]}
    return len({place_of(view.kernel, a, pointers) for a in view.kernel.accesses()}) == 1


def _computes(view: View, call: ast.Call) -> bool:
    method = isinstance(call.func, ast.Attribute) and call.func.attr in CASTS
    return method or (isinstance(call.func, ast.Name) and call.func.id == "float") or is_elementwise(view, call)


def _edits(view: View, launch: LaunchView, block: str, part: int, *, axis: int, warps: int) -> Edits | None:
    kernel, module = view.kernel, view.kernel.module
    name = kernel.free_name("PART")
    added = module.add_parameters(kernel.node, [(f"{name}: {kernel.language}.constexpr", "1")])
    triton, whole = module_alias(launch.module.tree, "triton"), launch.arguments.get(block)
    if added is None or triton is None or whole is None or not _known_at_grid(launch, whole):
        return None
    part_of = f"{kernel.language}.program_id({axis}) * {name} + {kernel.language}.arange(0, {name})"
    edits: Edits = [(module.path, e) for e in added]
    for call in kernel.calls({"arange"}):
        alone = isinstance(module.parents.get(call), ast.Assign)
        edits.append((module.path, module.replace(call, part_of if alone else f"({part_of})")))
    length = _length(kernel)
    elements = launch.module.code(whole)
    if length is not None and length in launch.arguments and _known_at_grid(launch, launch.arguments[length]):
        elements = f"min({elements}, {launch.module.code(launch.arguments[length])})"  # what lies past the row's end does nothing
    sides = ", ".join(launch.module.code(s) for s in launch.sides() or [])
    number = integer(whole)
    ends = {_end(kernel, a) for a in kernel.accesses()}
    masked = ends == {length} and launch.held(block) == (length, 2**31)  # what a smaller block than the part leaves out, masks do
    simple = masked or (number is not None and number >= part)
    least = str(part) if simple else f"min({part}, {launch.module.code(whole)})"
    edits.append((launch.module.path, launch.module.replace(launch.grid, f"({sides}, {triton}.cdiv({elements}, {least}))")))
    passed = launch.pass_also([f"{name}={least}"], warps)
    return None if passed is None else edits + passed


def _known_at_grid(launch: LaunchView, argument: ast.expr) -> bool:
    """What is passed has the same value where the grid is made: there, or before it, its names were bound for the last time."""
    if launch.meta is not None or launch.grid in set(all_nodes(launch.call)):
        return True
    names = {n.id for n in all_nodes(argument) if isinstance(n, ast.Name)}
    return all(bound.lineno < launch.grid.lineno for name in names for bound in launch.bindings(name))


def _length(kernel: KernelView) -> str | None:
    """The parameter that all stores end at; None where one is masked otherwise."""
    ends = {_end(kernel, a) for a in kernel.accesses() if a.store}
    return ends.pop() if len(ends) == 1 else None


def _end(kernel: KernelView, access: Access) -> str | None:
    mask: ast.expr | None = access.mask
    if isinstance(mask, ast.Name):
        bound = definition(kernel, mask.id, access.call)
        mask = None if bound is None else bound.value
    match mask:
        case ast.Compare(left=ast.Name(id=index), ops=[ast.Lt()], comparators=[ast.Name(id=length)]):
            made = definition(kernel, index, mask)
            known = length in kernel.parameters and not kernel.bindings(length)
            return length if known and made is not None and kernel.tl(made.value) == "arange" else None
        case _:
            return None
