"""``one_pass_moments``: the loop for a mean and the loop for the variance about it become one that merges the moments of its blocks.

Each block has a mean of its own and squares about it, both from registers; two sets of n_a and n_b elements then make one with

    gap = mean_b - mean_a
    mean = mean_a + gap * n_b / (n_a + n_b)
    squares = squares_a + squares_b + gap ** 2 * n_a * n_b / (n_a + n_b)

(Chan, Golub, LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37(3), 1983, equations 2.1). No value, be
it the row's first or its largest, is taken from the others, so nothing cancels out that the two loops would have kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.access_layout.full import Walk, always_in, resolved, walk_of
from kernelband.strategies.code import At, KernelView, View
from kernelband.strategies.code.blocks import lines, names_read, unconverted
from kernelband.strategies.code.shapes import shapes
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.accumulate_late import beginning, is_zero, reduction
from kernelband.strategies.fusion.merging import Merged, Pair, merged, moved_up, one_loop, pairs


class OnePassMoments:
    """Mean and variance from one loop."""

    name = "one_pass_moments"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


@frozen(eq=False)
class Total:
    """A loop's ``name += value`` or ``name += tl.sum(value, axis)``."""

    statement: ast.stmt
    name: str
    value: ast.expr


@frozen(eq=False)
class Difference:
    """``x - mean`` in the second loop: the node, who holds the (masked) difference, and the mask."""

    node: ast.BinOp
    holder: str
    mask: ast.expr | None  # of a ``tl.where`` around the difference
    late: ast.expr | None  # of a ``tl.where`` around the square


def _propose(at: At) -> Iterator[Proposal | None]:
    kernel, module = at.view.kernel, at.view.kernel.module
    for pair in pairs(at.view):
        sums, squares = _totals(kernel, pair)
        for total in sums:
            mean = _mean(kernel, pair, total)
            for square in squares if mean is not None else []:
                edits = None if mean is None else _edits(at.view, pair, total, square, mean)
                if edits is not None:
                    yield at.proposal(
                        {"line": pair.first.node.lineno - kernel.node.lineno},
                        [(module.path, e) for e in edits],
                        "reassociates",
                        "Mean and variance are collected in one loop, block by block: each block's squares are about its own mean.",
                        "The second loop loads the whole row again only to subtract the mean.",
                    )
                    return


def _totals(kernel: KernelView, pair: Pair) -> tuple[list[Total], list[Total]]:
    """The float32 sums of each loop."""
    found: list[list[Total]] = []
    for loop in (pair.first, pair.second):
        found.append([])
        for statement in loop.node.body:
            total = reduction(kernel, statement)
            if total is not None and total.combined == "sum":
                one = Total(statement, total.name, total.value)
            elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and isinstance(statement.target, ast.Name):
                one = Total(statement, statement.target.id, statement.value)
            else:
                continue
            begin = beginning(kernel, loop, one.name, statement)
            if begin is not None and is_zero(kernel, begin):
                found[-1].append(one)
    return found[0], found[1]


def _average(kernel: KernelView, node: ast.AST, name: str) -> str | None:
    """N of ``tl.sum(name, axis=0) / N`` or ``name / N``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or name in names_read(node.right):
        return None
    inside = node.left.args[0] if isinstance(node.left, ast.Call) and kernel.tl(node.left) == "sum" and node.left.args else node.left
    return ast.unparse(node.right) if isinstance(inside, ast.Name) and inside.id == name else None


def _mean(kernel: KernelView, pair: Pair, total: Total) -> tuple[ast.Assign, str] | None:
    """The statement between the loops that binds the mean, and N."""
    readers = [s for s in (*pair.between, *pair.behind) if total.name in names_read(s)]
    if len(readers) != 1 or readers[0] not in pair.between:
        return None
    statement = readers[0]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    size = _average(kernel, statement.value, total.name)
    return (statement, size) if size is not None and len(kernel.bindings(statement.targets[0].id)) == 1 else None


def _difference(kernel: KernelView, pair: Pair, square: Total, mean: str) -> Difference | None:
    """How the second loop makes the squared difference that it sums."""
    value, late = square.value, None
    if isinstance(value, ast.Call) and kernel.tl(value) == "where" and len(value.args) == 3 and _nothing(value.args[2]):
        value, late = value.args[1], value.args[0]
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult) or ast.unparse(value.left) != ast.unparse(value.right):
        return None
    if not isinstance(value.left, ast.Name):
        return None
    holder = value.left.id
    reads = [n for s in pair.second.node.body for n in all_nodes(s) if isinstance(n, ast.Name) and n.id == mean]
    made = [s for s in pair.second.node.body if isinstance(s, ast.Assign) and any(n in reads for n in all_nodes(s))]
    if len(reads) != 1 or len(made) != 1 or ast.unparse(made[0].targets[0]) != holder or len(made[0].targets) != 1:
        return None
    inside = {n for s in pair.second.node.body for n in all_nodes(s)}
    if any(b in inside and b.lineno > made[0].lineno for b in kernel.bindings(holder)):
        return None  # it is something else by then
    node, mask = made[0].value, None
    if isinstance(node, ast.Call) and kernel.tl(node) == "where" and len(node.args) == 3 and _nothing(node.args[2]):
        node, mask = node.args[1], node.args[0]
    right = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and node.right is reads[0] and isinstance(node.left, ast.Name)
    return Difference(node, holder, mask, late) if right and isinstance(node, ast.BinOp) and (mask is None or late is None) else None


def _nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, 0.0)


def _edits(view: View, pair: Pair, total: Total, square: Total, mean: tuple[ast.Assign, str]) -> list[Edit] | None:
    kernel, module = view.kernel, view.kernel.module
    statement, size = mean
    name = ast.unparse(statement.targets[0])
    difference = _difference(kernel, pair, square, name)
    last = [(s, n) for s in pair.behind for n in all_nodes(s) if _average(kernel, n, square.name) == size]
    reads = [n for s in (*pair.between, *pair.behind) for n in all_nodes(s) if isinstance(n, ast.Name) and n.id == square.name]
    begin = beginning(kernel, pair.first, total.name, total.statement)
    if difference is None or begin is None or len(last) != 1 or sum(isinstance(n.ctx, ast.Load) for n in reads) != 1:
        return None
    if not isinstance(total.value, ast.Name) or not isinstance(last[0][1], ast.BinOp):
        return None
    walk = walk_of(kernel, pair.first)
    local, gap, count, spread = (kernel.free_name(n) for n in ("block_mean", "gap", "count", "spread"))
    up = moved_up(kernel, pair, frozenset({name}))
    body = None if up is None else merged(kernel, pair, {difference.node.right: local}, set())
    if up is None or body is None or walk is None or walk.size != size:
        return None
    if not _same(view, pair, body, total.value.id, difference) or not _counted(view, pair, total.value.id, walk):
        return None
    line, indent = lines(module, total.statement), module.indent(total.statement)
    if line is None or indent is None:
        return None
    tl, before = kernel.language, ast.unparse(walk.way)
    rows = [
        f"{indent}{count} = {tl}.minimum({walk.block}, {size} - {before})",
        f"{indent}{local} = {tl}.sum({total.value.id}, axis=0) / {count}",
        *body.body,
        f"{indent}{gap} = {local} - {total.name}",
        f"{indent}{total.name} += {gap} * ({count} / ({before} + {count}))",
        # Of the first block nothing, however large its mean: the inner product is zero then.
        f"{indent}{spread} += {gap} * ({gap} * ({before} * ({count} / ({before} + {count}))))",
    ]
    ahead = [
        "# Mean and variance in one pass: each block's squares are about its own mean, and the moments of blocks are merged (Chan).",
        f"{spread} = 0.0",
    ]
    at_end = total.statement is pair.first.node.body[-1]
    edits = one_loop(kernel, pair, up, ahead=ahead, body=[] if at_end else rows)
    if edits is None:
        return None
    return [
        *edits,
        Edit(line, "".join(row + module.newline for row in rows) if at_end else ""),
        module.replace(begin, f"{tl}.zeros([], dtype={tl}.float32) / {size}"),  # the mean of nothing stays NaN
        module.replace(statement.value, total.name),
        module.replace(last[0][1].left, f"({module.code(last[0][1].left)} + {spread})"),
    ]


def _counted(view: View, pair: Pair, element: str, walk: Walk) -> bool:
    """The elements of an iteration are a block of the row, as many as are left of it: without a mask, or with the plain one."""
    kernel = view.kernel
    loads = [
        n for s in pair.first.node.body if _binds(s, element) for n in all_nodes(s) if isinstance(n, ast.Call) and kernel.tl(n) == "load"
    ]
    known = shapes(kernel)
    if any(known.get(element) != (walk.block,) for _ in loads):
        return False
    for load in loads:
        given = {k.arg: k.value for k in load.keywords} | dict(zip(("pointer", "mask", "other"), load.args, strict=False))
        mask = given.get("mask")
        test = None if mask is None else resolved(kernel, mask)
        if test is not None and not always_in(kernel, test, walk):
            return False
    return bool(loads)


def _same(view: View, pair: Pair, body: Merged, element: str, difference: Difference) -> bool:
    """Both loops are about the same elements, and about the same of them: no mask, or the load's, which fills with zeros. In float32."""
    kernel = view.kernel
    made = next(s for s in pair.second.node.body if any(n is difference.node for n in all_nodes(s)))
    names = body.seen.get(made, {})
    if not isinstance(difference.node.left, ast.Name) or names.get(difference.node.left.id) != element:
        return False
    bound = [n for s in pair.first.node.body if _binds(s, element) for n in all_nodes(s)]
    loads = [n for n in bound if isinstance(n, ast.Call) and kernel.tl(n) == "load"]
    wide = any(_binds(s, element) and ".float32)" in ast.unparse(s) for s in pair.first.node.body)
    if not all(_as_loaded(kernel, s.value, element) for s in pair.first.node.body if isinstance(s, ast.Assign) and _binds(s, element)):
        return False
    mask = difference.mask if difference.mask is not None else difference.late
    for load in loads:
        given = {k.arg: k.value for k in load.keywords} | dict(zip(("pointer", "mask", "other"), load.args, strict=False))
        if (given.get("mask") is None) != (mask is None) or (mask is not None and not _nothing(given.get("other", mask))):
            return False  # what is left out of the squares would count for the mean
        if mask is not None and _expanded(pair.first.node.body, given["mask"], {}) != _expanded(pair.second.node.body, mask, names):
            return False
        if not wide and any(d != "float32" for d in _dtypes(view, load)):
            return False  # differences of narrow elements would be rounded
    return bool(loads)


def _as_loaded(kernel: KernelView, node: ast.expr, element: str) -> bool:
    """The load itself, or the same in another type: of what is left out nothing is made."""
    inner = unconverted(node)
    return kernel.tl(inner) == "load" or (isinstance(inner, ast.Name) and inner.id == element)


def _dtypes(view: View, load: ast.Call) -> list[str]:
    """Types of the tensors that a load may reach, in the cases; "?" when there are none."""
    tokens = view.kernel.tokens(load.args[0])
    return [t["dtype"] for x in view.target_launches for name, t in x["tensors"].items() if name in tokens] or ["?"]


def _binds(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name


def _expanded(body: list[ast.stmt], node: ast.expr, names: dict[str, str]) -> str:
    """A mask's code, the name of one replaced by what it is bound to."""
    if isinstance(node, ast.Name):
        bound = [s.value for s in body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == node.id]
        node = bound[0] if len(bound) == 1 else node
    copy = expression_tree(ast.unparse(node))
    for n in all_nodes(copy):
        if isinstance(n, ast.Name):
            n.id = names.get(n.id, n.id)
    return ast.unparse(copy)
