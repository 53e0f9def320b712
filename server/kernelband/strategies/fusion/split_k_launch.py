"""The host's side of ``split_k``: how many programs share a tile, the float32 parts that they store, and the sum of these."""

from __future__ import annotations

import ast

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes, syntax_tree
from kernelband.strategies.code import LaunchView, View
from kernelband.strategies.code.blocks import siblings
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import atom
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.fusion.partial_sums import added_up, torch_name

SPLIT, STRIDE = "SPLIT_K", "stride_split"
TILES, PARTS = "tiles", "parts"
#: What makes a new, contiguous tensor, and the method that makes the parts as it was made.
MAKERS = {"empty": "new_empty", "zeros": "new_zeros"}
HARMLESS = frozenset({"shape", "size", "stride", "numel", "dtype", "device", "element_size", "ndim", "dim"})
MOST_AXES = 3


def new_axis(launch: LaunchView) -> int | None:
    """The first axis that the grid doesn't have; None when it has all, or can't be told or changed for this launch alone."""
    sides = launch.sides()
    return len(sides) if sides and len(sides) < MOST_AXES and launch.own_grid else None


def host_edits(view: View, out: str, split: int, walk: tuple[str, int]) -> Edits | None:
    """The edits that have ``split`` programs share a tile where tiles are few and what is passed for ``walk[0]`` is at least ``walk[1]``.

    None where the result isn't a new tensor of the host function's own, laid out as the parts will be.
    """
    launch = view.launches[0]
    module, torch, statement = launch.module, torch_name(launch), launch.module.parents.get(launch.call)
    result, size, count = launch.arguments.get(out), launch.arguments.get(walk[0]), _count(launch)
    if torch is None or launch.host is None or not isinstance(statement, ast.Expr) or size is None or count is None:
        return None
    if not isinstance(result, ast.Name):
        return None
    tiles, grid = count
    maker, at = _maker(launch, result, statement, torch), _place(launch, statement, f"({tiles}, {ast.unparse(size)})")
    added = None if launch.splat else launch.add_arguments([f"{STRIDE}={result.id}.numel()", f"{SPLIT}={SPLIT}"])
    if maker is None or at is None or added is None or _taken(launch):
        return None
    named = tiles.isidentifier()
    few = f"{tiles if named else TILES} < {view.facts.device.multiprocessors}"
    head = [
        *([] if named else [f"{TILES} = {tiles}"]),
        f"# Few tiles and a long {walk[0]}: several programs share a tile, so that all multiprocessors have work.",
        f"{SPLIT} = {split} if {few} and {atom(size)} >= {walk[1]} else 1",
    ]
    parts = f"{PARTS} = {result.id}.{maker}(({SPLIT}, *{result.id}.shape), dtype={torch}.float32) if {SPLIT} > 1 else {result.id}"
    total = [f"if {SPLIT} > 1:", f"{module.unit}{added_up(launch, PARTS, result.id, torch)}"]
    placed = [module.before(statement, [*head, parts])] if at is statement else [module.before(at, head), module.before(statement, [parts])]
    edits = [*placed, module.after(statement, total), module.replace(result, PARTS), *grid]
    return None if any(e is None for e in edits) else [*added, *((module.path, e) for e in edits if e is not None)]


def _taken(launch: LaunchView) -> bool:
    """The host function has one of the new names already."""
    inside = list(all_nodes(launch.host or launch.module.tree))
    names = {n.id for n in inside if isinstance(n, ast.Name)} | {a.arg for a in inside if isinstance(a, ast.arg)}
    return bool(names & {SPLIT, TILES, PARTS})


def _maker(launch: LaunchView, result: ast.Name, statement: ast.stmt, torch: str) -> str | None:
    """The method that makes the parts; None unless the host function makes the result itself, contiguous, and reads it after the launch."""
    module, bound = launch.module, launch.bindings(result.id)
    first = bound[0] if len(bound) == 1 else None
    call = first.value if isinstance(first, ast.Assign) and [ast.unparse(t) for t in first.targets] == [result.id] else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or first not in _ahead(launch, statement):
        return None
    start, end = module.span(call).end, module.span(statement).end
    reads = [n for n in all_nodes(launch.host or module.tree) if isinstance(n, ast.Name) and n.id == result.id and n is not result]
    early = [n for n in reads if start < module.span(n).start < end]
    if any(not isinstance(p := module.parents.get(n), ast.Attribute) or p.attr not in HARMLESS for n in early):
        return None
    maker = MAKERS.get(call.func.attr, "") if ast.unparse(call.func.value) == torch else call.func.attr
    return maker if maker in MAKERS.values() and not any(k.arg in (None, "out", "memory_format") for k in call.keywords) else None


def _ahead(launch: LaunchView, statement: ast.stmt) -> list[ast.stmt]:
    """Statements that have been done once, whenever the launch is: those before it and before the branches that it stands in."""
    found: list[ast.stmt] = []
    inner: ast.AST = statement
    while isinstance(inner, ast.stmt) and inner is not launch.host and not isinstance(inner, ast.For | ast.While):
        block = siblings(launch.module, inner)
        found += block[: block.index(inner)] if inner in block else []
        inner = launch.module.parents[inner]
    return found


def _place(launch: LaunchView, statement: ast.stmt, reads: str) -> ast.stmt | None:
    """What the number of programs is computed before: the grid's own statement, or the launch, which is what calls a grid's function."""
    ahead = [*_ahead(launch, statement), statement]
    around = next((n for n in launch.module.around(launch.grid) if isinstance(n, ast.stmt)), statement)
    names = {n.id for n in all_nodes(syntax_tree(reads)) if isinstance(n, ast.Name)}
    for at in (around, statement) if launch.meta is not None else (around,):
        if isinstance(at, ast.Assign | ast.Expr) and at in ahead and all(b.lineno < at.lineno for n in names for b in launch.bindings(n)):
            return at
    return None


def _count(launch: LaunchView) -> tuple[str, list[Edit]] | None:
    """The number of programs in the host's words, and the edits that give the grid a side for the parts.

    A side that the blocks' own variables decide is computed once, for both. Elsewhere the grid keeps its text, and the number its own, with
    divisions spelled out: ``triton.cdiv`` costs a launch more than all other arithmetic.
    """
    module, sides = launch.module, launch.sides() or []
    last, end = module.span(sides[-1]).end, module.span(launch.grid).end
    closed = module.text[module.span(launch.grid).start] in "(["
    rest = module.text[last : end - 1 if closed else end]
    if rest.strip(" \t\f\r\n,") or (last == end and closed):
        return None
    new = Edit(Span(last, last if "\n" in rest or "\r" in rest else last + len(rest)), f", {SPLIT}")
    if isinstance(sides[0], ast.Name) and len(sides) == 1:
        return sides[0].id, [new]
    numbers = any(isinstance(n, ast.Constant) for n in all_nodes(launch.grid))
    if launch.meta is None and len(sides) == 1 and not numbers:
        return module.code(sides[0]), [module.replace(sides[0], TILES), new]
    counts = [_outside(launch, s) for s in sides]
    return None if any(c is None for c in counts) else (" * ".join(c for c in counts if c is not None), [new])


def _outside(launch: LaunchView, node: ast.expr) -> str | None:
    """A side's code outside of the grid's function, where that has no META."""
    pair = divisor(node)
    if pair is not None:
        size, block = _outside(launch, pair[0]), _outside(launch, pair[1])
        return None if size is None or block is None else f"-(-{size} // {f'({block})' if '*' in block else block})"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _outside(launch, node.left), _outside(launch, node.right)
        return None if left is None or right is None else f"{left} * {right}"
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == launch.meta and isinstance(node.slice, ast.Constant):
        passed = launch.arguments.get(str(node.slice.value))
        return ast.unparse(passed) if isinstance(passed, ast.Name | ast.Constant) else None
    return None if any(isinstance(n, ast.Name) and n.id == launch.meta for n in all_nodes(node)) else atom(node)
