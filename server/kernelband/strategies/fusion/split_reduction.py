"""``split_reduction``: few programs that each walk a long axis become many that walk a part of it; their results are summed by torch.

Column sums of a tall matrix, the gradients of weight and bias of a normalisation: the grid has one program for each strip of columns, far
fewer than the GPU holds. A second grid dimension splits the rows; each part stores to a row of its own in a float32 buffer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import Access, At, KernelView, LaunchView, Loop, View
from kernelband.strategies.code.blocks import exposed, names_bound
from kernelband.strategies.code.launch import Edits
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.partial_sums import added_up, behind, linear, only_loop, sums, torch_name

FILLS = (2, 4, 1)  # programs for each multiprocessor
LEAST_STEPS = 2  # of the loop in each part


class SplitReduction:
    """A second grid dimension over the reduced axis, and ``.sum(0)`` in the host function."""

    name = "split_reduction"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


@frozen(eq=False)
class Column:
    """An output with one number for each column: ``tl.store(out + cols, total, mask=cols < size)``."""

    out: str
    read: ast.Name  # where the kernel reads the pointer
    size: str
    narrowed: list[ast.Call]  # casts to a half type on the way: the sum of the parts is rounded instead


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel = view.kernel
    loop = _walk(view)
    if loop is None or not view.whole or len(view.launches) != 1 or not view.launches[0].own_grid:
        return
    columns = _columns(kernel, loop)
    steps = _steps(view, loop)
    programs = max(view.programs(), default=0)
    if not columns or not programs or not steps:
        return
    for parts in _parts(view.facts.device.multiprocessors, min(view.programs()), steps):
        edits = _kernel(kernel, loop, columns)
        host = _host(view, view.launches[0], columns, parts)
        if edits is None or host is None:
            return
        yield at.proposal(
            {"parts": parts},
            edits + host,
            "reassociates",
            f"The loop over {loop.variable} is split among {parts} programs (grid axis 1); their float32 sums are added by torch.",
            f"{min(view.programs())} programs walk {steps} steps each: {view.facts.device.multiprocessors} multiprocessors are not filled.",
        )


def _parts(multiprocessors: int, programs: int, steps: int) -> list[int]:
    """Powers of two that give each multiprocessor some programs and each part some steps."""
    found: list[int] = []
    for fill in FILLS:
        wanted = 1 << max((fill * multiprocessors // programs) - 1, 0).bit_length() if programs < fill * multiprocessors else 1
        while wanted * LEAST_STEPS > steps:
            wanted //= 2
        found.append(wanted)
    return [p for p in dict.fromkeys(found) if p > 1]


def _walk(view: View) -> Loop | None:
    """The kernel's only loop: it adds float32 sums from zero, and carries nothing else."""
    kernel = view.kernel
    loop = only_loop(kernel)
    ids = [kernel.tokens(c) for c in kernel.calls({"program_id"})]
    if loop is None or not ids or any(i != frozenset({"@0"}) for i in ids):
        return None
    carried = (exposed(loop.node.body) - {loop.variable}) & names_bound(loop.node.body)
    return loop if carried and carried == set(sums(kernel, loop)) else None


def _columns(kernel: KernelView, loop: Loop) -> list[Column] | None:
    """The kernel's stores, all behind the loop and all of sums over it; None when one is anything else."""
    following = behind(kernel, loop)
    names = set(sums(kernel, loop))
    found: list[Column] = []
    for access in (a for a in kernel.accesses() if a.store):
        statement = kernel.module.parents.get(access.call)
        casts: list[ast.Call] = []
        if statement not in following or len(access.call.args) < 2 or not linear(kernel, access.call.args[1], names, following, casts):
            return None
        column = _column(kernel, access, casts)
        if column is None:
            return None
        found.append(column)
    stores = len(kernel.calls({"store"}))
    return found if len({c.out for c in found}) == len(found) == stores else None


def _column(kernel: KernelView, access: Access, casts: list[ast.Call]) -> Column | None:
    """``out + cols`` under ``cols < size``, where nothing else reads ``out``."""
    pointer, mask = access.pointer, access.mask
    if not isinstance(pointer, ast.BinOp) or not isinstance(pointer.op, ast.Add) or not isinstance(pointer.left, ast.Name):
        return None
    bounded = isinstance(mask, ast.Compare) and len(mask.ops) == 1 and isinstance(mask.ops[0], ast.Lt)
    if isinstance(mask, ast.Name) and len(bound := kernel.bindings(mask.id)) == 1 and isinstance(bound[0], ast.Assign):
        mask = bound[0].value
        bounded = isinstance(mask, ast.Compare) and len(mask.ops) == 1 and isinstance(mask.ops[0], ast.Lt)
    if not bounded or not isinstance(mask, ast.Compare) or ast.unparse(mask.left) != ast.unparse(pointer.right):
        return None
    size, out = mask.comparators[0], pointer.left
    reads = [n for n in ast.walk(kernel.node) if isinstance(n, ast.Name) and n.id == out.id]
    # ``out.dtype.element_ty`` may be read: a cast to it becomes one to float32.
    others = [n for n in reads if n is not out and not isinstance(kernel.module.parents.get(n), ast.Attribute)]
    if others or out.id not in kernel.parameters or not isinstance(size, ast.Name) or size.id not in kernel.parameters:
        return None
    narrowed = [c for c in casts if ast.unparse(c.args[0]) != f"{out.id}.dtype.element_ty"]
    return None if kernel.bindings(size.id) else Column(out.id, out, size.id, narrowed)


def _steps(view: View, loop: Loop) -> int:
    """Steps of the loop in the longest timed case; 0 when unknown."""
    stop = max(view.numbers(ast.unparse(loop.stop)), default=0) if isinstance(loop.stop, ast.Name) else 0
    sizes = view.sizes(loop.step.id) if isinstance(loop.step, ast.Name) else [getattr(loop.step, "value", 1)]
    return stop // max(sizes, default=1) if sizes and all(type(s) is int and s > 0 for s in sizes) else 0


def _kernel(kernel: KernelView, loop: Loop, columns: list[Column]) -> Edits | None:
    module, tl = kernel.module, kernel.language
    part = kernel.free_name("part")
    step = module.code(loop.step) if loop.step is not None else "1"
    step = step if loop.step is None or isinstance(loop.step, ast.Name | ast.Constant) else f"({step})"
    start = module.code(loop.start) if loop.start is not None and ast.unparse(loop.start) != "0" else ""
    first = f"{part} * {step}" if step != "1" else part
    function = module.code(loop.call).partition("(")[0]
    more = "".join(f", {k.arg}={module.code(k.value)}" for k in loop.call.keywords)
    bounds = f"{f'{start} + ' if start else ''}{first}, {module.code(loop.stop)}, {tl}.num_programs(1){f' * {step}' if step != '1' else ''}"
    begin = module.before(
        loop.node, ["# Grid axis 1 splits the loop: each part takes every num_programs(1)-th step.", f"{part} = {tl}.program_id(1)"]
    )
    if begin is None:
        return None
    edits: list[Edit] = [begin, module.replace(loop.call, f"{function}({bounds}{more})")]
    for column in columns:
        # In 64 bits: another call may have so many columns that 32 don't reach the last part.
        edits.append(module.replace(column.read, f"{column.out} + {part}.to({tl}.int64) * {column.size}"))
        edits += [module.replace(c, module.code(c.func.value)) for c in column.narrowed if isinstance(c.func, ast.Attribute)]
    return [(module.path, e) for e in edits]


def _host(view: View, launch: LaunchView, columns: list[Column], parts: int) -> Edits | None:
    """The buffer of the parts and its sum, around the launch."""
    module, torch = launch.module, torch_name(launch)
    statement = module.parents.get(launch.call)
    sides = launch.sides()
    if launch.host is None or torch is None or not isinstance(statement, ast.Expr) or sides is None or len(sides) != 1:
        return None
    taken = {n.id for n in ast.walk(launch.host) if isinstance(n, ast.Name)} | {a.arg for a in launch.host.args.args}
    if "parts" in taken:
        return None
    at = next((n for n in module.around(launch.grid) if isinstance(n, ast.stmt)), statement)
    if not isinstance(at, ast.Assign | ast.Expr | ast.Return) or launch.host not in module.around(at):
        return None
    at = statement if isinstance(at, ast.Return) else at
    head = [f"parts = {parts}  # programs for each strip of columns, so that the GPU is filled"]
    before: list[str] = []
    after: list[str] = []
    edits: list[Edit] = [module.replace(launch.grid, f"({module.code(sides[0])}, parts)")]
    for column in columns:
        out, size = launch.arguments.get(column.out), launch.arguments.get(column.size)
        name = f"{out.id}_parts" if isinstance(out, ast.Name) else ""
        if not isinstance(out, ast.Name) or size is None or name in taken or not _exact(view, column):
            return None
        before.append(f"{name} = {torch}.empty((parts, {module.code(size)}), device={out.id}.device, dtype={torch}.float32)")
        after.append(added_up(launch, name, out.id, torch))
        edits.append(module.replace(out, name))
    placed = [module.before(statement, head + before)] if at is statement else [module.before(at, head), module.before(statement, before)]
    placed.append(module.after(statement, after))
    if any(e is None for e in placed):
        return None
    return [(module.path, e) for e in [*edits, *placed] if e is not None]


def _exact(view: View, column: Column) -> bool:
    """In every case the output is one row of ``size`` numbers."""
    launches = view.target_launches
    outs = [x["tensors"].get(column.out) for x in launches]
    sizes = [{**x["scalars"], **x["constants"]}.get(column.size) for x in launches]
    return bool(outs) and all(out is not None and out["shape"] == [size] for out, size in zip(outs, sizes, strict=True))
