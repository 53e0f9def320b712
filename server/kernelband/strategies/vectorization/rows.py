"""``rows_per_program``: a kernel that holds one short row takes several, as a two-dimensional block.

Only for straight kernels: one program id, one ``arange`` over the row, no loops, and nothing but element-wise operations and sums,
maxima and minima over the row. Every name then broadcasts: what was a scalar of the row becomes a column.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.launch import Edits
from kernelband.strategies.code.view import moving

ROWS = (4, 2, 8, 16)
LONGEST_ROW = 2048  # elements of the block; longer rows fill a program
BLOCK_LIMIT = 8192
ELEMENTWISE = frozenset({"load", "store", "exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "abs", "sin", "cos", "erf"}) | {
    *("floor", "ceil", "sigmoid", "fdiv", "div_rn", "maximum", "minimum", "where", "fma", "cast", "clamp"),
}
OVER_ROW = frozenset({"sum", "max", "min"})


class RowsPerProgram:
    """Several rows per program, with the grid and a guard for the last program."""

    name = "rows_per_program"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("vectorization", self.name, _propose, program, facts)


@frozen(eq=False)
class Row:
    """The parts of a clean row-wise kernel."""

    pid: ast.Call
    name: str
    columns: ast.Call
    reductions: list[ast.Call]


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    row = _clean(view)
    widest = view.widest
    if row is None or not 0 < widest <= LONGEST_ROW:
        return
    counted = _row_count(view)
    if counted is None:
        return
    count, extra = counted
    threads = 32 * view.option("num_warps", 4)
    rows_name = view.kernel.free_name("ROWS")
    for rows in ROWS:
        if rows * widest > BLOCK_LIMIT:
            continue
        edits = _body(view, row, rows_name, count)
        added = view.kernel.module.add_parameters(
            view.kernel.node, [*([(count, None)] if extra else []), (f"{rows_name}: {view.kernel.language}.constexpr", "1")]
        )
        if edits is None or added is None:
            return
        edits += [(view.kernel.module.path, e) for e in added]
        for launch in view.launches:
            side = (launch.sides() or [launch.grid])[0]
            code = launch.module.code(side)
            more = launch.add_arguments([*([f"{count}={code}"] if extra else []), f"{rows_name}={rows}"])
            triton = _triton(launch.module.tree)
            if more is None or triton is None:
                return
            edits += [*more, (launch.module.path, launch.module.replace(side, f"{triton}.cdiv({code}, {rows})"))]
        yield at.proposal(
            {"rows": rows},
            edits,
            view.summation(),
            f"Each program takes {rows} rows as one two-dimensional block.",
            f"A row of {widest} elements leaves each of {threads} threads {widest / threads:.0f} of them.",
        )


def _clean(view: View) -> Row | None:
    kernel = view.kernel
    ids, aranges = kernel.calls({"program_id"}), kernel.calls({"arange"})
    if len(ids) != 1 or len(aranges) != 1 or kernel.tokens(ids[0]) != frozenset({"@0"}) or not view.whole or kernel.model.autotuned:
        return None
    statement = kernel.module.parents[ids[0]]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    reductions: list[ast.Call] = []
    for node in (n for s in kernel.node.body for n in ast.walk(s)):
        if isinstance(node, ast.For | ast.While | ast.If | ast.IfExp | ast.Subscript | ast.Return | ast.BoolOp):
            return None
        if isinstance(node, ast.Call) and node not in (ids[0], aranges[0]):
            called = kernel.tl(node)
            if called in OVER_ROW:
                if not _over_row(node):
                    return None
                reductions.append(node)
            elif called not in ELEMENTWISE and not _plain(node):
                return None
    if len(kernel.bindings(statement.targets[0].id)) != 1 or len(kernel.accesses()) != len(kernel.calls({"load", "store"})):
        return None
    return Row(ids[0], statement.targets[0].id, aranges[0], reductions)


def _plain(call: ast.Call) -> bool:
    """``x.to(...)`` and ``float("inf")``."""
    return (isinstance(call.func, ast.Attribute) and call.func.attr == "to") or (
        isinstance(call.func, ast.Name) and call.func.id == "float"
    )


def _over_row(call: ast.Call) -> bool:
    """A reduction of one argument over axis 0 or all axes, without further options."""
    axis = call.args[1] if len(call.args) == 2 else next((k.value for k in call.keywords if k.arg == "axis"), None)
    known = axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)
    return 1 <= len(call.args) <= 2 and all(k.arg == "axis" for k in call.keywords) and known and not isinstance(call.args[0], ast.Starred)


def _row_count(view: View) -> tuple[str, bool] | None:
    """The kernel's name for the number of rows, and whether it has to be added."""
    names: set[str | None] = set()
    for launch in view.launches:
        sides = launch.sides()
        if launch.meta is not None or sides is None or len(sides) != 1 or isinstance(sides[0], ast.Constant):
            return None
        names.add(launch.parameter_of(sides[0]))
    if len(names) == 1 and (name := names.pop()) is not None and name not in view.kernel.constexprs:
        return name, False
    return (view.kernel.free_name("n_rows"), True) if not view.kernel.node.args.defaults else None


def _body(view: View, row: Row, rows: str, count: str) -> Edits | None:
    kernel, module, tl = view.kernel, view.kernel.module, view.kernel.language
    edits: list[Edit] = [
        module.replace(row.pid, f"({module.code(row.pid)} * {rows} + {tl}.arange(0, {rows}))[:, None]"),
        module.replace(row.columns, f"{module.code(row.columns)}[None, :]"),
    ]
    for call in row.reductions:
        axis = call.args[1] if len(call.args) == 2 else next((k.value for k in call.keywords if k.arg == "axis"), None)
        added = module.add_arguments(call, ["keep_dims=True"] if axis is not None else ["axis=1", "keep_dims=True"])
        if added is None:
            return None
        edits += [*([module.replace(axis, "1")] if axis is not None else []), *added]
    guard = f"{row.name} < {count}"
    for access in kernel.accesses():
        if not access.by_program:
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


def _triton(tree: ast.Module) -> str | None:
    """The module's name for triton."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "triton":
                    return alias.asname or alias.name
    return None
