"""``split_reduction``: few programs that each walk a long axis become many that walk a part of it; their results are summed by torch.

Column sums of a tall matrix, the gradients of weight and bias of a normalisation, the mean of everything by a single program: the grid has
far fewer programs than the GPU holds. One more side of it splits the walk; each part stores to a float32 buffer of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import Access, At, KernelView, LaunchView, Loop, View
from kernelband.strategies.code.affine import counts, one_each
from kernelband.strategies.code.aliasing import FRESH, made_here
from kernelband.strategies.code.blocks import beside_value, dependent, exposed, names_bound, names_read, reads
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.parts import in_parts, new_axis, part_counts, with_side
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.contiguous_copy import contiguous
from kernelband.strategies.fusion.partial_sums import added_up, behind, linear, only_loop, sums, torch_name, types_of
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
    kept: bool = False  # what they don't write was there before


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
        host = _host(view.launches[0], columns, parts, _of_types(kernel, loop))
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
    made = dependent([n for s in following for n in all_nodes(s)], names)
    for access in (a for a in kernel.accesses() if a.store):
        statement = kernel.module.parents.get(access.call)
        casts: list[ast.Call] = []
        if statement not in following or len(access.call.args) < 2 or not linear(kernel, access.call.args[1], names, following, casts):
            return None
        if any(reads(n, made) for n in beside_value(access.call)):
            return None  # where it is stored hangs on the total, and each part has only its own
        column = _column(view, access, casts)
        if column is None:
            return None
        found.append(column)
    stores = len(kernel.calls({"store"}))
    return found if len({c.out for c in found}) == len(found) == stores else None


def _column(view: View, access: Access, casts: list[ast.Call]) -> Column | None:
    """What is stored to, where nothing else reads its pointer."""
    kernel = view.kernel
    pointers = [n for n in all_nodes(access.pointer) if isinstance(n, ast.Name) and any(n.id in x["tensors"] for x in view.target_launches)]
    if len(pointers) != 1:
        return None
    out = pointers[0]
    reads = [n for n in all_nodes(kernel.node) if isinstance(n, ast.Name) and n.id == out.id]
    # ``out.dtype.element_ty`` may be read: a cast to it becomes one to float32.
    others = [n for n in reads if n is not out and not isinstance(kernel.module.parents.get(n), ast.Attribute)]
    if others or out.id not in kernel.parameters or not _dense(view, out.id):
        return None
    narrowed = [c for c in casts if ast.unparse(c.args[0]) != f"{out.id}.dtype.element_ty"]
    if not all(_narrows(view, c.args[0]) for c in narrowed):
        return None  # an integer drops what the parts keep
    size, own, made = _size(kernel, access), made_here(view.launches[0], out.id), _makers(view.launches[0], out.id)
    exact = size is not None and _exact(view, out.id, size)
    if not own and not exact and not one_each(view, access):
        return None
    filled = own and made == {"empty"} and (exact or one_each(view, access))
    return Column(out.id, out, size if exact and own else None, narrowed, filled=filled, kept=not own)


def _narrows(view: View, kind: ast.expr) -> bool:
    """A half type, or that of a tensor's elements which is one, or float32, in every case."""
    if ast.unparse(kind) in (f"{view.kernel.language}.float16", f"{view.kernel.language}.bfloat16"):
        return True
    match kind:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="dtype"), attr="element_ty"):
            seen = {t["dtype"] for x in view.target_launches if (t := x["tensors"].get(name)) is not None}
            return bool(seen) and seen <= {"float16", "bfloat16", "float32"}
        case _:
            return False


def _makers(launch: LaunchView, parameter: str) -> set[str]:
    """What the host function's tensor comes from: "empty" for ``torch.empty_like(x)``."""
    passed = launch.arguments.get(parameter)
    bound = launch.bindings(passed.id) if isinstance(passed, ast.Name) else []
    calls = [n for b in bound if isinstance(b, ast.Assign) and b.lineno <= launch.call.lineno for n in all_nodes(b.value)]
    names = [n.func.attr for n in calls if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    return {n.removeprefix("new_").removesuffix("_like") for n in names if n in FRESH}


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


def _of_types(kernel: KernelView, loop: Loop) -> set[str]:
    """Pointers whose elements' type the sums have, where they aren't of float32."""
    names = set(sums(kernel, loop, of_any_type=True)) - set(sums(kernel, loop))
    begins = [b.value for n in names for b in kernel.bindings(n) if isinstance(b, ast.Assign)]
    return {p for value in begins for p in types_of(kernel, value) or ()}


def _guard(launch: LaunchView, columns: list[Column], types: set[str], torch: str) -> str | None:
    """When the parts may be of float32 and an output a copy of their sum: not for wider sums, or integers, which a division would round in
    each part; nor where a caller's memory lies in another way, or keeps wider numbers. "" for always; None where it can't be asked.
    """
    kept = {c.out for c in columns if c.kept}
    outs = {c.out for c in columns} if types else kept
    passed = [launch.arguments.get(p) for p in (*sorted(outs), *sorted(types - outs))]
    if not passed:
        return ""
    names = [p.id for p in passed if isinstance(p, ast.Name)]
    if len(names) != len(passed):
        return None
    theirs = [p.id for c in columns if c.kept and isinstance(p := launch.arguments[c.out], ast.Name)]
    asked = [f"{{{', '.join(f'{n}.dtype' for n in names)}}} <= {{{torch}.float16, {torch}.bfloat16, {torch}.float32}}"]
    return " and ".join([*asked, *(f"{n}.is_contiguous() and not {n}.requires_grad" for n in theirs)])


def _host(launch: LaunchView, columns: list[Column], parts: int, types: set[str]) -> Edits | None:
    """The buffer of the parts and its sum, around the launch. ``types``: pointers of whose elements' type the sums are."""
    module, torch = launch.module, torch_name(launch)
    statement = module.parents.get(launch.call)
    if launch.host is None or torch is None or not isinstance(statement, ast.Expr):
        return None
    taken = {n.id for n in all_nodes(launch.host) if isinstance(n, ast.Name)} | {a.arg for a in launch.host.args.args}
    if "parts" in taken:
        return None
    at = next((n for n in module.around(launch.grid) if isinstance(n, ast.stmt)), statement)
    if not isinstance(at, ast.Assign | ast.Expr | ast.Return) or launch.host not in module.around(at):
        return None
    at = statement if isinstance(at, ast.Return) else at
    guard = _guard(launch, columns, types, torch)
    if guard is None or (guard and any(at.lineno <= b.lineno <= statement.lineno for b in _bound(launch, guard))):
        return None
    only, indent = f" if {guard} else 1" if guard else "", f"if parts > 1:{module.newline}{module.indent(statement) or ''}{module.unit}"
    head = [f"parts = {parts}{only}  # programs for each part of the result, so that the GPU is filled"]
    indent = indent if guard else ""
    before: list[str] = []
    after: list[str] = []
    added: list[str] = []
    edits: list[Edit] = [with_side(launch, "parts")]
    for column in columns:
        out = launch.arguments.get(column.out)
        name = f"{out.id}_parts" if isinstance(out, ast.Name) else ""
        if not isinstance(out, ast.Name) or name in taken:
            return None
        size = launch.arguments.get(column.size) if column.size is not None else None
        shape = f"*{out.id}.shape" if size is None else module.code(size)
        fill = "empty" if column.filled else "zeros"
        otherwise = f" if parts > 1 else {out.id}" if guard else ""
        before.append(f"{name} = {torch}.{fill}((parts, {shape}), device={out.id}.device, dtype={torch}.float32){otherwise}")
        before += [f"{indent}{name}[0].copy_({out.id})  # what no program writes stays"] if column.kept else []
        after.append(f"{indent}{added_up(launch, name, out.id, torch)}")
        edits.append(module.replace(out, name))
        added += [f"{_parameter(column)}={out.id}.numel()"] if column.size is None else []
    placed = [module.before(statement, head + before)] if at is statement else [module.before(at, head), module.before(statement, before)]
    placed.append(module.after(statement, after))
    more = launch.add_arguments(added) if added else []
    if any(e is None for e in placed) or more is None:
        return None
    return [*((module.path, e) for e in [*edits, *placed] if e is not None), *more]


def _bound(launch: LaunchView, guard: str) -> list[ast.stmt]:
    return [b for n in names_read(expression_tree(guard)) for b in launch.bindings(n)]


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
