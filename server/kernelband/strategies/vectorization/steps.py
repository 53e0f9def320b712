"""``steps_at_once``: a recurrence that goes step by step, ``h = a * h + b``, takes a block of steps at once, by a scan.

Two steps are one: first ``a, b``, then ``c, d`` is ``a * c, b * c + d``. So the values of a block of steps come from an associative scan
(Blelloch, https://www.cs.cmu.edu/~guyb/papers/Ble93.pdf), and the loads of all its steps are under way together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import prod

from attrs import evolve, field, frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, Loop, Module, View
from kernelband.strategies.code.affine import counts, own_places
from kernelband.strategies.code.aliasing import apart
from kernelband.strategies.code.blocks import exposed, names_bound, names_read, siblings
from kernelband.strategies.code.elementwise import is_elementwise
from kernelband.strategies.code.kernel import binding, bound_names
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import atom
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.names import module_alias
from kernelband.strategies.code.shapes import Shape, Shapes, shape_of, shapes
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.accumulate_late import is_zero
from kernelband.strategies.vectorization.tiles_of_steps import Coefficients, Tiled, coefficients

SIZES = (16, 32, 64, 128, 256, 1024)  # steps of a block
MOST, LEAST = 8192, 512  # elements of a block's tile
Step = ast.Assign | ast.AugAssign


class StepsAtOnce:
    """``for t in range(T)`` becomes ``for first in range(0, T, 32)``, with a scan over 32 steps inside."""

    name = "steps_at_once"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("vectorization", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    walks = [w for x in view.kernel.loops() if (w := _walk(view, x)) is not None]
    if len(walks) != 1:
        return
    (walk,) = walks
    steps, width = (
        min(counts(view, walk.loop) or view.numbers(ast.unparse(walk.loop.stop)), default=0),
        prod(max(view.sizes(n), default=1) for n in walk.shape),
    )
    for size in SIZES:
        if 2 * size <= steps and LEAST <= size * width <= MOST:
            yield at.proposal(
                {"steps": size},
                walk.edits(size),
                "reassociates",
                f"The loop over {walk.loop.variable} takes {size} steps at once: {walk.state} comes from a scan.",
                f"Each of {steps} steps waits for loads that need nothing of the step before.",
            )


@frozen(eq=False)
class Walk:
    """A loop whose only value that goes on is ``state``. ``pointers``: those that go on by as much with each step, in code."""

    kernel: KernelView
    loop: Loop
    state: str
    shape: Shape
    made: Coefficients  # of the state's step
    update: Step
    pointers: dict[str, str]
    known: Shapes = field(repr=False)

    @property
    def module(self) -> Module:
        return self.kernel.module

    def edits(self, size: int) -> Edits | None:
        """Those that make it take blocks of so many steps; None where a line is shared, or there is no name for triton."""
        kernel, module, node = self.kernel, self.module, self.loop.node
        names = {k: kernel.free_name(k) for k in ("first", "rows", "live", f"{self.state}_rows")}
        tiled = Tiled(kernel, self.known, self.shape, self.loop.variable, self.pointers, self.state, names)
        start = "0" if self.loop.start is None else ast.unparse(self.loop.start)
        lane = f"{kernel.language}.arange(0, {size})" + ("[:, None]" if self.shape else "")
        above = module.before(node, [f"{names['rows']} = {lane}"])
        opening = [f"{names['live']} = {names['first']} + {names['rows']} < {atom(self.loop.stop)}"]
        if any(isinstance(n, ast.Name) and n.id == self.loop.variable for s in node.body for n in ast.walk(s)):
            opening.insert(0, f"{self.loop.variable} = {names['first']} + {names['rows']}")
        opening += [f"{kernel.free_name(f'{p}_rows')} = {p} + {names['rows']} * {by}" for p, by in self.pointers.items()]
        then, helper = self._helper() if self.made.factor is not None else ("", None)
        if above is None or (then == "" and self.made.factor is not None):
            return None
        edits = [above, module.replace(node.target, names["first"])]
        edits.append(module.replace(self.loop.call, f"{ast.unparse(self.loop.call.func)}({start}, {ast.unparse(self.loop.stop)}, {size})"))
        for statement in node.body:
            rows = self._rows(statement, tiled, size, then)
            indent = module.indent(statement)
            if indent is None:
                return None
            rows = [*opening, *rows] if statement is node.body[0] else rows
            edits.append(module.replace(statement, f"{module.newline}{indent}".join(rows)))
        return [(module.path, e) for e in (*edits, *([helper] if helper is not None else []))]

    def _rows(self, statement: ast.stmt, tiled: Tiled, size: int, then: str) -> list[str]:
        """What a statement of the loop becomes."""
        if statement is self.update:
            return tiled.scanned(self.made, size, then)
        bound = bound_names(statement)
        if bound and bound[0] in self.pointers:
            return [f"{bound[0]} += {size} * {self.pointers[bound[0]]}"]
        return [tiled.code(statement)]

    def _helper(self) -> tuple[str, Edit | None]:
        """The function that makes one step of two, above the kernel."""
        module, triton = self.module, module_alias(self.module.tree, "triton")
        taken, name = {*binding(module.tree), *module.imported}, "both_steps"
        while name in taken:
            name += "_"
        if triton is None or self.module.tree.body.count(self.kernel.node) != 1:
            return "", None
        first = min([self.kernel.node.lineno, *(d.lineno for d in self.kernel.node.decorator_list)])
        at = module.offset(first, 0)
        lines = (f"@{triton}.jit", f"def {name}(a, b, c, d):", "    return a * c, b * c + d", "", "", "")
        return name, Edit(Span(at, at), module.newline.join(lines))


def _walk(view: View, loop: Loop) -> Walk | None:
    kernel, node, known = view.kernel, loop.node, shapes(view.kernel)
    plain = loop.kind in ("builtin", "range") and not loop.call.keywords and loop.innermost and not node.orelse
    if not plain or (loop.step is not None and integer(loop.step) != 1) or not all(_is_plain(s) for s in node.body):
        return None
    bound, block = names_bound(node.body), siblings(kernel.module, node)
    behind = exposed(block[block.index(node) + 1 :]) | {n for x in kernel.loops() if x.node is not node for n in _read_around(x, node)}
    in_order = dict.fromkeys(n for s in node.body for n in bound_names(s))
    pointers = {n: by for n in in_order if (by := _goes_on(kernel, node.body, n)) is not None}
    carried = (exposed(node.body) - {loop.variable}) & bound - set(pointers)
    if len(carried) != 1 or behind & (bound | {loop.variable}) - carried or names_read(loop.stop) & bound:
        return None
    (state,) = carried
    steps = [s for s in node.body if state in bound_names(s)]
    update, shape = steps[0] if len(steps) == 1 else None, known.get(state)
    if not isinstance(update, Step) or shape is None or len(shape) > 1 or not _is_float32(kernel, node, state):
        return None
    if any(state in names_read(s) for s in node.body[: node.body.index(update)]):
        return None  # of the step before
    made = coefficients(kernel, update, state)
    fits = all(_fits(view, s, known, shape, bound - set(pointers)) for s in node.body) and _accesses(kernel, loop)
    if made is None or made.summand is None or not fits or not apart(view, loop, [a for a in loop.accesses if not a.store]):
        return None
    walk = Walk(kernel, loop, state, shape, made, update, pointers, known)
    return walk if _own_places(view, walk) else None


def _is_plain(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)
    return (isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    )


def _read_around(outer: Loop, inner: ast.For) -> set[str]:
    """What a loop around another one reads of the inner one's names from one of its own steps to the next."""
    return exposed(outer.node.body) if inner in set(ast.walk(outer.node)) else set()


def _goes_on(kernel: KernelView, body: Sequence[ast.stmt], name: str) -> str | None:
    """By how much a name goes on with each step: ``p += stride`` below all that reads it."""
    own = [s for s in body if name in bound_names(s)]
    step = own[0] if len(own) == 1 else None
    if not isinstance(step, ast.AugAssign) or not isinstance(step.op, ast.Add) or names_read(step.value) & names_bound(body):
        return None
    after = body[body.index(step) + 1 :]
    begins = [b for b in kernel.bindings(name) if b is not step]
    pointing = any(
        t in kernel.tokens(b.value) for b in begins if isinstance(b, ast.Assign) for t in kernel.parameters if t not in kernel.constexprs
    )
    return atom(step.value) if pointing and not any(name in names_read(s) for s in after) and _addresses(body, name, step) else None


def _addresses(body: Sequence[ast.stmt], name: str, step: ast.stmt) -> bool:
    """The name is read as an address only, or asked for its type."""
    return any(name in names_read(s) for s in body if s is not step)


def _is_float32(kernel: KernelView, loop: ast.For, state: str) -> bool:
    """Zeros of float32, or what was converted to it, before the loop."""
    begins = [b for b in kernel.bindings(state) if b.lineno < loop.lineno and b not in set(ast.walk(loop))]
    values = [b.value for b in begins if isinstance(b, ast.Assign)]
    return bool(values) and all(is_zero(kernel, v) or ast.unparse(v).endswith(f".to({kernel.language}.float32)") for v in values)


def _fits(view: View, statement: ast.stmt, known: Shapes, shape: Shape, bound: set[str]) -> bool:
    """Each call computes element by element, and all that isn't ``bound`` in the loop is a number, or has the state's shape."""
    kernel = view.kernel
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript | ast.IfExp | ast.BoolOp | ast.NamedExpr | ast.Tuple | ast.List):
            return False
        if isinstance(node, ast.Call) and kernel.tl(node) not in ("load", "store") and not is_elementwise(view, node):
            return False
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id in bound:
            continue
        if (kernel.bindings(node.id) or node.id in kernel.parameters) and shape_of(kernel, node, known) not in ((), shape):
            return False
    return True


def _accesses(kernel: KernelView, loop: Loop) -> bool:
    """Every load and store of the loop is through a pointer."""
    calls = [n for s in loop.node.body for n in ast.walk(s) if kernel.tl(n) in ("load", "store")]
    return len(calls) == len(loop.accesses) and all(c in {a.call for a in loop.accesses} for c in calls)


def _own_places(view: View, walk: Walk) -> bool:
    """No two steps store to the same place: of a loop that says so with its variable, where pointers go on by themselves."""
    if not walk.pointers:
        return own_places(view, walk.loop)
    kernel, module, node = walk.kernel, walk.module, walk.loop.node
    name = kernel.free_name("step_at")
    edits = [module.replace(node.target, name)]
    for statement in node.body:
        if bound_names(statement) and bound_names(statement)[0] in walk.pointers:
            edits.append(module.replace(statement, "pass"))
            continue
        for n in ast.walk(statement):
            if isinstance(n, ast.Name) and n.id in walk.pointers and isinstance(n.ctx, ast.Load):
                edits.append(module.replace(n, f"({n.id} + {name} * {walk.pointers[n.id]})"))
            elif isinstance(n, ast.Name) and n.id == walk.loop.variable:
                edits.append(module.replace(n, name))
    text = module.text
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: edit.span.start] + edit.new + text[edit.span.end :]
    read = Module.read(module.path, text)
    other = KernelView.read(read, kernel.model, kernel.wrapped) if read is not None else None
    loop = next((x for x in other.loops() if x.variable == name), None) if other is not None else None
    return other is not None and loop is not None and own_places(evolve(view, kernel=other), loop)
