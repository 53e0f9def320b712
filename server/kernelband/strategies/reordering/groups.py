"""Whether a group size only says in which order programs take their tiles: tried out on small grids, in the kernel's own arithmetic.

A name with GROUP in it may as well be the group of a quantisation. What counts is what becomes of it: whole numbers that are made of it and
the program's number, and that for every group size take the same values over all programs, each as often.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import product
from math import prod

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.quotients import divisor

TRIED = (1, 2, 3, 4, 6)  # tiles along either side
FEW = (1, 2, 3)  # where there are more than two sizes
MOST_FREE = 4  # sizes that grids are made of
BLOCKS = (3, 4, 5)  # elements: none is one, and no two are alike
OTHERS = (1, 2, 8)  # for constexprs that are no blocks, such as a group's size


@frozen(eq=False)
class Indices:
    """``pid``: the name of the program's number; ``steps``: assignments from it to the indices, which ``out`` names."""

    pid: str
    steps: list[ast.Assign]
    out: list[str]


def only_orders(view: View, name: str, sizes: Sequence[int]) -> bool:
    """Whether the constexpr of that name does nothing but deal out tiles in another order, for any of these sizes."""
    kernel = view.kernel
    indices, counts = _indices(kernel, name), _counts(view)
    if indices is None or not counts:
        return False
    tries = _tries(kernel, indices, counts, frozenset({name}))
    if tries is None:
        return False
    for known in tries:
        for count in counts:
            total = _value(kernel, count, known)
            if total is None:
                return False
            dealt = [_dealt(kernel, indices, {**known, name: size}, total) for size in (1, *sizes)]
            if any(d is None or d != dealt[0] for d in dealt):
                return False
    return True


def stays_below(view: View, number: ast.expr, size: str, block: str) -> bool:
    """Whether a number that is made of the program's is below ``size / block`` in every program, where that is a whole number."""
    kernel, counts = view.kernel, _counts(view)
    bound = [s for s in kernel.nodes if isinstance(s, ast.Assign) and s.value is number and len(bound_names(s)) == 1]
    if len(bound) != 1 or not counts:
        return False
    name = bound_names(bound[0])[0]
    steps = _steps(kernel, name)
    tries = _tries(kernel, steps, counts, frozenset()) if steps is not None else None
    if steps is None or tries is None:
        return False
    for known in tries:
        if known.get(size, 1) % known.get(block, 1):
            continue
        for count in counts:
            total = _value(kernel, count, known)
            dealt = None if total is None else _dealt(kernel, steps, known, total)
            if dealt is None or size not in known or any(not 0 <= values[0] < known[size] // known[block] for values in dealt):
                return False
    return True


def _tries(kernel: KernelView, indices: Indices, counts: Sequence[ast.expr], varied: Set[str]) -> list[dict[str, int]] | None:
    """Small numbers for what the arithmetic reads, but for ``varied``; None where it reads what isn't passed. Blocks have several
    elements, each another number of them, and lengths are whole blocks or one element short of it: no count is taken for another.
    """
    code = [n for whole in (*(s.value for s in indices.steps), *counts) for n in all_nodes(whole)]
    called = {n for c in code if isinstance(c, ast.Call) for n in all_nodes(c.func)}
    free = {n.id for n in code if isinstance(n, ast.Name) and n not in called}
    # A parameter that the kernel binds anew, in its own block, is what was passed until then.
    anew = {n for s in indices.steps for n in bound_names(s) if n in kernel.parameters and s in kernel.node.body}
    free -= {indices.pid, *varied, *({n for s in indices.steps for n in bound_names(s)} - anew)}
    quotients = [p for n in code if isinstance(n, ast.expr) and (p := divisor(n)) is not None]
    blocks = sorted({ast.unparse(block) for _, block in quotients} & free & kernel.constexprs)
    sized = dict(zip(blocks, BLOCKS, strict=False))
    of: dict[str, set[str]] = {}
    for length, block in quotients:
        for n in all_nodes(length):
            if isinstance(n, ast.Name) and n.id in free - kernel.constexprs and ast.unparse(block) in sized:
                of.setdefault(n.id, set()).add(ast.unparse(block))
    others = sorted(free & kernel.constexprs - {*blocks})
    lengths = sorted(free - kernel.constexprs)
    if (
        len(blocks) > len(BLOCKS)
        or len(lengths) + len(others) > MOST_FREE
        or not all(n in kernel.parameters and (n in anew or not kernel.bindings(n)) for n in free)
    ):
        return None
    units = {n: prod(sized[block] for block in found) for n, found in of.items()}
    found: list[dict[str, int]] = []
    for values in product(TRIED if len(lengths) <= 2 else FEW, repeat=len(lengths)):
        for short in product(*((0, 1) if n in units else (0,) for n in lengths)):
            given = {n: v * units.get(n, 1) - less for n, v, less in zip(lengths, values, short, strict=True)}
            extras = [dict(zip(others, extra, strict=True)) for extra in product(OTHERS, repeat=len(others))]
            found += [{**sized, **given, **extra} for extra in extras]
    return found


def _indices(kernel: KernelView, name: str) -> Indices | None:
    """The whole numbers made of the group size; None where it goes into anything else, or the program's number isn't clear."""
    pid = _only_id(kernel)
    if pid is None:
        return None
    assignments = _whole_numbers(kernel, pid)
    grouped = {name}
    for step in assignments:
        read = {n.id for n in all_nodes(step.value) if isinstance(n, ast.Name)}
        if read & grouped:
            grouped |= set(bound_names(step))
    steps = _leading_to(assignments, grouped)
    inside = {n for s in steps for n in all_nodes(s)}
    elsewhere = [n for n in kernel.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in inside]
    out = sorted({n.id for n in elsewhere if n.id in grouped})
    once = all(len(kernel.bindings(n)) == 1 for s in steps for n in bound_names(s)) and len(kernel.bindings(pid)) == 1
    # The program's number itself must tell nothing else: a program with another tile has another number.
    numbered = any(n.id == pid for n in elsewhere)
    return Indices(pid, steps, out) if once and out and name not in out and not numbered else None


def _steps(kernel: KernelView, name: str) -> Indices | None:
    """How a number is made of the program's, each name on the way bound once."""
    pid = _only_id(kernel)
    if pid is None:
        return None
    steps = _leading_to(_whole_numbers(kernel, pid), {name})
    once = all(len(kernel.bindings(n)) == 1 for s in steps for n in (*bound_names(s), pid))
    return Indices(pid, steps, [name]) if once and any(name in bound_names(s) for s in steps) else None


def _only_id(kernel: KernelView) -> str | None:
    """The name of the program's number, where there is one, along axis 0."""
    pids = [s for s in kernel.nodes if isinstance(s, ast.Assign) and kernel.tl(s.value) == "program_id" and len(bound_names(s)) == 1]
    return bound_names(pids[0])[0] if len(pids) == 1 and kernel.tokens(pids[0].value) == frozenset({"@0"}) else None


def _whole_numbers(kernel: KernelView, pid: str) -> list[ast.Assign]:
    """Assignments of whole numbers to one name, but the program's, in the order of the text."""
    found = [s for s in kernel.nodes if isinstance(s, ast.Assign) and len(bound_names(s)) == 1 and bound_names(s) != [pid]]
    return sorted((s for s in found if _whole(kernel, s.value)), key=lambda s: s.lineno)


def _leading_to(assignments: Sequence[ast.Assign], names: Set[str]) -> list[ast.Assign]:
    wanted, steps = set(names), list[ast.Assign]()
    for step in reversed(assignments):
        if set(bound_names(step)) & wanted:
            steps.insert(0, step)
            wanted |= {n.id for n in all_nodes(step.value) if isinstance(n, ast.Name)}
    return steps


def _whole(kernel: KernelView, node: ast.expr) -> bool:
    """Arithmetic of whole numbers."""
    if isinstance(node, ast.Name):
        return not any(t.startswith("#") for t in kernel.tokens(node))
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod) and all(
            _whole(kernel, n) for n in (node.left, node.right)
        )
    if isinstance(node, ast.Call) and not node.keywords:
        return _named(kernel, node) in ("min", "max", "cdiv") and len(node.args) == 2 and all(_whole(kernel, a) for a in node.args)
    return False


def _named(kernel: KernelView, call: ast.Call) -> str | None:
    """What two numbers become, Python's or the language's way: "min", "max" or "cdiv"."""
    name = kernel.tl(call)
    if name is None:
        return call.func.id if isinstance(call.func, ast.Name) else None
    return {"minimum": "min", "maximum": "max", "cdiv": "cdiv"}.get(name)


def _value(kernel: KernelView, node: ast.expr, known: Mapping[str, int]) -> int | None:
    """What the arithmetic comes to; None for what isn't known, or a division by nothing."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    inside = [node.left, node.right] if isinstance(node, ast.BinOp) else node.args if isinstance(node, ast.Call) else []
    values = [_value(kernel, n, known) for n in inside]
    if len(values) != 2 or values[0] is None or values[1] is None:
        return None
    left, right = values[0], values[1]
    if isinstance(node, ast.Call):
        named = _named(kernel, node)
        if named == "cdiv":
            return -(-left // right) if right else None
        return min(left, right) if named == "min" else max(left, right)
    match node:
        case ast.BinOp(op=ast.Add()):
            return left + right
        case ast.BinOp(op=ast.Sub()):
            return left - right
        case ast.BinOp(op=ast.Mult()):
            return left * right
        case ast.BinOp(op=ast.FloorDiv()):
            return left // right if right > 0 and left >= 0 else None
        case _:
            return left % right if right > 0 and left >= 0 else None


def _dealt(kernel: KernelView, indices: Indices, known: Mapping[str, int], total: int) -> Counter[tuple[int, ...]] | None:
    """What the indices are over all programs, and how often each."""
    found: Counter[tuple[int, ...]] = Counter()
    for pid in range(total):
        values = {**known, indices.pid: pid}
        for step in indices.steps:
            value = _value(kernel, step.value, values)
            if value is None:
                return None
            values[bound_names(step)[0]] = value
        found[tuple(values[n] for n in indices.out)] += 1
    return found


def _counts(view: View) -> list[ast.expr]:
    """The number of programs of each launch in the kernel's words; nothing where one can't be said."""
    found: list[ast.expr] = []
    for launch in view.launches if view.whole else ():
        sides = launch.sides() or [launch.grid]
        said = _said(view, launch, sides[0])
        if said is None:
            return []
        found.append(said)
    return found


def _said(view: View, launch: LaunchView, node: ast.expr) -> ast.expr | None:
    bound = launch.bindings(node.id) if isinstance(node, ast.Name) else []
    if len(bound) == 1 and isinstance(bound[0], ast.Assign) and len(bound[0].targets) == 1 and isinstance(bound[0].targets[0], ast.Name):
        return _said(view, launch, bound[0].value)
    pair = divisor(node)
    if pair is not None:
        size, block = launch.parameter_of(pair[0]), launch.parameter_of(pair[1])
        if isinstance(pair[1], ast.Subscript) and isinstance(pair[1].slice, ast.Constant):
            block = str(pair[1].slice.value)
        if size is None or block is None:
            return None
        cdiv = ast.Attribute(ast.Name(view.kernel.language), "cdiv")
        return ast.Call(cdiv, [ast.Name(size), ast.Name(block)], [])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _said(view, launch, node.left), _said(view, launch, node.right)
        return None if left is None or right is None else ast.BinOp(left, ast.Mult(), right)
    name = launch.parameter_of(node)
    return None if name is None else ast.Name(name)
