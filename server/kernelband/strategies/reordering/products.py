"""``persistent_products``: as many programs as run at once take the tiles of a product in turn, and both loops are one.

Each program starts, fills its pipeline, drains it, stores and ends; with ``flatten=True`` the next tile's operands are on their way
while this one is stored. Where rows or columns of the operands are masked that doesn't happen, so those masks fold away under a flag for
sizes that are multiples of the blocks, and other sizes keep a program for each tile. So do operands whose rows aren't of neighbouring
elements: in one loop they took six times as long (H200, Triton 3.6).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from attrs import frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, LaunchView, Loop, View
from kernelband.strategies.code.aliasing import all_apart
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.heuristic import heuristic
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import atom
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.view import moving
from kernelband.strategies.code.wrapped import helpers_ask
from kernelband.strategies.pipeline.flatten import SINCE
from kernelband.strategies.reordering.flat import evenly, row_masks, said_of, strides
from kernelband.strategies.reordering.ids import NAME, ids_by_axis, programs
from kernelband.strategies.reordering.persistent import carried, in_loop

ALONE = frozenset({*ATOMICS, "debug_barrier", "make_tensor_descriptor"})
WIDE = 256  # elements of a tile's longer side, whose accumulators leave room for one program on a multiprocessor
NARROW = 64
WIDTH = 110
HOST_NODES = ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.Load | ast.BinOp | ast.Mult | ast.FloorDiv  # read twice as once


class PersistentProducts:
    """``for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True)`` around a product, over all axes of its grid."""

    name = "persistent_products"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


@frozen(eq=False)
class Count:
    """How many programs an axis of the grid has, in the kernel's words, and the host's expression for what the kernel isn't given."""

    code: str
    given: str | None
    passed: str | None


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    sms = view.facts.device.multiprocessors
    loop = _product(view)
    if loop is None or view.facts.device.backend != "cuda" or view.facts.triton < SINCE or programs(view) <= sms or not all_apart(view):
        return
    ids, counts = ids_by_axis(view), _counts(view)
    if not ids or counts is None or any(not x.own_grid or x.lends_grid for x in view.launches):
        return
    calls = {call: axis for axis, found in ids.items() for call in found} | _asked(view)
    place = _first(view, calls)
    anew = _moved(view, place) if place is not None else None
    if place is None or anew is None or any(axis >= len(counts) for axis in calls.values()):
        return
    masks, stated = row_masks(view, loop), strides(view, loop)
    if masks is None or stated is None:
        return
    for each in (1, 2) if view.widest >= WIDE else (4, 2, 1) if view.widest <= NARROW else (2, 1):
        if programs(view) <= each * sms:
            continue
        yield at.proposal(
            {"per_multiprocessor": each},
            _edits(view, _Plan(place, calls, counts, masks, [*evenly(masks), *stated], anew, f"{sms} * {each}")),
            "exact",
            f"At most {sms} × {each} programs take the tiles in turn; that loop and the one at line {loop.node.lineno} are one, "
            f"where {said_of(masks, stated)} (flatten).",
            "A program fills its pipeline, drains it and stores alone: in one loop the next tile's loads start while this one is stored.",
        )


@frozen(eq=False)
class _Plan:
    """What the edits are made of. ``place``: of the first of the kernel's statements that asks for a program's number, where the loop
    begins; ``calls``: that ask for one, or how many there are, by axis; ``masks``: comparisons that are always true for whole blocks, by
    (size, block); ``stated``: what must hold for both loops to be one; ``anew``: what binds a parameter anew, which gets a name of its own.
    """

    place: int
    calls: dict[ast.Call, int]
    counts: list[Count]
    masks: dict[tuple[str, str], list[ast.Compare]]
    stated: list[str]
    anew: list[ast.Assign | ast.AugAssign]
    most: str


def _product(view: View) -> Loop | None:
    """The kernel's only loop, with a product straight in its body, and nothing in the kernel that minds how many programs there are."""
    kernel = view.kernel
    loops = kernel.loops()
    if not view.whole or len(loops) != 1 or not loops[0].has_dot or loops[0].kind == "static_range":
        return None
    inside = [n for s in kernel.node.body for n in all_nodes(s)]
    if any(isinstance(n, ast.While | ast.Return | ast.Break | ast.Lambda) for n in inside) or loops[0].node not in kernel.node.body:
        return None
    if kernel.calls(ALONE) or helpers_ask(view.program, view.modules, {*ALONE, "program_id", "num_programs"}):
        return None
    return loops[0]


def _asked(view: View) -> dict[ast.Call, int]:
    """Calls that ask how many programs an axis has; of one that isn't a number, an axis that no grid has."""
    axes = {c: next(iter([*c.args, *(k.value for k in c.keywords)]), None) for c in view.kernel.calls({"num_programs"})}
    return {c: a if node is not None and (a := integer(node)) is not None else 3 for c, node in axes.items()}


def _first(view: View, calls: Mapping[ast.Call, int]) -> int | None:
    """The first statement that asks for a program's number; None where tiles can't take turns from there on."""
    kernel, body = view.kernel, view.kernel.node.body
    places = [next((i for i, s in enumerate(body) if call in all_nodes(s)), -1) for call in calls]
    place = min(places, default=-1)
    methods = any(isinstance(kernel.module.parents.get(c), ast.Attribute) and kernel.tl(c) == "num_programs" for c in calls)
    if place < 0 or methods or any(isinstance(n, ast.FunctionDef) for s in body for n in all_nodes(s)):
        return None
    before = {n for s in body[:place] for n in bound_names(s)}
    changed = {n for s in body[place:] for x in all_nodes(s) for n in bound_names(x)}
    return None if changed & before or carried(body[place:], frozenset(kernel.parameters)) else place


def _moved(view: View, place: int) -> list[ast.Assign | ast.AugAssign] | None:
    """Statements that bind a parameter anew, each once, in the kernel's own block; None where one is bound otherwise."""
    kernel = view.kernel
    found: list[ast.Assign | ast.AugAssign] = []
    for name in kernel.parameters:
        bound = kernel.bindings(name)
        statement = bound[0] if len(bound) == 1 else None
        if not bound:
            continue
        plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)
        moved = isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and isinstance(statement.target, ast.Name)
        if statement not in kernel.node.body[place:] or not (plain or moved) or not isinstance(statement, ast.Assign | ast.AugAssign):
            return None
        found.append(statement)
    return found


# ------------------------------------------------------------ the grid


def _counts(view: View) -> list[Count] | None:
    """One for each axis; None unless all launches say the same of them."""
    found = {tuple((c.code, c.given) for c in counts) if (counts := _of(view, x)) is not None else None for x in view.launches}
    return _of(view, view.launches[0]) if len(found) == 1 and None not in found else None


def _of(view: View, launch: LaunchView) -> list[Count] | None:
    sides = launch.sides()
    function = next((n for n in launch.module.around(launch.grid) if isinstance(n, ast.FunctionDef)), None)
    if not sides or not launch.unchanged(launch.grid) or (function is not launch.host and function is not None and len(function.body) > 1):
        return None
    counts = [_count(view, launch, side, axis) for axis, side in enumerate(sides)]
    return [c for c in counts if c is not None] if None not in counts else None


def _count(view: View, launch: LaunchView, side: ast.expr, axis: int) -> Count | None:
    words: list[str] = []
    rest: list[ast.expr] = []
    for factor in _factors(side):
        word = _word(view, launch, factor)
        if word is None:
            rest.append(factor)
        elif word != "1":
            words.append(word)
    if not rest:
        return Count(" * ".join(words) or "1", None, None)
    if any(not isinstance(n, HOST_NODES) or (isinstance(n, ast.Name) and n.id == launch.meta) for e in rest for n in all_nodes(e)):
        return None
    name = view.kernel.free_name(rest[0].id if len(rest) == 1 and isinstance(rest[0], ast.Name) else f"programs_{axis}")
    return Count(" * ".join([*words, name]), name, " * ".join(atom(e) for e in rest))


def _factors(side: ast.expr) -> list[ast.expr]:
    return [*_factors(side.left), *_factors(side.right)] if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult) else [side]


def _word(view: View, launch: LaunchView, factor: ast.expr) -> str | None:
    """The factor as the kernel can compute it."""
    rebound = {p for p in view.kernel.parameters if view.kernel.bindings(p)}
    number = integer(factor)
    if number is not None:
        return str(number)
    pair = divisor(factor)
    if pair is None:
        return name if (name := launch.parameter_of(factor)) is not None and name not in rebound else None
    size, block = launch.parameter_of(pair[0]), _block(launch, pair[1])
    return f"{view.kernel.language}.cdiv({size}, {block})" if size and block and not {size, block} & rebound else None


def _block(launch: LaunchView, code: ast.expr) -> str | None:
    by_meta = isinstance(code, ast.Subscript) and isinstance(code.value, ast.Name) and code.value.id == launch.meta
    if by_meta and isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Constant):
        return str(code.slice.value) if code.slice.value in launch.kernel.constexprs else None
    return launch.parameter_of(code)


# ------------------------------------------------------------ edits


def _edits(view: View, plan: _Plan) -> Edits | None:
    kernel, module, tl = view.kernel, view.kernel.module, view.kernel.language
    counts, masks = plan.counts, plan.masks
    given = [c.given for c in counts if c.given is not None]
    if len(set(given)) != len(given):
        return None
    even = kernel.free_name("EVEN") if plan.stated else None
    line = f"{module.newline}        and "
    code = (line if len(" and ".join(plan.stated)) > WIDTH - 20 else " and ").join(plan.stated)
    if even is not None:
        added = heuristic(view, {even: code}, given)
    else:
        added = module.add_parameters(kernel.node, [(name, "1") for name in given]) if given else []
    first = kernel.node.body[plan.place]
    alone = (
        len(plan.calls) == 1
        and isinstance(first, ast.Assign)
        and first.value in plan.calls
        and kernel.is_id(first.value)
        and [type(t) for t in first.targets] == [ast.Name]
    )
    alone = alone and all(c.code == "1" for axis, c in enumerate(counts) if axis not in plan.calls.values())
    counts, above = (counts, []) if alone else _named(view, plan.calls, counts)
    tile = ast.unparse(first.targets[0]) if alone and isinstance(first, ast.Assign) else kernel.free_name("tile")
    count = " * ".join(c.code for c in counts if c.code != "1") or "1"
    header = f"for {tile} in {tl}.range({tl}.program_id(0), {count}, {tl}.num_programs(0), flatten={even or True}):"
    looped = in_loop(view, plan.place, [*above, header], instead=alone)
    if added is None or looped is None:
        return None
    edits: Edits = [(module.path, e) for e in added] + looped
    edits += [] if alone else [(module.path, e) for e in _numbering(view, plan.calls, counts, tile)]
    edits += [(module.path, e) for statement in plan.anew for e in _renamed(view, statement)]
    for nodes in masks.values():
        edits += [(module.path, module.replace(c, f"({module.code(c)}) | {even}")) for c in nodes]
    for launch in view.launches:
        own = _of(view, launch) or []
        grid = _grid(launch, plan.most, even)
        passed = launch.add_arguments([f"{c.given}={c.passed}" for c in own if c.given is not None]) if given else []
        if grid is None or passed is None:
            return None
        edits += [(launch.module.path, grid), *passed]
    return edits


def _numbering(view: View, calls: dict[ast.Call, int], counts: list[Count], tile: str) -> list[Edit]:
    """What takes the place of a program's number, and of how many there are."""
    module = view.kernel.module
    value: dict[int, str] = {}
    before: list[str] = []
    for axis, count in enumerate(counts):
        last = all(c.code == "1" for c in counts[axis + 1 :])
        slow = tile if not before else f"{tile} // {before[0]}" if len(before) == 1 else f"{tile} // ({' * '.join(before)})"
        value[axis] = slow if last else f"{slow} % {count.code}"
        before += [count.code] if count.code != "1" else []
    edits: list[Edit] = []
    for call, axis in calls.items():
        code = counts[axis].code if view.kernel.tl(call) == "num_programs" else value[axis]
        bare = isinstance(module.parents[call], ast.Assign | ast.Tuple) or code.isidentifier()
        edits.append(module.replace(call, code if bare else f"({code})"))
    return edits


def _renamed(view: View, statement: ast.Assign | ast.AugAssign) -> list[Edit]:
    """``a_ptr += x`` as ``a_ptr_tile = a_ptr + x``, and the name in all that reads it behind: each tile begins with what was passed."""
    kernel, module = view.kernel, view.kernel.module
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    name = ast.unparse(target)
    new = kernel.free_name(f"{name}_tile")
    span, value, end = module.span(target), module.span(statement.value), module.span(statement).end
    read = [n for n in kernel.nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    edits = [module.replace(n, new) for n in read if module.span(n).start >= end]
    if isinstance(statement, ast.Assign):
        return [*edits, module.replace(target, new)]
    simple = isinstance(statement.value, ast.Name | ast.Call | ast.BinOp) and not (
        isinstance(statement.value, ast.BinOp) and not isinstance(statement.value.op, ast.Add | ast.Mult)
    )
    around = [] if simple else [Edit(Span(value.start, value.start), "("), Edit(Span(value.end, value.end), ")")]
    sign = module.text.index("+=", span.end)
    return [*edits, Edit(Span(span.start, sign + 2), f"{new} = {name} +"), *around]


def _named(view: View, calls: dict[ast.Call, int], counts: list[Count]) -> tuple[list[Count], list[str]]:
    """The counts by name, and the lines that compute those which aren't names."""
    kernel = view.kernel
    named: list[Count] = []
    lines: list[str] = []
    for axis, count in enumerate(counts):
        if count.code.isidentifier() or count.code.isdecimal():
            named.append(count)
            continue
        asks = next((c for c, a in calls.items() if a == axis and kernel.tl(c) == "program_id"), None)
        statement = kernel.module.parents[asks] if asks is not None else None
        pid = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        name = kernel.free_name(f"num_{pid}" if pid.isidentifier() else f"num_{axis}")
        lines.append(f"{name} = {count.code}")
        named.append(Count(name, count.given, count.passed))
    return named, lines


def _grid(launch: LaunchView, most: str, flag: str | None) -> Edit | None:
    """One side: as many programs as run at once, or all tiles where masks are needed."""
    sides = launch.sides() or []
    module = launch.module
    codes = [f"({module.code(s)})" if isinstance(s, ast.BinOp) and len(sides) > 1 else module.code(s) for s in sides if integer(s) != 1]
    total = " * ".join(codes) or "1"
    taken = {n.id for n in all_nodes(launch.host or module.tree) if isinstance(n, ast.Name)}
    meta = launch.meta or ("META" if "META" not in taken else None)
    if flag is not None and meta is None:
        return None
    side = f"min({total}, {most})" if flag is None else f'min({total}, {most} if {meta}["{flag}"] else 2**31 - 1)'
    statement = next((n for n in module.around(launch.grid) if isinstance(n, ast.stmt)), None)
    indent = module.indent(statement) if statement is not None else None
    span = module.span(launch.grid)
    lead = "" if flag is None or launch.meta is not None else f"lambda {meta}: "
    if indent is None or len(side) + span.start - module.line_start(span.start) < WIDTH:
        return Edit(span, f"{lead}({side},)")
    return Edit(span, f"{lead}({module.newline}{indent}{module.unit}{side},{module.newline}{indent})")
