"""``grouped_order``: tiles of a matrix in narrow groups instead of whole rows, so that programs in flight share operands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, LaunchView, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.groups import only_orders
from kernelband.strategies.reordering.ids import waits

GROUPS = (8, 4, 16, 2)


class GroupedOrder:
    """``tl.swizzle2d`` after the lines that compute the two program indices; another group size where there is one already."""

    name = "grouped_order"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("reordering", self.name, _propose, program, facts)


@frozen(eq=False)
class Order:
    """Row-major indices: ``outer`` counts rows, ``inner`` runs fastest; ``size_inner`` and ``size_outer`` as code."""

    outer: str
    inner: str
    size_outer: str
    size_inner: str
    after: ast.stmt


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if view.kernel.calls({"swizzle2d"}) or any("GROUP" in c.upper() for c in view.kernel.constexprs):
        yield from _group_sizes(at)
        return
    order = None if waits(view) else one_dimension(view) or _two_dimensions(view)
    if order is None or not view.kernel.calls({"dot", "dot_scaled"}) or view.program.handed_on:
        return
    module, tl = view.kernel.module, view.kernel.language
    for group in GROUPS:
        line = (
            f"{order.outer}, {order.inner} = {tl}.swizzle2d({order.outer}, {order.inner}, {order.size_outer}, {order.size_inner}, {group})"
        )
        edit = module.after(order.after, [line])
        yield at.proposal(
            {"group": group},
            None if edit is None else [(module.path, edit)],
            "exact",
            f"Programs take tiles in groups of {group} rows instead of row by row (tl.swizzle2d).",
            f"Programs in flight walk whole rows of tiles and read all of the other operand; in groups of {group} they share both in L2.",
        )


def _group_sizes(at: At) -> Iterator[Proposal | None]:
    for name in sorted(c for c in at.view.kernel.constexprs if "GROUP" in c.upper()):
        if name in at.view.kernel.aranges():
            continue
        knobs = [k for k in (x.knob(name) for x in at.view.launches) if k is not None]
        if not knobs or len(knobs) != len(at.view.launches) or any(k.in_grid for k in knobs):
            continue
        if not only_orders(at.view, name, GROUPS):
            continue
        for group in (1, *GROUPS):
            yield at.proposal(
                {"group": group},
                [e for k in knobs for e in k.edit(group)],
                "exact",
                f"{name} {knobs[0].value}→{group}.",
                "How many rows of tiles share operands in L2 depends on the tile and the cache: other group sizes are worth a try.",
            )


def _simple(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return None


def _once(view: View, name: str) -> bool:
    return len(view.kernel.bindings(name)) == 1


def one_dimension(view: View) -> Order | None:
    """``outer = pid // size`` and ``inner = pid % size`` of one program id, both in the kernel's own block."""
    kernel = view.kernel
    quotients: dict[tuple[str, str], tuple[str, int]] = {}
    remainders: dict[tuple[str, str], tuple[str, int]] = {}
    for place, statement in enumerate(kernel.node.body):
        pair = _simple(statement)
        if pair is None or not isinstance(pair[1], ast.BinOp) or not isinstance(pair[1].left, ast.Name):
            continue
        key = pair[1].left.id, ast.unparse(pair[1].right)
        if isinstance(pair[1].op, ast.FloorDiv):
            quotients[key] = pair[0], place
        elif isinstance(pair[1].op, ast.Mod):
            remainders[key] = pair[0], place
    for key, (outer, place) in quotients.items():
        pid, size = key
        source = kernel.bindings(pid)
        if key not in remainders or len(source) != 1:
            continue
        inner, other = remainders[key]
        value = _simple(source[0])
        last = max(place, other)
        if (
            value is None
            or kernel.tl(value[1]) != "program_id"
            or kernel.tokens(value[1]) != frozenset({"@0"})
            or not (_once(view, outer) and _once(view, inner))
        ):
            continue
        if any(outer in _read(s) or inner in _read(s) for s in kernel.node.body[:last]):
            continue  # an index is used before both are known
        rows = _rows(view, size, last)
        if rows is not None:
            return Order(outer, inner, rows, size, kernel.node.body[last])
    return None


def _read(statement: ast.stmt) -> set[str]:
    return {n.id for n in all_nodes(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _rows(view: View, size: str, last: int) -> str | None:
    """How many rows of tiles there are, as the kernel's author would say it; None unless every grid is so many times ``size``.

    Else the last programs would be told of tiles that aren't theirs.
    """
    kernel, tl = view.kernel, view.kernel.language
    meant, found = _meant(view, size, last), set[str | None]()
    for launch in view.launches if view.whole else ():
        side = _value(launch, (launch.sides() or [launch.grid])[0])
        if not isinstance(side, ast.BinOp) or not isinstance(side.op, ast.Mult):
            return None
        left, right = _said(view, launch, side.left), _said(view, launch, side.right)
        if meant not in (left, right):
            return None
        found.add(left if right == meant else right)
    if not found:
        return None
    rows = found.pop() if len(found) == 1 else None
    named = next((p[0] for s in kernel.node.body[:last] if (p := _simple(s)) and _plain(view, p[1]) == rows), None)
    return named or rows or f"{tl}.num_programs(0) // {size}"


def _meant(view: View, size: str, last: int) -> str:
    """The number of tiles in a row, in the kernel's words, without a name of its own."""
    bound = (p[1] for s in view.kernel.node.body[:last] if (p := _simple(s)) is not None and p[0] == size and _once(view, size))
    return next((_plain(view, value) for value in bound), size)


def _plain(view: View, value: ast.expr) -> str:
    pair = divisor(value)
    return ast.unparse(value) if pair is None else f"{view.kernel.language}.cdiv({ast.unparse(pair[0])}, {ast.unparse(pair[1])})"


def _said(view: View, launch: LaunchView, factor: ast.expr) -> str | None:
    """A factor of the grid in the kernel's words: ``tl.cdiv(N, BLOCK_N)``, or the parameter that gets the same value."""
    pair = divisor(_value(launch, factor))
    if pair is None:
        named = [launch.parameter_of(factor)]
    elif isinstance(pair[1], ast.Subscript) and isinstance(pair[1].slice, ast.Constant):
        named = [launch.parameter_of(pair[0]), str(pair[1].slice.value)]
    else:
        named = [launch.parameter_of(pair[0]), launch.parameter_of(pair[1])]
    if any(n is None or view.kernel.bindings(n) for n in named):
        return None
    return f"{view.kernel.language}.cdiv({named[0]}, {named[1]})" if pair is not None else named[0]


def _value(launch: LaunchView, node: ast.expr) -> ast.expr:
    """What a variable of the host function is bound to, where it is bound once."""
    bound = launch.bindings(node.id) if isinstance(node, ast.Name) else []
    pair = _simple(bound[0]) if len(bound) == 1 else None
    return pair[1] if pair is not None else node


def _two_dimensions(view: View) -> Order | None:
    """``i = tl.program_id(0)`` and ``j = tl.program_id(1)``: axis 0 runs fastest, so it is the inner one."""
    kernel, tl = view.kernel, view.kernel.language
    names: dict[str, tuple[str, int]] = {}
    for place, statement in enumerate(kernel.node.body):
        pair = _simple(statement)
        if pair is not None and kernel.tl(pair[1]) == "program_id":
            names[next(iter(kernel.tokens(pair[1])))] = pair[0], place
    if not {"@0", "@1"} <= set(names) <= {"@0", "@1", "@2"} or len(kernel.calls({"program_id"})) != len(names):
        return None  # a third axis is a batch: each has an order of its own
    loads = {a.depends & {"@0", "@1"} for a in kernel.accesses() if not a.store}
    if loads and not {frozenset({"@0"}), frozenset({"@1"})} <= loads:
        return None  # no operand is shared along one axis and none along the other: nothing to group for
    (inner, first), (outer, second) = names["@0"], names["@1"]
    last = max(first, second)
    if not (_once(view, outer) and _once(view, inner)) or any({outer, inner} & _read(s) for s in kernel.node.body[:last]):
        return None
    if any(len(x.sides() or ()) != len(names) for x in view.launches):
        return None
    if any(tl in bound_names(s) for s in kernel.node.body[:last]):
        return None
    return Order(outer, inner, f"{tl}.num_programs(1)", f"{tl}.num_programs(0)", kernel.node.body[last])
