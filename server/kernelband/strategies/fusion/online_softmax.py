"""``online_softmax``: the loop for a row's maximum and the loop for its sum of exponentials become one.

The sum belongs to the maximum so far and is rescaled whenever that grows (Milakov, Gimelshein 2018, algorithm 3):
``s = s * exp(m - new_m) + sum(exp(x - new_m))``. The maximum begins with the lowest float32 instead of -inf, or a block of nothing but -inf
would spoil the blocks that follow with exp(-inf + inf), which is not a number. A row of nothing but -inf is told behind the loop, where it
costs no element anything: its sum is still zero, while any other row's largest element has added exp(0).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, Module, View
from kernelband.strategies.code.blocks import names_bound, names_read, unconverted
from kernelband.strategies.code.reaching import masks_of
from kernelband.strategies.code.shapes import axis_of, shape_of, shapes
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.accumulate_late import Reduction, beginning, is_zero, reduction
from kernelband.strategies.fusion.merging import Pair, merged, moved_up, one_loop, pairs

LOWEST = "3.4028234e38"  # its negative is rounded to the lowest float32


class OnlineSoftmax:
    """One pass for maximum and sum; with the sum reduced in the loop, or once behind it."""

    name = "online_softmax"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


@frozen(eq=False)
class Online:
    """The first loop's maximum, the second one's sum, and the exponential that ties them."""

    largest: Reduction
    total: Reduction
    exp: ast.Call
    difference: ast.BinOp  # ``x - m``
    read: ast.Name  # of the maximum, in the second loop


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    if any(t["dtype"] == "float64" for x in view.target_launches for t in x["tensors"].values()):
        return  # it holds numbers below the lowest float32
    for pair in pairs(view):
        online = _online(kernel, pair)
        if online is None:
            continue
        for late in (True, False):
            edits = _edits(view, pair, online, late=late)
            if edits is not None:
                yield at.proposal(
                    {"line": pair.first.node.lineno - kernel.node.lineno, "sum": "behind" if late else "inside"},
                    [(module.path, e) for e in edits],
                    "reassociates",
                    f"{online.largest.name} and {online.total.name} come from one loop: the sum is rescaled when the maximum grows"
                    + (", and reduced once behind the loop." if late else "."),
                    "The second loop loads the whole row again, only because the maximum has to be known first.",
                )
        return


def _online(kernel: KernelView, pair: Pair) -> Online | None:
    maxima = [r for s in pair.first.node.body if (r := reduction(kernel, s)) is not None and r.combined == "max"]
    totals = [r for s in pair.second.node.body if (r := reduction(kernel, s)) is not None and r.combined == "sum"]
    for largest in maxima:
        in_first = [n for s in pair.first.node.body for n in all_nodes(s) if isinstance(n, ast.Name) and n.id == largest.name]
        reads = [n for s in pair.second.node.body for n in all_nodes(s) if isinstance(n, ast.Name) and n.id == largest.name]
        if len(in_first) != 2 or len(reads) != 1 or largest.name in kernel.parameters:
            continue
        for total in totals:
            found = _tied(kernel, pair, total, reads[0])
            if found is not None:
                return Online(largest, total, *found, reads[0])
    return None


def _tied(kernel: KernelView, pair: Pair, total: Reduction, read: ast.Name) -> tuple[ast.Call, ast.BinOp] | None:
    """``exp(x - m)`` and its difference, where all that comes of it is the total."""
    module = kernel.module
    around = [read, *module.around(read)]
    exp = next((n for n in around if isinstance(n, ast.Call) and kernel.tl(n) in ("exp", "exp2")), None)
    difference = next((n for n in around if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)), None)
    if exp is None or difference is None or len(exp.args) != 1 or exp.keywords:
        return None
    right = difference.right.value if isinstance(difference.right, ast.Subscript) else difference.right
    argument = exp.args[0]
    product = argument if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Mult) else None
    scaled = product is not None and product.left is difference and isinstance(product.right, ast.Constant)
    if right is not read or not (argument is difference or scaled):
        return None
    made = next(s for s in pair.second.node.body if exp in all_nodes(s))
    if made is total.statement:
        return (exp, difference) if _bare(kernel, total.value, exp, difference.left) else None
    # ``p = tl.exp(x - m)`` and then ``s += tl.sum(p, axis=0)``, where nothing else reads p
    if not isinstance(made, ast.Assign) or len(made.targets) != 1 or not isinstance(made.targets[0], ast.Name):
        return None
    name = made.targets[0].id
    own = [n for n in all_nodes(kernel.node) if isinstance(n, ast.Name) and n.id == name]
    direct = isinstance(total.value, ast.Name) and total.value.id == name and len(own) == 2
    return (exp, difference) if direct and _bare(kernel, made.value, exp, difference.left) else None


def _bare(kernel: KernelView, node: ast.expr, exp: ast.Call, of: ast.expr) -> bool:
    """The exponential itself, or ``tl.where(mask, exponential, 0.0)`` with the mask that what it is of was loaded with: where another one
    leaves out the largest, the sum says nothing of it.
    """
    if isinstance(node, ast.Call) and kernel.tl(node) == "where" and len(node.args) == 3:
        other = node.args[2]
        own = ast.unparse(node.args[0]) in masks_of(kernel, of)
        return node.args[1] is exp and isinstance(other, ast.Constant) and other.value in (0, 0.0) and own
    return node is exp


def _edits(view: View, pair: Pair, online: Online, *, late: bool) -> list[Edit] | None:
    kernel, module, tl = view.kernel, view.kernel.module, view.kernel.language
    largest, total = online.largest, online.total
    new = kernel.free_name(f"new_{largest.name}")
    begin = beginning(kernel, pair.first, largest.name, largest.statement)
    zero = beginning(kernel, pair.second, total.name, total.statement)
    finite = None if begin is None else _finite(kernel, begin)
    up = moved_up(kernel, pair, frozenset({largest.name}))
    first = None if up is None else merged(kernel, pair, {online.read: new}, set())
    indent, outer = module.indent(pair.first.node.body[-1]), module.indent(pair.first.node)
    if zero is None or not is_zero(kernel, zero) or finite is None or up is None or first is None or indent is None or outer is None:
        return None
    if axis_of(largest.call) != axis_of(total.call) or not largest.call.args:
        return None
    made = next(s for s in pair.second.node.body if online.difference in all_nodes(s))
    minuend = code_with(module, unconverted(online.difference.left), first.seen[made], {})
    if minuend != module.code(unconverted(largest.call.args[0])):
        return None  # of others' maximum, the difference may be so large that its exponential is infinite
    anew = {n for s in pair.second.node.body[: pair.second.node.body.index(made) + 1] for n in names_bound([s])} - {*first.seen[made]}
    if names_read(online.difference.left) & anew:
        return None  # something else of that name
    body, behind = first, list[str]()
    begins: dict[ast.AST, str] = {}
    if late:
        shape = shape_of(kernel, total.value, shapes(kernel))
        axis = axis_of(total.call)
        if not shape or isinstance(axis, str) or total.call is total.value:
            return None
        changes: dict[ast.AST, str] = {online.read: new}
        value = code_with(module, total.value, first.seen[total.statement], changes)
        changes = {total.call: value} if online.read in all_nodes(total.statement) else {total.call: value, online.read: new}
        again = merged(kernel, pair, changes, set())
        if again is None:
            return None
        body = again
        begins = {zero: f"{tl}.zeros([{', '.join(shape)}], dtype={tl}.float32)"}
        behind = [f"{outer}{total.name} = {tl}.sum({total.name}{'' if axis is None else f', axis={axis}'})"]
    if finite:
        behind += [outer + row for row in _only_infinities(kernel, pair, largest.name, total.name)]
    rescale = code_with(module, online.exp, {}, {online.difference: f"{largest.name} - {new}"})
    rows = [f"{indent}{total.name} *= {rescale}", *body.body, f"{indent}{largest.name} = {new}", *behind]
    edits = one_loop(kernel, pair, up, ahead=[], body=rows, new=begins)
    if edits is None or not isinstance(largest.statement, ast.Assign):
        return None
    if begins and not any(zero in all_nodes(s) for s in up):
        edits += [module.replace(zero, code) for code in begins.values()]
    return [*edits, module.replace(largest.statement.targets[0], new), *finite]


def _finite(kernel: KernelView, begin: ast.expr) -> list[Edit] | None:
    """The edits that make a maximum begin with a finite number instead of -inf; None where it isn't understood."""
    module = kernel.module
    edits: list[Edit] = []
    for node in (n for n in all_nodes(begin) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "float"):
        negated = isinstance(sign := module.parents.get(node), ast.UnaryOp) and isinstance(sign.op, ast.USub)
        given = node.args[0].value if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) else None
        if given != ("inf" if negated else "-inf"):
            return None
        edits.append(module.replace(node, str(given).replace("inf", LOWEST)))
    if not edits:
        return [] if all(isinstance(n, ast.Constant | ast.UnaryOp | ast.USub) for n in all_nodes(begin)) else None
    statement = next((n for n in module.around(begin) if isinstance(n, ast.stmt)), None)
    note = None if statement is None else module.after(statement, [])
    if statement is not None and note is not None and note.span.start == module.span(statement).end:
        edits.append(Edit(note.span, "  # finite: exp(-inf + inf) is not a number"))
    return edits


def _only_infinities(kernel: KernelView, pair: Pair, largest: str, total: str) -> list[str]:
    """The lines that give a row of nothing but -inf, or of nothing, the maximum and the sum that two loops give it."""
    tl, found, loop = kernel.language, kernel.free_name("only_inf"), pair.first
    stop = kernel.module.code(loop.stop)
    start = "0" if loop.start is None else kernel.module.code(loop.start)
    some = " & ".join([found, f"({stop} > {start})"])
    inside = {n for loop in (pair.first, pair.second) for n in all_nodes(loop.node)}
    outside = [n for n in all_nodes(kernel.node) if isinstance(n, ast.Name) and n.id == largest and n not in inside]
    read = any(isinstance(n.ctx, ast.Load) for n in outside)
    return [
        f"{found} = ({largest} == -{LOWEST}) & ({total} == 0.0)",
        *([f'{largest} = {tl}.where({found}, float("-inf"), {largest})'] if read else []),
        f'{total} = {tl}.where({some}, float("nan"), {total})  # the sum of exp(-inf + inf)',
    ]


def code_with(module: Module, node: ast.expr, names: dict[str, str], new: dict[ast.AST, str]) -> str:
    """The code of an expression with names and nodes replaced."""
    changes = dict(new)
    for n in all_nodes(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in new and names.get(n.id, n.id) != n.id:
            changes[n] = names[n.id]
    whole = module.span(node)
    out, at = "", whole.start
    found = [(module.span(n), c) for n, c in changes.items() if isinstance(n, ast.expr) and n in all_nodes(node)]
    for span, code in sorted(found, key=lambda each: (each[0].start, -each[0].end)):  # a whole before its first part
        if span.start >= at:
            out, at = out + module.text[at : span.start] + code, span.end
    return out + module.text[at : whole.end]
