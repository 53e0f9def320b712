"""``steps_at_once``: a loop that goes step by step takes a block of steps at once, of which all loads are under way together.

What steps hand on must be a total that nothing reads on the way, or linear in what it was, ``h = a * h + b``: two such steps are one, first
``a, b``, then ``c, d`` is ``a * c, b * c + d``, so the values of a block come from an associative scan (Blelloch,
https://www.cs.cmu.edu/~guyb/papers/Ble93.pdf).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from attrs import evolve, field, frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, Loop, Module, View
from kernelband.strategies.code.affine import counts
from kernelband.strategies.code.aliasing import apart
from kernelband.strategies.code.anywhere import own_places
from kernelband.strategies.code.binding import binding, bound_names
from kernelband.strategies.code.blocks import exposed, names_bound, names_read
from kernelband.strategies.code.elementwise import compile_time, is_elementwise
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import atom
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.names import module_alias
from kernelband.strategies.code.shapes import Shape, Shapes, axis_of, shape_of, shapes
from kernelband.strategies.code.view import moving
from kernelband.strategies.vectorization.tiles_of_steps import LANES, State, Tiled, states_of

SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)  # steps of a block
LEAST, MOST = 256, 16384  # elements of a block's tile
UNKNOWN = 61  # steps, where they don't follow from what is passed
OFFERED = 5  # sizes, the smallest first


class StepsAtOnce:
    """``for t in range(T)`` becomes ``for first in range(0, T, 32)``, with 32 steps inside."""

    name = "steps_at_once"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("vectorization", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    walks = [w for x in view.kernel.loops() if (w := _walk(view, x)) is not None]
    if not walks:
        return
    steps = min(max(counts(view, w.loop) or view.numbers(ast.unparse(w.loop.stop)), default=UNKNOWN) for w in walks)
    width = max(prod(max(view.sizes(n), default=1) for n in w.shape) for w in walks)
    fitting = [n for n in SIZES if n < 2 * steps and LEAST <= n * width <= MOST]
    which = " and ".join(dict.fromkeys(w.loop.variable for w in walks))
    how = ", by a scan" if any(s.how == "scan" for w in walks for s in w.states) else ""
    exact = all(s.how in ("max", "min") for w in walks for s in w.states) and not any(w.reduces for w in walks)
    for size in fitting[:OFFERED]:
        yield at.proposal(
            {"steps": size},
            _edits(walks, size),
            "exact" if exact else "reassociates",
            f"The {'loops' if len(walks) > 1 else 'loop'} over {which} {'take' if len(walks) > 1 else 'takes'} {size} steps at once{how}.",
            f"Each {f'of {steps} steps' if steps != UNKNOWN else 'step'} waits for loads that need nothing of the step before.",
        )


def _edits(walks: Sequence[Walk], size: int) -> Edits | None:
    kernel = walks[0].kernel
    then, helper = _helper(kernel) if any(s.how == "scan" for w in walks for s in w.states) else ("", None)
    every = [w.edits(size, str(n or ""), then) for n, w in enumerate(walks)]
    if None in every or (then == "" and any(s.how == "scan" for w in walks for s in w.states)):
        return None
    edits = [e for own in every for e in own or []] + ([helper] if helper is not None else [])
    return [(kernel.module.path, e) for e in edits]


def _helper(kernel: KernelView) -> tuple[str, Edit | None]:
    """The function that makes one step of two, above the kernel; no name where there is no place for it."""
    module = kernel.module
    triton, taken, name = module_alias(module.tree, "triton"), {*binding(module.tree), *module.imported}, "both_steps"
    while name in taken or name != kernel.free_name(name):
        name += "_"
    if triton is None or module.tree.body.count(kernel.node) != 1:
        return "", None
    at = module.offset(min([kernel.node.lineno, *(d.lineno for d in kernel.node.decorator_list)]), 0)
    lines = (f"@{triton}.jit", f"def {name}(a, b, c, d):", "    return a * c, b * c + d", "", "", "")
    return name, Edit(Span(at, at), module.newline.join(lines))


@frozen(eq=False)
class Walk:
    """A loop whose steps can be taken together. ``shape``: of what isn't a number in a step; ``pointers``: those that go on by as much with
    each step, in code.
    """

    kernel: KernelView
    loop: Loop
    shape: Shape
    states: tuple[State, ...]
    pointers: Mapping[str, str]
    known: Shapes = field(repr=False)

    @property
    def reduces(self) -> bool:
        """Whether a step reduces its own elements."""
        return any(self.kernel.tl(n) == "sum" for s in self.loop.node.body for n in all_nodes(s))

    def edits(self, size: int, suffix: str, then: str) -> list[Edit] | None:
        """Those that make it take blocks of so many steps; None where a line is shared."""
        kernel, module, node = self.kernel, self.kernel.module, self.loop.node
        words = ("first", "rows", "live", *(f"{n}_rows" for n in (*(s.name for s in self.states), *self.pointers)))
        names = {k: kernel.free_name(f"{k}{suffix}") for k in words}
        first, rows, live = names["first"], names["rows"], names["live"]
        tiled = Tiled(kernel, self.known, self.shape, frozenset(self.pointers), frozenset(s.name for s in self.states if s.read), names)
        start, stop = "0" if self.loop.start is None else ast.unparse(self.loop.start), ast.unparse(self.loop.stop)
        above = module.before(node, [f"{rows} = {kernel.language}.arange(0, {size}){'[:, None]' if self.shape else ''}"])
        opening = [f"{live} = {first} + {rows} < {atom(self.loop.stop)}"]
        if any(isinstance(n, ast.Name) and n.id == self.loop.variable for s in node.body for n in all_nodes(s)):
            opening = [f"{self.loop.variable} = {first} + {rows}", f"{live} = {self.loop.variable} < {atom(self.loop.stop)}"]
        opening += [f"{names[f'{p}_rows']} = {p} + {rows} * {self._far(p)}" for p in self.pointers]
        if above is None:
            return None
        edits = [above, module.replace(node.target, first)]
        edits.append(module.replace(self.loop.call, f"{ast.unparse(self.loop.call.func)}({start}, {stop}, {size})"))
        for statement in leaves(node.body):
            indent = module.indent(statement)
            if indent is None:
                return None
            edits.append(module.replace(statement, f"{module.newline}{indent}".join(self._rows(statement, tiled, size, then))))
        opened = module.before(node.body[0], opening)
        return None if opened is None else merged([*edits, opened])

    def _rows(self, statement: ast.stmt, tiled: Tiled, size: int, then: str) -> list[str]:
        """What a statement of the loop becomes."""
        state = next((s for s in self.states if s.update is statement), None)
        if state is not None:
            return tiled.updated(state, size, then)
        bound = bound_names(statement)
        if bound and bound[0] in self.pointers:
            return [f"{bound[0]} += {size} * {self._far(bound[0])}"]
        return [tiled.code(statement)]

    def _far(self, pointer: str) -> str:
        """How far a pointer goes on with a step. A block of steps may be beyond 32 bits, though no step is."""
        by, tl = self.pointers[pointer], self.kernel.language
        return by if by.isdecimal() else f"{tl}.cast({by}, {tl}.int64)"


def merged(edits: Sequence[Edit]) -> list[Edit]:
    """Edits of which two may begin at one place: what is put in there and what is replaced become one."""
    found: dict[int, Edit] = {}
    for edit in sorted(edits, key=lambda e: e.span.end):
        other = found.get(edit.span.start)
        found[edit.span.start] = edit if other is None else Edit(edit.span, other.new + edit.new)
    return list(found.values())


def leaves(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block and of the branches in it."""
    return [leaf for s in body for leaf in (leaves([*s.body, *s.orelse]) if isinstance(s, ast.If) else [s])]


# ---------------------------------------------------------------- which loops


def _walk(view: View, loop: Loop) -> Walk | None:
    kernel, node, known = view.kernel, loop.node, shapes(view.kernel)
    plain = loop.kind in ("builtin", "range") and not loop.call.keywords and loop.innermost and not node.orelse
    if not plain or (loop.step is not None and integer(loop.step) != 1) or not _is_plain(kernel, node.body):
        return None
    body, bound, behind = leaves(node.body), names_bound(node.body), _read_behind(kernel, node)
    in_order = dict.fromkeys(n for s in body for n in bound_names(s))
    pointers = {n: by for n in in_order if (by := _goes_on(kernel, node, n)) is not None}
    carried = [n for n in in_order if n in exposed(node.body) and n != loop.variable and n not in pointers]
    if behind & (bound | {loop.variable}) - set(carried) or names_read(loop.stop) & (bound | {loop.variable}):
        return None
    found = [states_of(kernel, node, body, name) for name in carried]
    if None in found:
        return None
    held = [s for own in found for s in own or []]
    shape = _shape(view, body, known, steps=bound | {loop.variable}, pointers=pointers, carried=carried)
    if shape is None or not _accesses(kernel, loop) or not apart(view, loop, [a for a in loop.accesses if not a.store]):
        return None
    if not loop.accesses or any(known.get(s.name) not in ((), shape) or (s.how == "scan" and known.get(s.name) != shape) for s in held):
        return None
    walk = Walk(kernel, loop, shape, tuple(held), pointers, known)
    return walk if _own_places(view, walk) else None


def _is_plain(kernel: KernelView, body: Sequence[ast.stmt]) -> bool:
    """Names are bound one by one, values stored, and which way a branch goes is known to the compiler."""
    for statement in body:
        if isinstance(statement, ast.If):
            if not compile_time(kernel, statement.test) or not _is_plain(kernel, [*statement.body, *statement.orelse]):
                return False
        elif isinstance(statement, ast.Assign):
            if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
                return False
        elif isinstance(statement, ast.AugAssign):
            if not isinstance(statement.target, ast.Name):
                return False
        elif not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
    return True


def _read_behind(kernel: KernelView, loop: ast.For) -> set[str]:
    """Names that anything below the loop reads, or a loop around it in its next step."""
    end, around = loop.end_lineno or loop.lineno, kernel.module.around(loop)
    below = {n.id for n in kernel.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.lineno > end}
    return below.union(*(exposed(n.body) for n in around if isinstance(n, ast.For | ast.While)))


def _goes_on(kernel: KernelView, loop: ast.For, name: str) -> str | None:
    """By how much an address goes on with each step: ``p += stride`` below all that reads it."""
    own = [s for s in kernel.bindings(name) if loop in set(kernel.module.around(s))]
    step = own[0] if len(own) == 1 else None
    if step not in loop.body or not isinstance(step, ast.AugAssign) or not isinstance(step.op, ast.Add):
        return None
    after, before = loop.body[loop.body.index(step) + 1 :], loop.body[: loop.body.index(step)]
    begins = [b.value for b in kernel.bindings(name) if b is not step and isinstance(b, ast.Assign)]
    addresses = set(kernel.parameters) - kernel.constexprs
    pointing = name in addresses or any(addresses & kernel.tokens(value) for value in begins)
    read = any(name in names_read(s) for s in before) and not any(name in names_read(s) for s in after)
    return atom(step.value) if pointing and read and not names_read(step.value) & names_bound(loop.body) else None


def _shape(
    view: View, body: Sequence[ast.stmt], known: Shapes, *, steps: set[str], pointers: Mapping[str, str], carried: Sequence[str]
) -> Shape | None:
    """The shape of all that isn't a number in a step; None where there are several, or lanes meet other than in a reduction of all.

    ``steps``: the names that differ from step to step.
    """
    bound = steps - set(pointers)
    kernel, found = view.kernel, {s for n in carried if (s := known.get(n)) is not None}
    nodes = [n for s in body for n in all_nodes(s)]
    for node in nodes:
        if isinstance(node, ast.Subscript | ast.IfExp | ast.BoolOp | ast.NamedExpr | ast.Tuple | ast.List):
            return None
        outer = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound
        if outer and isinstance(node, ast.Name) and (kernel.bindings(node.id) or node.id in kernel.parameters):
            own = shape_of(kernel, node, known)
            if own is None:
                return None
            found.add(own)
    shape = next(iter(found - {()}), ())
    if len(found - {()}) > 1 or len(shape) > 1:
        return None
    for call in (n for n in nodes if isinstance(n, ast.Call)):
        if kernel.tl(call) in LANES and call.args:
            whole = shape_of(kernel, call.args[0], known) == shape and len(shape) == 1 and axis_of(call) in (0, None)
            differs = names_read(call.args[0]) & bound or any(kernel.tl(n) == "load" for n in all_nodes(call.args[0]))
            if not whole or not differs:
                return None
        elif kernel.tl(call) in ("load", "store"):
            if not call.args or not names_read(call.args[0]) & steps:
                return None  # the same place in each step
        elif not is_elementwise(view, call):
            return None
    return shape


def _accesses(kernel: KernelView, loop: Loop) -> bool:
    """Every load and store of the loop is through a pointer."""
    calls = {n for s in loop.node.body for n in all_nodes(s) if kernel.tl(n) in ("load", "store")}
    return calls == {a.call for a in loop.accesses}


def _own_places(view: View, walk: Walk) -> bool:
    """No two steps store to the same place: of a loop that says so with its variable, where pointers go on by themselves."""
    if not any(a.store for a in walk.loop.accesses):
        return True
    if not walk.pointers:
        return own_places(view, walk.loop)
    kernel, module, node = walk.kernel, walk.kernel.module, walk.loop.node
    name, start = kernel.free_name("step_at"), "0" if walk.loop.start is None else ast.unparse(walk.loop.start)
    edits = [module.replace(node.target, name)]
    for statement in leaves(node.body):
        if bound_names(statement) and bound_names(statement)[0] in walk.pointers:
            edits.append(module.replace(statement, "pass"))
            continue
        for n in all_nodes(statement):
            if isinstance(n, ast.Name) and n.id in walk.pointers and isinstance(n.ctx, ast.Load):
                edits.append(module.replace(n, f"({n.id} + ({name} - ({start})) * {walk.pointers[n.id]})"))
            elif isinstance(n, ast.Name) and n.id == walk.loop.variable:
                edits.append(module.replace(n, name))
    text = module.text
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: edit.span.start] + edit.new + text[edit.span.end :]
    read = Module.read(module.path, text)
    other = KernelView.read(read, kernel.model, kernel.wrapped) if read is not None else None
    loop = next((x for x in other.loops() if x.variable == name), None) if other is not None else None
    return other is not None and loop is not None and own_places(evolve(view, kernel=other), loop)
