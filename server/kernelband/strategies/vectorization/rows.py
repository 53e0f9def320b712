"""``rows_per_program``: a kernel that holds one short row takes several, as a two-dimensional block, with the warps for it.

An autotuned kernel keeps choosing its warps itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import log2, prod

from attrs import frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, LaunchView, View
from kernelband.strategies.code.kernel import Access
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.names import module_alias
from kernelband.strategies.code.quotients import called
from kernelband.strategies.code.view import moving
from kernelband.strategies.vectorization.row_kernels import Row, axis_token, length, reduced_axis, row_kernels

ROWS = (2, 4, 8, 16, 32)
BLOCK_LIMIT = 16384  # elements of the two-dimensional block; above it registers run out
BEST_BLOCK = 2048  # elements of the block that is tried first: 4 warps with two 16-byte accesses of 16-bit data for each thread
LINES = (128, 32, 64, 256)  # where a program takes single elements: one for each thread
ELEMENTS = (16, 8)  # for each thread
MOST_WARPS = 16
ASKED = frozenset({"size", "numel", "dim", "len", "cdiv", "min", "max", "int", "prod"})  # calls that can be made twice
WAVES = 2  # programs for each multiprocessor that must be left


class RowsPerProgram:
    """Several rows per program, with the grid and a guard for the last program."""

    name = "rows_per_program"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("vectorization", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    widest = view.widest or length(view)
    grids = [x["grid"] for x in view.timed_launches]
    single = not view.kernel.calls({"arange"})
    if not (widest or single) or not grids or any(_shared_grid(view, x) for x in view.launches):
        return
    programs = min(prod(g) for g in grids)
    room = programs // (WAVES * view.facts.device.multiprocessors)
    seen: set[tuple[int, int, int | None]] = set()
    for elements in ELEMENTS:
        for row in row_kernels(view):
            along = min(g[row.axis] if row.axis < len(g) else 1 for g in grids)
            if single:
                fitting = [r for r in LINES if r < 2 * along]
            else:
                fitting = [r for r in ROWS if r * widest <= BLOCK_LIMIT and r <= min(room, along)]
            for rows in fitting if single else sorted(fitting, key=lambda r: (abs(log2(r * widest / BEST_BLOCK)), r)):
                each = rows // 32 if single else rows * widest // (32 * elements)
                warps = None if view.kernel.model.autotuned else min(max(each, 1), MOST_WARPS)
                if (row.axis, rows, warps) in seen:
                    continue
                seen.add((row.axis, rows, warps))
                yield _proposal(at, row, rows, warps)


def _proposal(at: At, row: Row, rows: int, warps: int | None) -> Proposal | None:
    view, widest, present = at.view, at.view.widest or length(at.view), at.view.option("num_warps", 4)
    several = len(view.kernel.ids) > 1
    edits = _edits(view, row, rows, warps if warps != present else None)
    parameters = {"rows": rows} | ({} if warps is None else {"num_warps": warps}) | ({"axis": row.axis} if several else {})
    shared = " What is the same for all of them is loaded once." if row.shared else ""
    many = f"in {max(view.programs())} programs"
    why = f"A row's block of {widest} elements is {widest / (32 * present):g} for each of a program's {32 * present} threads, {many}."
    return at.proposal(
        parameters,
        edits,
        view.summation(),
        f"Each program takes {rows} values of {row.name} as one {'two-dimensional block' if row.columns else 'block'}"
        f"{'' if warps is None else f'; num_warps is {warps}'}.{shared}",
        why if row.columns else f"All {32 * present} threads of a program do the same with the same single elements, {many}.",
    )


def _edits(view: View, row: Row, rows: int, warps: int | None) -> Edits | None:
    counted = _row_count(view, row)
    if counted is None:
        return None
    count, extra = counted
    rows_name = view.kernel.free_name("ROWS")
    edits = _body(view, row, rows_name, count)
    added = view.kernel.module.add_parameters(
        view.kernel.node, [*([(count, None)] if extra else []), (f"{rows_name}: {view.kernel.language}.constexpr", "1")]
    )
    if edits is None or added is None:
        return None
    edits += [(view.kernel.module.path, e) for e in added]
    hosts = [launch.host for launch in view.launches]
    for launch in view.launches:
        side = (launch.sides() or [launch.grid])[row.axis]
        code = launch.module.code(side)
        number, named = _named(launch, row, rows) if hosts.count(launch.host) == 1 else (str(rows), [])
        edits += named
        more = launch.pass_also([*([f"{count}={code}"] if extra else []), f"{rows_name}={number}"], warps)
        triton = module_alias(launch.module.tree, "triton")
        if more is None or triton is None:
            return None
        each = f'{launch.meta}["{rows_name}"]' if launch.meta is not None else number
        edits += [*more, (launch.module.path, launch.module.replace(side, f"{triton}.cdiv({code}, {each})"))]
    return edits


def _named(launch: LaunchView, row: Row, rows: int) -> tuple[str, Edits]:
    """A variable with a word on it, before the grid that reads it; the number itself where only the launch does, or no line can stand."""
    at = next((n for n in launch.module.around(launch.grid) if isinstance(n, ast.stmt)), None)
    if launch.meta is not None or launch.host is None or not isinstance(at, ast.Assign | ast.Expr | ast.Return):
        return str(rows), []
    taken = {n.id for n in all_nodes(launch.host) if isinstance(n, ast.Name)} | {a.arg for a in launch.host.args.args}
    name = next((n for n in ("rows", f"{row.name}s_each") if n not in taken), None)
    line = launch.module.before(at, [f"{name} = {rows}  # values of {row.name} in each program"])
    return (str(rows), []) if name is None or line is None else (name, [(launch.module.path, line)])


def _shared_grid(view: View, launch: LaunchView) -> bool:
    """The grid is a variable that something else reads too, another kernel's launch say: it must not change."""
    grid = launch.call.func.slice if isinstance(launch.call.func, ast.Subscript) else None
    if not isinstance(grid, ast.Name):
        return False
    own = [x.call.func.slice for x in view.launches if isinstance(x.call.func, ast.Subscript)]
    scope = launch.host or launch.module.tree
    return any(isinstance(n, ast.Name) and n.id == grid.id and isinstance(n.ctx, ast.Load) and n not in own for n in all_nodes(scope))


def _row_count(view: View, row: Row) -> tuple[str, bool] | None:
    """The kernel's name for the number of rows, and whether it has to be added."""
    names: set[str | None] = set()
    ids = len(view.kernel.ids)
    for launch in view.launches:
        sides = launch.sides()
        if (
            sides is None
            or len(sides) < max(ids, row.axis + 1)
            or (ids == 1 and len(sides) != 1)
            or isinstance(sides[row.axis], ast.Constant)
        ):
            return None
        side = sides[row.axis]
        if not launch.unchanged(side) or any(isinstance(n, ast.Call) and called(n) not in ASKED for n in all_nodes(side)):
            return None  # what is passed beside it would be another number
        inner = launch.module.parents.get(launch.grid)
        if launch.meta is not None and (
            not isinstance(inner, ast.Lambda) or any(isinstance(n, ast.Name) and n.id == launch.meta for n in all_nodes(side))
        ):
            return None  # what only the grid's function knows can't be passed to the kernel
        names.add(launch.parameter_of(side))
    if len(names) == 1 and (name := names.pop()) is not None and name not in view.kernel.constexprs and not view.kernel.bindings(name):
        return name, False
    wanted = "n_rows" if ids == 1 else f"num_{row.name}s"
    return (view.kernel.free_name(wanted), True) if not view.kernel.node.args.defaults else None


def _body(view: View, row: Row, rows: str, count: str) -> Edits | None:
    kernel, module, tl = view.kernel, view.kernel.module, view.kernel.language
    index, alone = f"{module.code(row.pid)} * {rows} + {tl}.arange(0, {rows})", isinstance(module.parents[row.pid], ast.Assign)
    edits: list[Edit] = [
        module.replace(row.pid, f"({index})[:, None]" if row.columns else index if alone else f"({index})"),
        *(module.replace(c, f"{module.code(c)}[None, :]") for c in row.columns),
        *(module.replace(s, f"{rows}, {module.code(s)}") for s in row.filled),
        *(
            module.replace(s, f"{tl}.full([{rows}{', 1' if row.columns else ''}], {module.code(s)}, dtype={tl}.float32)")
            for s in row.starts
        ),
    ]
    for call in row.reductions:
        axis = reduced_axis(call)
        added = module.add_arguments(call, ["keep_dims=True"] if axis is not None else ["axis=1", "keep_dims=True"])
        if added is None:
            return None
        edits += [*([module.replace(axis, "1")] if axis is not None else []), *added]
    guard = f"{row.name} < {count}"
    guarded = [a for a in kernel.accesses() if axis_token(row) in a.depends]
    shared = _shared_mask(view, row, guarded)
    if shared is not None:
        edits += shared.edits(view, guard)
    edits += _word(view, row, rows, shared)
    for access in guarded:
        if shared is not None and isinstance(access.mask, ast.Name) and access.mask.id == shared.name:
            if shared.new != shared.name:
                edits.append(module.replace(access.mask, shared.new))
            continue
        if access.mask is None:
            added = module.add_arguments(access.call, [f"mask={guard}"])
            if added is None:
                return None
            edits += added
            continue
        span = module.span(access.mask)
        simple = isinstance(access.mask, ast.Name)
        edits.append(
            Edit(Span(span.start, span.end), f"{'' if simple else '('}{module.code(access.mask)}{'' if simple else ')'} & ({guard})")
        )
    return [(module.path, e) for e in edits]


def _word(view: View, row: Row, rows: str, shared: SharedMask | None) -> list[Edit]:
    """A comment where the rows are numbered: what the kernel's own comments say of one row no longer holds. None beside another one."""
    module = view.kernel.module
    statement = next((n for n in module.around(row.pid) if isinstance(n, ast.stmt)), None)
    place = module.after(statement, []) if statement is not None and (shared is None or shared.last is not statement) else None
    if statement is None or place is None or place.span.start != module.span(statement).end:
        return []
    return [Edit(place.span, f"  # {rows} in each program")]


@frozen(eq=False)
class SharedMask:
    """A mask that several of the guarded accesses name. ``new``: what it is called with the guard; the same name where nothing else
    reads it.
    """

    name: str
    new: str
    bound: ast.Assign
    last: ast.stmt  # of what the guarded mask is made of

    def edits(self, view: View, guard: str) -> list[Edit]:
        """The guard where the mask is made, or the guarded mask behind it."""
        module = view.kernel.module
        if self.new != self.name:
            line = module.after(self.last, [f"{self.new} = {self.name} & ({guard})"])
            return [] if line is None else [line]
        span = module.span(self.bound.value)
        return [Edit(Span(span.start, span.start), "("), Edit(Span(span.end, span.end), f") & ({guard})")]


def _shared_mask(view: View, row: Row, guarded: list[Access]) -> SharedMask | None:
    """The mask to guard once, where its name stands at two or more accesses."""
    kernel = view.kernel
    named = [a.mask.id for a in guarded if isinstance(a.mask, ast.Name)]
    name = max(named, key=named.count, default=None)
    if name is None or named.count(name) < 2:
        return None
    bindings, body = kernel.bindings(name), kernel.node.body
    made = next((x for x in body if row.pid in list(all_nodes(x))), None)
    if len(bindings) != 1 or not isinstance(bound := bindings[0], ast.Assign) or made is None:
        return None
    last = bound if made.lineno < bound.lineno else made
    if last is made and bound not in body:
        return None
    users = [a.call for a in guarded if isinstance(a.mask, ast.Name) and a.mask.id == name]
    if any(u.lineno <= (last.end_lineno or 0) for u in users) or kernel.module.after(last, [""]) is None:
        return None
    reads = [n for n in all_nodes(kernel.node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    alone = len(reads) == named.count(name) and last is bound
    return SharedMask(name, name if alone else kernel.free_name(f"{row.name}_mask"), bound, last)
