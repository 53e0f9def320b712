"""``split_reduction``: few programs that each walk a long axis become many that walk a part of it; their results are summed by torch.

Column sums of a tall matrix, the gradients of weight and bias of a normalisation, the mean of everything by a single program: the grid has
far fewer programs than the GPU holds. One more side of it splits the walk; each part stores to a float32 buffer of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import Access, At, KernelView, LaunchView, Loop, View
from kernelband.strategies.code.affine import counts, one_each
from kernelband.strategies.code.aliasing import made_here
from kernelband.strategies.code.blocks import exposed, names_bound
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.parts import in_parts, new_axis, part_counts, with_side
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.contiguous_copy import contiguous
from kernelband.strategies.fusion.partial_sums import added_up, behind, linear, only_loop, sums, torch_name
from kernelband.strategies.reordering.ids import ids_by_axis

FILLS = (2, 4, 1)  # programs for each multiprocessor
LEAST_STEPS = 2  # of the loop in each part


class SplitReduction:
    """A second grid dimension over the reduced axis, and ``.sum(0)`` in the host function."""

    name = "split_reduction"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


@frozen(eq=False)
class Column:
    """An output: ``tl.store(out + cols, total, mask=cols < size)``, or one that each program has numbers of its own in."""

    out: str
    read: ast.Name  # where the kernel reads the pointer
    size: str | None  # the kernel's parameter with the output's length; None where it has none yet
    narrowed: list[ast.Call]  # casts to a half type on the way: the sum of the parts is rounded instead
    filled: bool  # the programs write every number of it
    kept: bool = False  # what they don't write is the caller's


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel = view.kernel
    loop = _walk(view)
    if loop is None or not view.whole or len(view.launches) != 1 or not view.launches[0].own_grid:
        return
    ids = ids_by_axis(view, asked=True)
    axis = new_axis(view.launches[0], set(ids)) if ids is not None else None
    columns = _columns(view, loop)
    steps = max(counts(view, loop), default=0)
    programs = max(view.programs(), default=0)
    if axis is None or not columns or not programs or not steps:
        return
    for parts in part_counts(view.facts.device.multiprocessors, min(view.programs()), steps, fills=FILLS, least=LEAST_STEPS):
        edits = _kernel(kernel, loop, axis, columns)
        float32 = len(sums(kernel, loop)) == len(sums(kernel, loop, of_any_type=True))
        host = _host(view.launches[0], columns, parts, float32=float32)
        if edits is None or host is None:
            return
        yield at.proposal(
            {"parts": parts},
            edits + host,
            "reassociates",
            f"The loop over {loop.variable} is split among {parts} programs (grid axis {axis}); their float32 sums are added by torch.",
            f"{min(view.programs())} programs walk {steps} steps each: {view.facts.device.multiprocessors} multiprocessors are not filled.",
        )


def _walk(view: View) -> Loop | None:
    """The kernel's only loop: it adds sums from zero, and carries nothing else."""
    kernel = view.kernel
    loop = only_loop(kernel)
    if loop is None:
        return None
    carried = (exposed(loop.node.body) - {loop.variable}) & names_bound(loop.node.body)
    return loop if carried and carried == set(sums(kernel, loop, of_any_type=True)) else None


def _columns(view: View, loop: Loop) -> list[Column] | None:
    """The kernel's stores, all behind the loop and all of sums over it; None when one is anything else."""
    kernel = view.kernel
    following = behind(kernel, loop)
    names = set(sums(kernel, loop, of_any_type=True))
    found: list[Column] = []
    for access in (a for a in kernel.accesses() if a.store):
        statement = kernel.module.parents.get(access.call)
        casts: list[ast.Call] = []
        if statement not in following or len(access.call.args) < 2 or not linear(kernel, access.call.args[1], names, following, casts):
            return None
        column = _column(view, access, casts)
        if column is None:
            return None
        found.append(column)
    stores = len(kernel.calls({"store"}))
    return found if len({c.out for c in found}) == len(found) == stores else None


def _column(view: View, access: Access, casts: list[ast.Call]) -> Column | None:
    """What is stored to, where nothing else reads its pointer."""
    kernel = view.kernel
    pointers = [n for n in ast.walk(access.pointer) if isinstance(n, ast.Name) and any(n.id in x["tensors"] for x in view.target_launches)]
    if len(pointers) != 1:
        return None
    out = pointers[0]
    reads = [n for n in ast.walk(kernel.node) if isinstance(n, ast.Name) and n.id == out.id]
    # ``out.dtype.element_ty`` may be read: a cast to it becomes one to float32.
    others = [n for n in reads if n is not out and not isinstance(kernel.module.parents.get(n), ast.Attribute)]
    if others or out.id not in kernel.parameters or not _dense(view, out.id):
        return None
    narrowed = [c for c in casts if ast.unparse(c.args[0]) != f"{out.id}.dtype.element_ty"]
    size = _size(kernel, access)
    if size is not None and _exact(view, out.id, size):
        return Column(out.id, out, size, narrowed, filled=True)
    filled, own = one_each(view, access), made_here(view.launches[0], out.id)
    kept = not own and not (filled and access.mask is None)
    return Column(out.id, out, None, narrowed, filled=filled and not kept, kept=kept) if filled or own else None


def _size(kernel: KernelView, access: Access) -> str | None:
    """``size`` of ``out + cols`` under ``cols < size``."""
    pointer, mask = access.pointer, access.mask
    if not isinstance(pointer, ast.BinOp) or not isinstance(pointer.op, ast.Add) or not isinstance(pointer.left, ast.Name):
        return None
    if isinstance(mask, ast.Name) and len(bound := kernel.bindings(mask.id)) == 1 and isinstance(bound[0], ast.Assign):
        mask = bound[0].value
    bounded = isinstance(mask, ast.Compare) and len(mask.ops) == 1 and isinstance(mask.ops[0], ast.Lt)
    if not bounded or not isinstance(mask, ast.Compare) or ast.unparse(mask.left) != ast.unparse(pointer.right):
        return None
    size = mask.comparators[0]
    return size.id if isinstance(size, ast.Name) and size.id in kernel.parameters and not kernel.bindings(size.id) else None


def _kernel(kernel: KernelView, loop: Loop, axis: int, columns: list[Column]) -> Edits | None:
    module, tl, part = kernel.module, kernel.language, kernel.free_name("part")
    edits = in_parts(kernel, loop, axis, part)
    added = [_parameter(c) for c in columns if c.size is None]
    parameters = module.add_parameters(kernel.node, [(name, None) for name in added]) if added else []
    if edits is None or parameters is None or any(name != kernel.free_name(name) for name in added):
        return None
    edits += parameters
    for column in columns:
        # In 64 bits: another call may have so many columns that 32 don't reach the last part.
        edits.append(module.replace(column.read, f"{column.out} + {part}.to({tl}.int64) * {column.size or _parameter(column)}"))
        edits += [module.replace(c, module.code(c.func.value)) for c in column.narrowed if isinstance(c.func, ast.Attribute)]
    return [(module.path, e) for e in edits]


def _parameter(column: Column) -> str:
    return f"{column.out.lower().removesuffix('_ptr')}_size"


def _host(launch: LaunchView, columns: list[Column], parts: int, *, float32: bool) -> Edits | None:
    """The buffer of the parts and its sum, around the launch. Sums that aren't known to be of float32 may be wider, or integers, which a
    division would round in each part.
    """
    module, torch = launch.module, torch_name(launch)
    statement = module.parents.get(launch.call)
    if launch.host is None or torch is None or not isinstance(statement, ast.Expr):
        return None
    taken = {n.id for n in ast.walk(launch.host) if isinstance(n, ast.Name)} | {a.arg for a in launch.host.args.args}
    if "parts" in taken:
        return None
    at = next((n for n in module.around(launch.grid) if isinstance(n, ast.stmt)), statement)
    if not isinstance(at, ast.Assign | ast.Expr | ast.Return) or launch.host not in module.around(at):
        return None
    at = statement if isinstance(at, ast.Return) else at
    outs = [o.id for c in columns if isinstance(o := launch.arguments.get(c.out), ast.Name)]
    if not float32 and any(at.lineno <= b.lineno <= statement.lineno for o in outs for b in launch.bindings(o)):
        return None
    only = "" if float32 else f" if {' and '.join(f'{o}.is_floating_point()' for o in outs)} else 1"
    head = [f"parts = {parts}{only}  # programs for each part of the result, so that the GPU is filled"]
    before: list[str] = []
    after: list[str] = []
    added: list[str] = []
    edits: list[Edit] = [with_side(launch, "parts")]
    for column in columns:
        out = launch.arguments.get(column.out)
        name = f"{out.id}_parts" if isinstance(out, ast.Name) else ""
        if not isinstance(out, ast.Name) or {name, f"{out.id}_dtype"} & taken:
            return None
        size = launch.arguments.get(column.size) if column.size is not None else None
        shape = f"*{out.id}.shape" if size is None else module.code(size)
        fill = "empty" if column.filled else "zeros"
        dtype = f"{torch}.float32" if float32 else f"{out.id}_dtype"
        if not float32:
            wide = f"{torch}.promote_types({out.id}.dtype, {torch}.float32)"
            before.append(f"{dtype} = {wide} if parts > 1 else {out.id}.dtype")
        before.append(f"{name} = {torch}.{fill}((parts, {shape}), device={out.id}.device, dtype={dtype})")
        before += [f"{name}[0].copy_({out.id})  # what no program writes stays"] if column.kept else []
        after.append(added_up(launch, name, out.id, torch))
        edits.append(module.replace(out, name))
        added += [f"{_parameter(column)}={out.id}.numel()"] if column.size is None else []
    placed = [module.before(statement, head + before)] if at is statement else [module.before(at, head), module.before(statement, before)]
    placed.append(module.after(statement, after))
    more = launch.add_arguments(added) if added else []
    if any(e is None for e in placed) or more is None:
        return None
    return [*((module.path, e) for e in [*edits, *placed] if e is not None), *more]


def _dense(view: View, out: str) -> bool:
    """In every case the output lies row by row without gaps, as the buffer of its parts will."""
    tensors = [x["tensors"].get(out) for x in view.target_launches]
    return bool(tensors) and all(t is not None and contiguous(t["shape"], t["stride"]) for t in tensors)


def _exact(view: View, out: str, size: str) -> bool:
    """In every case the output is one row of ``size`` numbers."""
    launches = view.target_launches
    outs = [x["tensors"].get(out) for x in launches]
    sizes = [{**x["scalars"], **x["constants"]}.get(size) for x in launches]
    return bool(outs) and all(out is not None and out["shape"] == [size] for out, size in zip(outs, sizes, strict=True))
