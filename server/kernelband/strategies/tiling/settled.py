"""Blocks that the host function computes: what they are in the cases, and where a number can stand in their place.

``BLOCK = min(1024, triton.next_power_of_2(n))``, ``BLOCK=self.block``, a helper's answer, a default of the kernel. Where the value has a
variable of its own the number is written there, or below what computes it, and whatever follows from it goes on to follow; else at the
launch and in its grid, if nothing else that the kernel gets is made of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import Knob, LaunchView, View
from kernelband.strategies.code.binding import paired
from kernelband.strategies.code.blocks import suites
from kernelband.strategies.code.copies import own_copies
from kernelband.strategies.code.guards import unguarded
from kernelband.strategies.code.literals import assigned, integer
from kernelband.strategies.code.spreading import spreads


def block_knob(view: View, launch: LaunchView, name: str) -> Knob | None:
    """The number of a block as it is written, or a place for one where it is the same in all cases."""
    if name in view.kernel.model.heuristics:
        return None
    knob = (None if spreads(launch, name) else launch.knob(name)) or settled(view, launch, name)
    return None if knob is not None and knob.in_grid and launch.lends_grid and not _by_meta(launch, name) else knob


def _by_meta(launch: LaunchView, name: str) -> bool:
    """The grid has the block as META's only: each kernel that is launched over it has its own."""
    value = launch.arguments.get(name)
    read = launch.meta is not None and launch.grid_reads(name)
    return read and value is not None and not any(isinstance(n, ast.expr) and same(n, value) for n in launch.grid_nodes())


def settled(view: View, launch: LaunchView, name: str) -> Knob | None:
    """A place for a number in place of what is computed; None where the cases differ, or something else is made of it."""
    numbers, value = view.numbers(name), launch.arguments.get(name)
    if len(numbers) != 1 or numbers[0] < 1 or (value is not None and integer(value) is not None):
        return None
    if value is None:
        return _default(view, launch, name, numbers[0])
    if isinstance(value, ast.Name) and len(launch.bindings(value.id)) > 1 and unguarded(view.kernel, name):
        return None  # of one branch it may be a divisor, and of another not
    if unguarded(view.kernel, name) and any(isinstance(n, ast.IfExp) for n in _behind(launch, value)):
        return None  # the same, in one line
    made, spread = _made(launch, value), spreads(launch, name)
    if made is not None and any(n is not made and isinstance(n, ast.expr) and same(n, made) for n in launch.grid_nodes()):
        return None  # ``block = self.block`` beside a grid of ``self.block``, which wouldn't follow
    if made is not None and isinstance(value, ast.Name) and not spread and not launch.shared(value.id) and not launch.gives_away(value.id):
        return Knob(name, numbers[0], ((launch.module, made),), launch.grid_reads(name))
    return _at_launch(launch, name, value, numbers[0]) or (None if spread else _below(launch, name, value, numbers[0]))


def same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are the same code."""
    return ast.unparse(one) == ast.unparse(other)


def _made(launch: LaunchView, value: ast.expr) -> ast.expr | None:
    """The code behind a variable of the host function that is bound once, by itself or among others, ``BK, BV = wide(K), min(V, 8)``."""
    bound = launch.bindings(value.id) if isinstance(value, ast.Name) and value.id not in launch.host_parameters else []
    first = bound[0] if len(bound) == 1 else None
    if not isinstance(value, ast.Name) or not isinstance(first, ast.Assign) or len(first.targets) != 1:
        return None
    return next((v for t, v in paired(first.targets[0], first.value) if isinstance(t, ast.Name) and t.id == value.id), None)


def _at_launch(launch: LaunchView, name: str, value: ast.expr, number: int) -> Knob | None:
    """The argument itself, with the grid's own mentions of the same code."""
    base = value.value if isinstance(value, ast.Subscript) else value
    if isinstance(base, ast.Name) and base.id in launch.host_parameters:
        return None  # a caller's choice
    places = [n for n in all_nodes(launch.grid) if isinstance(n, ast.expr) and same(n, value)]
    mentions = sum(isinstance(n, ast.expr) and same(n, value) for n in launch.grid_nodes())
    others = [v for k, v in launch.arguments.items() if k != name]
    if mentions != len(places) or (places and not launch.own_grid) or any(ast.unparse(value) in _made_of(launch, v) for v in others):
        return None
    spots = ((launch.module, value), *((launch.module, n) for n in places if n is not value))
    return Knob(name, number, spots, launch.grid_reads(name))


def _below(launch: LaunchView, name: str, value: ast.expr, number: int) -> Knob | None:
    """A line below the statements that compute a variable, ``if wide: BLOCK = 128`` and ``else: BLOCK = 64``: before anything reads it."""
    if launch.host is None or not isinstance(value, ast.Name) or value.id in launch.host_parameters:
        return None
    if launch.shared(value.id) or launch.gives_away(value.id):
        return None
    bound, around = launch.bindings(value.id), set(launch.module.around(launch.call))
    blocks = [b for n in launch.module.around(launch.call) for b in suites(n) if around & set(b)]
    block = next((b for b in blocks if set(bound) <= {n for s in b for n in all_nodes(s)}), list[ast.stmt]())
    computing = [s for s in block if any(n in bound for n in all_nodes(s))]
    last = computing[-1] if len(bound) > 1 and computing else None
    if last is None or last in around or last.lineno > launch.call.lineno:
        return None
    reads = [n for n in all_nodes(launch.host) if isinstance(n, ast.Name) and n.id == value.id and isinstance(n.ctx, ast.Load)]
    if any(n.lineno <= (last.end_lineno or last.lineno) for n in reads):
        return None
    if isinstance(last, ast.Assign) and (found := assigned(last, value.id)) is not None:
        return Knob(name, number, ((launch.module, found[1]),), launch.grid_reads(name))  # the line is there
    line = launch.module.after(last, [f"{value.id} = {{}}"])
    return None if line is None else Knob(name, number, (), launch.grid_reads(name), new_line=(launch.module, line))


def _made_of(launch: LaunchView, node: ast.expr) -> set[str]:
    """The code of everything in an expression and in the host variables that it is made of."""
    return {ast.unparse(inner) for inner in _behind(launch, node) if isinstance(inner, ast.expr)}


def _behind(launch: LaunchView, node: ast.expr) -> Iterator[ast.AST]:
    """The nodes of an expression, and of the host variables that it is made of."""
    seen: set[str] = set()
    queue: list[ast.AST] = [node]
    while queue:
        for inner in all_nodes(queue.pop()):
            yield inner
            if isinstance(inner, ast.Name) and inner.id not in seen:
                seen.add(inner.id)
                queue += [b.value for b in launch.bindings(inner.id) if isinstance(b, ast.Assign)]


def _default(view: View, launch: LaunchView, name: str, number: int) -> Knob | None:
    """The kernel's default, where its one launch passes nothing else; of several launches this one has to pass its number."""
    default = next((d for a, d in _defaults(view) if a == name), None)
    copies = own_copies(launch, name, number)
    if default is None or integer(default) != number or copies is None or launch.splat:
        return None
    own = tuple((launch.module, c) for c in copies)
    if view.whole and len(view.launches) == 1:
        return Knob(name, number, ((view.kernel.module, default), *own), launch.grid_reads(name))
    return Knob(name, number, own, launch.grid_reads(name), passed=True)


def _defaults(view: View) -> Iterator[tuple[str, ast.expr]]:
    given = view.kernel.node.args
    positional = [*given.posonlyargs, *given.args]
    if given.defaults:
        yield from ((a.arg, d) for a, d in zip(positional[-len(given.defaults) :], given.defaults, strict=True))
    yield from ((a.arg, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None)
