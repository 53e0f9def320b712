"""Which kernels take several rows as one two-dimensional block: a name of a program id becomes a column, each ``arange`` a row. Where there
is no ``arange``, a program takes single elements, and several of them are one line.

Everything else then follows by broadcasting, as long as the body is element-wise operations and sums, maxima and minima over the row.
A loop is fine when its bounds are the same for all rows, and what it carries from one turn to the next is a block from the start, or a
number that begins as a float: that becomes a column.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import View
from kernelband.strategies.code.affine import Numbers, known_in
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import exposed, names_bound
from kernelband.strategies.code.elementwise import CASTS, compile_time, is_elementwise
from kernelband.strategies.code.kernel import RANGES, KernelView
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.shapes import Shape, shape_of, shapes

MEMORY = frozenset({"load", "store"})
OVER_ROW = frozenset({"sum", "max", "min"})
FILLED = frozenset({"zeros", "full"})
LEAST, MOST = 2.0**-126, 2.0**127  # of float32
NEVER = ast.While | ast.Subscript | ast.Return | ast.NamedExpr | ast.Break | ast.Continue
DECIDED = ast.If | ast.IfExp | ast.BoolOp  # fine where the compiler decides them


@frozen(eq=False)
class Row:
    """The parts of a row-wise kernel that change. ``name`` is the row's, bound once, to the program id of ``axis``."""

    pid: ast.Call
    name: str
    axis: int
    shared: bool  # some load is the same for all rows along this axis
    columns: list[ast.Call]
    reductions: list[ast.Call]
    filled: list[ast.expr]  # the only side of a one-dimensional block that is made of a number
    starts: list[ast.expr]  # numbers that loops go on with


def row_kernels(view: View) -> list[Row]:
    """One for each axis of the grid that can become a column; those with loads to share first."""
    kernel = view.kernel
    if not view.whole or len(kernel.accesses()) != len(kernel.calls({"load", "store"})):
        return []
    found = [r for call in kernel.ids if (r := _along(view, call)) is not None]
    return sorted(found, key=lambda r: not r.shared)


def length(view: View) -> int:
    """Elements of a row's block in the cases, the most; 0 when unknown."""
    calls = [c for c in view.kernel.calls({"arange"}) if len(c.args) == 2]
    found = [Numbers(view.kernel, known).read(calls[0].args[1], calls[0]) for known in known_in(view)] if calls else []
    return max((f.get("", 0) for f in found if f is not None and f.keys() <= {""}), default=0)


def axis_token(row: Row) -> str:
    """How the kernel's dependence names the program id of the row."""
    return f"@{row.axis}"


def reduced_axis(call: ast.Call) -> ast.expr | None:
    """What a reduction was given as its axis."""
    return call.args[1] if len(call.args) == 2 else next((k.value for k in call.keywords if k.arg == "axis"), None)


def _along(view: View, pid: ast.Call) -> Row | None:
    kernel = view.kernel
    axes = [next(iter(kernel.tokens(c))) for c in kernel.ids]
    token = next(iter(kernel.tokens(pid)))
    name = _named(kernel, pid)
    columns = kernel.calls({"arange"})
    if name is None or token not in ("@0", "@1", "@2") or axes.count(token) != 1 or any(len(c.args) != 2 or c.keywords for c in columns):
        return None
    sides = {ast.unparse(c.args[1]): kernel.tokens(c.args[1]) for c in columns}
    if len(sides) > 1 or not all(s and s <= kernel.constexprs for s in sides.values()):
        return None
    block = next(iter(sides), "")
    reductions: list[ast.Call] = []
    filled: list[ast.expr] = []
    starts: list[ast.expr] = []
    for node in (n for s in kernel.node.body for n in all_nodes(s)):
        if isinstance(node, NEVER) or (isinstance(node, DECIDED) and not compile_time(kernel, _decided_by(node))):
            return None
        if isinstance(node, ast.For):
            begun = _even(kernel, node, token)
            if begun is None:
                return None
            starts += begun
        if not isinstance(node, ast.Call) or node in columns or node in kernel.ids:
            continue
        called = kernel.tl(node)
        if called in OVER_ROW:
            if not _over_row(node):
                return None
            reductions.append(node)
        elif called in FILLED:
            side = _only_side(node, block)
            if side is None:
                return None
            filled.append(side)
        elif called == "num_programs":
            axis = integer(node.args[0]) if len(node.args) == 1 and not node.keywords else None
            if axis is None or axis == int(token[1:]):  # there will be fewer
                return None
        elif called == "cdiv" and not any(t == token or t.startswith("#") for t in kernel.tokens(node)):
            continue  # a number of blocks, the same for all rows
        elif called not in MEMORY and called not in RANGES and not _plain(node) and not is_elementwise(view, node):
            return None
    accesses = kernel.accesses()
    if any(a.store and token not in a.depends for a in accesses) or not _same_shapes(kernel, token, starts):
        return None
    shared = any(not a.store and token not in a.depends for a in accesses)
    return Row(pid, name, int(token[1:]), shared, columns, reductions, filled, list(dict.fromkeys(starts)))


def _named(kernel: KernelView, pid: ast.Call) -> str | None:
    """The name that is bound to the program id, converted or not, and to nothing else."""
    node = kernel.module.parents[pid]
    if isinstance(node, ast.Attribute) and node.attr in CASTS:
        call = kernel.module.parents[node]
        node = kernel.module.parents[call] if isinstance(call, ast.Call) and call.func is node else node
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    name = node.targets[0].id
    return name if len(kernel.bindings(name)) == 1 else None


def _decided_by(node: ast.If | ast.IfExp | ast.BoolOp) -> ast.expr:
    return node if isinstance(node, ast.BoolOp) else node.test


def _even(kernel: KernelView, loop: ast.For, token: str) -> list[ast.expr] | None:
    """The numbers that a counted loop with the same bounds for all rows goes on with; None where it isn't one, or carries anything else.

    What it carries beside them are blocks, changed in place.
    """
    call = loop.iter
    if loop.orelse or not isinstance(call, ast.Call) or not isinstance(loop.target, ast.Name):
        return None
    counted = (isinstance(call.func, ast.Name) and call.func.id == "range") or kernel.tl(call) in RANGES
    bounds = frozenset[str]().union(*(kernel.tokens(a) for a in [*call.args, *(k.value for k in call.keywords)]))
    if not counted or any(t == token or t.startswith("#") for t in bounds):
        return None
    inside = {n for s in loop.body for n in all_nodes(s)}
    starts: list[ast.expr] = []
    known = shapes(kernel)
    bound = names_bound(loop.body)
    filled_before = {n for n in bound if any(b not in inside and _filled(kernel, b) for b in kernel.bindings(n))}
    for name in (exposed(loop.body) & bound) | filled_before:
        bindings = kernel.bindings(name)
        before = [b for b in bindings if b not in inside]
        after = [b for b in bindings if b in inside]
        begin = before[0].value if len(before) == 1 and isinstance(before[0], ast.Assign) and bound_names(before[0]) == [name] else None
        if begin is not None and _number(begin) and all(_scalar(kernel, b, name, token, known) for b in after):
            starts.append(begin)
            continue
        filled = [b.value for b in before if isinstance(b, ast.Assign) and _filled(kernel, b)]
        if not filled or len(filled) < len(before):
            return None
        if not all(isinstance(b, ast.AugAssign) or _block(kernel, b, filled[0], token, known) for b in after):
            return None
    return starts


def _filled(kernel: KernelView, bound: ast.stmt) -> bool:
    return isinstance(bound, ast.Assign) and kernel.tl(bound.value) in FILLED


def _number(node: ast.expr) -> bool:
    """A float as it is written, that float32 holds: ``0.0``, ``-float("inf")``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _number(node.operand)
    infinite = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"
    value = node.value if isinstance(node, ast.Constant) and type(node.value) is float else None
    return infinite or (value is not None and (value == 0.0 or LEAST <= abs(value) <= MOST))


def _scalar(kernel: KernelView, bound: ast.stmt, name: str, token: str, known: dict[str, Shape]) -> bool:
    """Gives the name one number for each row: what the row is reduced to, or made of the number so far."""
    if not isinstance(bound, ast.Assign | ast.AugAssign) or bound_names(bound) != [name]:
        return False
    return shape_of(kernel, bound.value, known) == () and token in kernel.tokens(bound.value)


def _block(kernel: KernelView, bound: ast.stmt, filled: ast.expr, token: str, known: dict[str, Shape]) -> bool:
    """Gives a name that began as a filled block another one of that shape, of each row's own: ``acc = acc * old + new``."""
    names = bound_names(bound)
    if not isinstance(bound, ast.Assign) or len(names) != 1:
        return False
    had = shape_of(kernel, filled, known)
    gets = shape_of(kernel, bound.value, known if had is None else {**known, names[0]: had})
    own = token in kernel.tokens(bound.value) or any(isinstance(n, ast.Name) and n.id == names[0] for n in all_nodes(bound.value))
    return bool(had) and had == gets and own


def _same_shapes(kernel: KernelView, token: str, starts: list[ast.expr]) -> bool:
    """A name that is bound several times in one run depends on the row each time or never, else its shape would change."""
    kinds: dict[str, set[tuple[bool, bool]]] = {}
    looped = any(isinstance(n, ast.For) for n in all_nodes(kernel.node))
    for name, value in ((n, v) for n, v in _assigned(kernel) if v not in starts):
        tokens = kernel.tokens(value)
        kinds.setdefault(name, set()).add((token in tokens, any(t.startswith("#") for t in tokens)))
    grown = {
        n for x in all_nodes(kernel.node) if isinstance(x, ast.AugAssign) for n in bound_names(x) if token in kernel.depends.get(n, ())
    }
    widened = any((False, lanes) in kinds.get(n, ()) for n in grown for lanes in (False, True))  # one row at first, then several
    return not looped or (not widened and all(len(k) == 1 for k in kinds.values()))


def _assigned(kernel: KernelView) -> Iterator[tuple[str, ast.expr]]:
    for node in all_nodes(kernel.node):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and kernel.tl(node.value) not in FILLED:
            for name in bound_names(node):
                yield name, node.value


def _plain(call: ast.Call) -> bool:
    """``float("inf")`` and the call of a loop."""
    return isinstance(call.func, ast.Name) and call.func.id in ("float", "range")


def _over_row(call: ast.Call) -> bool:
    """A reduction of one argument over axis 0 or all axes, without further options."""
    axis = reduced_axis(call)
    known = axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)
    return 1 <= len(call.args) <= 2 and all(k.arg == "axis" for k in call.keywords) and known and not isinstance(call.args[0], ast.Starred)


def _only_side(call: ast.Call, block: str) -> ast.expr | None:
    """BLOCK of ``tl.zeros([BLOCK], ...)``."""
    shape = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "shape"), None)
    if isinstance(shape, ast.Tuple | ast.List) and len(shape.elts) == 1 and ast.unparse(shape.elts[0]) == block:
        return shape.elts[0]
    return None
