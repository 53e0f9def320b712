"""``persistent``: a fixed number of programs, each taking tile after tile, instead of one program per tile."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from attrs import frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, LaunchView, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.view import moving
from kernelband.strategies.code.wrapped import helpers_ask
from kernelband.strategies.pipeline.flatten import SINCE as FLATTEN_SINCE

PER_MULTIPROCESSOR = (8, 4, 16, 2)
PRODUCTS_PER_MULTIPROCESSOR = (2, 1, 4)  # operands and accumulators of a product leave room for few
LARGEST = 4096  # elements: with a larger tile a program isn't tiny, and one that waits for its loads holds too many registers
MANY = 4  # worth it from so many waves of one program per multiprocessor


class Persistent:
    """Wraps the body in ``for pid in range(tl.program_id(0), tiles, tl.num_programs(0))`` and caps the grid."""

    name = "persistent"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("reordering", self.name, _propose, program, facts)


def _gridded(view: View, block: str) -> bool:
    return any(x.grid_reads(block) for x in view.launches)


@frozen(eq=False)
class Shape:
    """The statement that reads the program id, its name, and how many tiles there are in the kernel's and in the host's words."""

    statement: ast.stmt
    pid: str
    place: int


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    shape = tile_shape(view)
    programs = max(view.programs({n: v[0] for n in view.kernel.aranges() if (v := view.sizes(n)) and _gridded(view, n)}), default=0)
    sms = view.facts.device.multiprocessors
    widest = view.widest
    if shape is None or programs < MANY * sms or widest > LARGEST or view.kernel.model.autotuned or _flattens(view):
        return
    tiles = tile_count(view)
    if tiles is None:
        return
    count, extra = tiles
    for each in PRODUCTS_PER_MULTIPROCESSOR if view.kernel.calls({"dot", "dot_scaled"}) else PER_MULTIPROCESSOR:
        if programs < 2 * each * sms:
            continue
        edits = _wrap(view, shape, count)
        if edits is None:
            return
        for launch in view.launches:
            side = (launch.sides() or [launch.grid])[0]
            edits.append((launch.module.path, launch.module.replace(side, f"min({launch.module.code(side)}, {sms} * {each})")))
            if extra:
                added = launch.add_arguments([f"{count}={launch.module.code(side)}"])
                if added is None:
                    return
                edits += added
        if extra:
            added_parameters = view.kernel.module.add_parameters(view.kernel.node, [(count, None)])
            if added_parameters is None:
                return
            edits += [(view.kernel.module.path, e) for e in added_parameters]
        yield at.proposal(
            {"per_multiprocessor": each},
            edits,
            "exact",
            f"At most {sms} × {each} programs walk over the tiles in a loop, instead of one program per tile.",
            f"{programs} programs are {programs / sms:.0f} for each of {sms} multiprocessors, each started and drained for one tile.",
        )


def _flattens(view: View) -> bool:
    """A product's loop and the one over tiles can be one: apart they gain nothing (``persistent_products``)."""
    loops = view.kernel.loops()
    return len(loops) == 1 and loops[0].has_dot and view.facts.device.backend == "cuda" and view.facts.triton >= FLATTEN_SINCE


def tile_shape(view: View, axis: int | None = None) -> Shape | None:
    """The kernel reads one program id, once, at the top; nothing of one tile reaches the next. With ``axis``: others beside it, and
    programs may leave early.
    """
    kernel = view.kernel
    body = kernel.node.body
    ids = kernel.calls({"program_id"})
    if axis is not None:
        ids = [x for x in ids if kernel.tokens(x) == frozenset({f"@{axis}"})]
    alone = set(ATOMICS) | {"num_programs", "debug_barrier"}
    if len(ids) != 1 or not view.whole or kernel.calls(alone) or helpers_ask(view.program, view.modules, alone | {"program_id"}):
        return None
    place = next((i for i, s in enumerate(body) if isinstance(s, ast.Assign) and s.value is ids[0]), None)
    if place is None or kernel.tokens(ids[0]) != frozenset({f"@{axis or 0}"}):
        return None
    statement = body[place]
    assert isinstance(statement, ast.Assign)
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    pid = statement.targets[0].id
    rest = body[place + 1 :]
    inside = [n for s in rest for n in all_nodes(s)]
    left = sum(isinstance(n, ast.Return) for n in inside)
    if not rest or left != (len(early(rest)) if axis is not None else 0) or len(kernel.bindings(pid)) != 1:
        return None
    if any(isinstance(n, ast.While | ast.FunctionDef) for n in inside):
        return None
    before = set(kernel.parameters) | {n for s in body[: place + 1] for n in bound_names(s)}
    changed = {n for s in inside for n in bound_names(s)}
    if changed & before or carried(rest):
        return None
    return Shape(statement, pid, place)


def early(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """``if ...: return`` among them."""
    return [s for s in statements if isinstance(s, ast.If) and len(s.body) == 1 and _leaves(s.body[0]) and not s.orelse]


def _leaves(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return) and statement.value is None


def carried(rest: Sequence[ast.stmt], passed: Set[str] = frozenset()) -> bool:
    """A name is read before the iteration has bound it: it would come from the tile before. ``passed``: names that have a value before."""
    everything = {n for s in rest for x in all_nodes(s) for n in bound_names(x)}
    return _carried(rest, set(passed), everything) is None


def _carried(statements: Sequence[ast.stmt], bound: set[str], everything: Set[str]) -> set[str] | None:
    """What is surely bound behind the statements; None where one reads what may not be."""
    for statement in statements:
        if isinstance(statement, ast.If):
            tested = {n.id for n in all_nodes(statement.test) if isinstance(n, ast.Name)}
            ways = [_carried(way, set(bound), everything) for way in (statement.body, statement.orelse)]
            if tested & (everything - bound) or ways[0] is None or ways[1] is None:
                return None
            bound = ways[0] & ways[1]
            continue
        reads = {n.id for n in all_nodes(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(statement, ast.AugAssign):
            reads |= set(bound_names(statement))
        own = {n for x in all_nodes(statement) for n in bound_names(x)} if isinstance(statement, ast.For) else set[str]()
        if reads & (everything - bound - own):
            return None
        bound |= {n for x in all_nodes(statement) for n in bound_names(x)}
    return bound


def tile_count(view: View) -> tuple[str, bool] | None:
    """The number of tiles in the kernel's words, and whether a parameter has to be added for it."""
    found: set[str | None] = set()
    rebound = {p for p in view.kernel.parameters if view.kernel.bindings(p)}
    for launch in view.launches:
        sides = launch.sides()
        if sides is None or not sides or any(integer(s) != 1 for s in sides[1:]) or _uses_meta_only(launch, sides[0]):
            return None
        pair = divisor(sides[0])
        if pair is not None:
            n = launch.parameter_of(pair[0])
            meta = isinstance(pair[1], ast.Subscript) and isinstance(pair[1].slice, ast.Constant)
            block = (
                str(pair[1].slice.value)
                if isinstance(pair[1], ast.Subscript) and isinstance(pair[1].slice, ast.Constant)
                else launch.parameter_of(pair[1])
            )
            said = n is not None and block is not None and (meta or block) and not {n, block} & rebound
            found.add(f"{view.kernel.language}.cdiv({n}, {block})" if said else None)
        else:
            n = launch.parameter_of(sides[0])
            found.add(None if n in rebound else n)
    if len(found) == 1 and None not in found:
        return str(found.pop()), False
    if any(launch.meta is not None for launch in view.launches):
        return None  # the host can't say the number outside of the grid's function
    return view.kernel.free_name(_count_name(view)), True


def _count_name(view: View) -> str:
    """What a person would call the number of tiles: the host's word for it, else the number of rows or tiles."""
    sides = [s for x in view.launches for s in (x.sides() or [])[:1]]
    names = {s.id for s in sides if isinstance(s, ast.Name)}
    if len(names) == 1 and len(sides) == len(view.launches) and all(isinstance(s, ast.Name) for s in sides):
        return names.pop()
    shape = tile_shape(view)
    return "n_rows" if shape is not None and "row" in shape.pid else "num_tiles"


def _uses_meta_only(launch: LaunchView, side: ast.expr) -> bool:
    """The side reads META in a way that the kernel can't repeat."""
    reads = any(isinstance(n, ast.Name) and n.id == launch.meta for n in all_nodes(side))
    return reads and divisor(side) is None


def _wrap(view: View, shape: Shape, count: str) -> Edits | None:
    """The loop's header in place of the program id."""
    tl = view.kernel.language
    return in_loop(view, shape.place, [f"for {shape.pid} in {tl}.range({tl}.program_id(0), {count}, {tl}.num_programs(0)):"], instead=True)


def in_loop(view: View, place: int, head: Sequence[str], *, instead: bool) -> Edits | None:
    """Lines before a statement of the kernel's own block, or ``instead`` of it, the last of them a loop's, and every line behind them one
    step further in.
    """
    module = view.kernel.module
    first, *rest = view.kernel.node.body[place:]
    indent = module.indent(first)
    if indent is None or any(module.indent(s) is None for s in rest):
        return None
    inside = rest if instead else [first, *rest]
    if any(isinstance(n, ast.Constant) and isinstance(n.value, str) and n.lineno != n.end_lineno for s in inside for n in all_nodes(s)):
        return None  # indenting would change the string
    step = "\t" if "\t" in indent else "    "
    lines = f"{module.newline}{indent}".join(head)
    span = module.span(first)
    before = Edit(Span(span.start, span.start), f"{lines}{module.newline}{indent}{step}")
    edits: Edits = [(module.path, module.replace(first, lines) if instead else before)]
    at, end = module.line_end(span.end if instead else span.start), module.span((rest or [first])[-1]).end
    while at < end:
        at += 2 if module.text.startswith("\r\n", at) else 1
        stop = module.line_end(at)
        if at < end and module.text[at:stop].strip():
            edits.append((module.path, Edit(Span(at, at), step)))
        at = stop
    return edits
