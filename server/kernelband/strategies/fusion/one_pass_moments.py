"""``one_pass_moments``: the loop for a mean and the loop for the variance about it become one that sums differences and their squares.

The differences are taken from the row's first element instead of from the mean, which isn't known yet: with d = x - shift,
mean = shift + sum(d) / N and var = sum(d * d) / N - (sum(d) / N) ** 2. Without the shift, rows whose mean is large beside their spread
would lose most digits of the variance (Chan, Golub, LeVeque 1983, section 3).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import expression_tree
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, View
from kernelband.strategies.code.blocks import lines, names_read
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
                        "Mean and variance are collected in one loop, as sums of differences from the row's first element.",
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
    reads = [n for s in pair.second.node.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == mean]
    made = [s for s in pair.second.node.body if isinstance(s, ast.Assign) and any(n in reads for n in ast.walk(s))]
    if len(reads) != 1 or len(made) != 1 or ast.unparse(made[0].targets[0]) != holder or len(made[0].targets) != 1:
        return None
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
    last = [(s, n) for s in pair.behind for n in ast.walk(s) if _average(kernel, n, square.name) == size]
    reads = [n for s in (*pair.between, *pair.behind) for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == square.name]
    if difference is None or len(last) != 1 or sum(isinstance(n.ctx, ast.Load) for n in reads) != 1:
        return None
    if not isinstance(total.value, ast.Name) or not isinstance(last[0][1], ast.BinOp):
        return None
    shift, delta = kernel.free_name("shift"), kernel.free_name("delta")
    up = moved_up(kernel, pair, frozenset({name}))
    body = None if up is None else merged(kernel, pair, {difference.node.right: shift}, set())
    first = None if body is None else _first_element(kernel, pair, total.value.id)
    if up is None or body is None or first is None or not _same(view, pair, body, total.value.id, difference):
        return None
    held = difference.holder
    if difference.late is not None:
        held = f"{kernel.language}.where({module.code(difference.late)}, {held}, 0.0)"
    # The sum of the differences takes the place of the sum of the elements, at the end of the loop's body.
    step, line, indent = module.code(total.statement), lines(module, total.statement), module.indent(total.statement)
    if line is None or indent is None or len(step.splitlines()) != 1:
        return None
    cut = module.span(total.value).start - module.span(total.statement).start
    rows = [*body.body, indent + step[:cut] + held + step[cut + len(total.value.id) :]]
    ahead = [
        "# Mean and variance in one pass: differences from the row's first element, so that a large mean costs no digits.",
        f"{shift} = {first}",
    ]
    at_end = total.statement is pair.first.node.body[-1]
    edits = one_loop(kernel, pair, up, ahead=ahead, body=[] if at_end else rows)
    variance = f"{module.code(last[0][1])} - {delta} * {delta}"
    outside = module.parents.get(last[0][1])
    first_term = isinstance(outside, ast.BinOp) and isinstance(outside.op, ast.Add | ast.Sub) and outside.left is last[0][1]
    whole = first_term or isinstance(outside, ast.Assign | ast.Call)
    named = module.before(statement, [f"{delta} = {module.code(statement.value)}"])
    if edits is None or named is None:
        return None
    return [
        *edits,
        Edit(line, "".join(row + module.newline for row in rows) if at_end else ""),
        named,
        module.replace(statement.value, f"{shift} + {delta}"),
        module.replace(last[0][1], variance if whole else f"({variance})"),
    ]


def _same(view: View, pair: Pair, body: Merged, element: str, difference: Difference) -> bool:
    """Both loops are about the same elements, and about the same of them: no mask, or the load's, which fills with zeros. In float32."""
    kernel = view.kernel
    made = next(s for s in pair.second.node.body if any(n is difference.node for n in ast.walk(s)))
    names = body.seen.get(made, {})
    if not isinstance(difference.node.left, ast.Name) or names.get(difference.node.left.id) != element:
        return False
    bound = [n for s in pair.first.node.body if _binds(s, element) for n in ast.walk(s)]
    loads = [n for n in bound if isinstance(n, ast.Call) and kernel.tl(n) == "load"]
    wide = any(_binds(s, element) and ".float32)" in ast.unparse(s) for s in pair.first.node.body)
    mask = difference.mask if difference.mask is not None else difference.late
    for load in loads:
        given = {k.arg: k.value for k in load.keywords} | dict(zip(("pointer", "mask", "other"), load.args, strict=False))
        if (given.get("mask") is None) != (mask is None):
            return False
        if mask is not None and _expanded(pair.first.node.body, given["mask"], {}) != _expanded(pair.second.node.body, mask, names):
            return False
        if not wide and any(d != "float32" for d in _dtypes(view, load)):
            return False  # differences of narrow elements would be rounded
    return bool(loads)


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
    for n in ast.walk(copy):
        if isinstance(n, ast.Name):
            n.id = names.get(n.id, n.id)
    return ast.unparse(copy)


def _first_element(kernel: KernelView, pair: Pair, element: str) -> str | None:
    """Code of the row's first element: the load of ``element`` without its mask, at the loop's first index."""
    bound = [s for s in pair.first.node.body if _binds(s, element)]
    start = pair.first.start
    if len(bound) != 1 or not isinstance(bound[0], ast.Assign) or (start is not None and ast.unparse(start) != "0"):
        return None
    value = bound[0].value
    module = kernel.module
    inside = names_read(value)
    pieces: list[tuple[int, int, str]] = []
    for load in (n for n in ast.walk(value) if isinstance(n, ast.Call) and kernel.tl(n) == "load"):
        kept: list[str] = []
        for term in _terms(load.args[0]):
            index = _index(kernel, pair, term)
            if index is None:
                return None
            if not index:
                kept.append(module.code(term))
        if not kept:
            return None
        span = module.span(load)
        pieces.append((span.start, span.end, f"{kernel.language}.load({' + '.join(kept)})"))
        inside -= names_read(load)
    local = {n for s in pair.first.node.body for n in names_of(s)} | {pair.first.variable}
    if not pieces or (inside - {kernel.language}) & local:
        return None
    whole = module.span(value)
    out, at = "", whole.start
    for begin, end, code in sorted(pieces):
        out += module.text[at:begin] + code
        at = end
    out += module.text[at : whole.end]
    return None if "\n" in out else out


def names_of(statement: ast.stmt) -> list[str]:
    """Names that a straight statement binds."""
    return [ast.unparse(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []


def _terms(node: ast.expr) -> list[ast.expr]:
    """The summands of a pointer."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _index(kernel: KernelView, pair: Pair, term: ast.expr) -> bool | None:
    """Whether a summand is the walking index, 0 at the first element; None where it is something else that depends on the loop."""
    tokens = kernel.tokens(term)
    if not any(t.startswith("#") or t == f"~{pair.first.variable}" for t in tokens):
        return False
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult):
        sides = [term.left, term.right]
        walking = [s for s in sides if any(t.startswith(("#", "~")) for t in kernel.tokens(s))]
        return _index(kernel, pair, walking[0]) if len(walking) == 1 else None
    if isinstance(term, ast.Name) and term.id != pair.first.variable:
        bound = kernel.bindings(term.id)
        values = {ast.unparse(s.value) for s in bound if isinstance(s, ast.Assign)}
        same = len(values) == 1 and all(isinstance(s, ast.Assign) for s in bound)
        return _index(kernel, pair, next(s.value for s in bound if isinstance(s, ast.Assign))) if same else None
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add):
        return True if all(_index(kernel, pair, t) for t in _terms(term)) else None
    if kernel.tl(term) == "arange" and isinstance(term, ast.Call):
        return True if term.args and ast.unparse(term.args[0]) == "0" else None
    return True if isinstance(term, ast.Name) else None
