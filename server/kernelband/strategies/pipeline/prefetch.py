"""``prefetch``: a loop that reads block after block asks for the next one before it uses this one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from attrs import frozen

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Loop, Module, View
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.view import moving
from kernelband.strategies.pipeline.loops import NAME, lines, load_loops


class Prefetch:
    """The first block is loaded before the loop, each iteration loads the next; in registers, where ``loop_stages`` takes shared memory."""

    name = "prefetch"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _prefetch, program, facts)


@frozen(eq=False)
class Walk:
    """``for v in range(S, N, BLOCK)`` that starts with ``cols = v + tl.arange(0, BLOCK)``, masks of them, and loads under ``cols < N``."""

    loop: Loop
    indices: str
    arange: str  # code of ``tl.arange(0, BLOCK)``
    masks: Mapping[str, ast.expr]
    loads: tuple[tuple[ast.Assign, ast.Call], ...]  # statement and the load in it


def _prefetch(at: At) -> Iterator[Proposal | None]:
    view = at.view
    walks = [w for x in load_loops(view) if (w := _walk(view, x)) is not None]
    edits: Edits = []
    for walk in walks:
        more = _edits(view, walk)
        if more is None:
            return
        edits += more
    loops = [w.loop for w in walks]
    if loops:
        yield at.proposal(
            {},
            edits,
            "exact",
            f"The {lines(loops)} loads the next block before using the present one."
            if len(loops) == 1
            else f"The {lines(loops)} load the next block before using the present one.",
            "Its loads feed no product, so nothing else overlaps the wait for memory with the arithmetic of the block before.",
        )


def _walk(view: View, loop: Loop) -> Walk | None:
    kernel = view.kernel
    if (
        loop.has_dot
        or loop.step is None
        or loop.call.keywords
        or loop.node.orelse
        or any(a.store for a in loop.accesses)
        or kernel.calls(ATOMICS)
    ):
        return None
    if any(isinstance(n, ast.Break | ast.Continue) for n in all_nodes(loop.node)):
        return None
    body = loop.node.body
    first = _assigned(body[0])
    if first is None or not isinstance(first[1], ast.BinOp) or not isinstance(first[1].op, ast.Add):
        return None
    sides = [first[1].left, first[1].right]
    arange = next((s for s in sides if kernel.tl(s) == "arange" and isinstance(s, ast.Call) and len(s.args) == 2), None)
    counter = next((s for s in sides if isinstance(s, ast.Name) and s.id == loop.variable), None)
    if counter is None or not isinstance(arange, ast.Call) or integer(arange.args[0]) != 0:
        return None
    if ast.unparse(arange.args[1]) != ast.unparse(loop.step):
        return None
    own = {n.id for n in all_nodes(loop.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    masks: dict[str, ast.expr] = {}
    loads: list[tuple[ast.Assign, ast.Call]] = []
    for statement in body[1:]:
        pair = _assigned(statement)
        calls = [n for n in all_nodes(statement) if isinstance(n, ast.Call) and kernel.tl(n) == "load"]
        known = {first[0], *masks}
        if pair is not None and len(calls) == 1 and isinstance(statement, ast.Assign) and _ends(calls[0], first[0], loop, masks):
            reads = {n.id for n in all_nodes(calls[0]) if isinstance(n, ast.Name)} & own
            if reads - known or pair[0] in known:
                break
            loads.append((statement, calls[0]))
        elif pair is not None and not calls and isinstance(pair[1], ast.Compare) and not loads:
            if ({n.id for n in all_nodes(pair[1]) if isinstance(n, ast.Name)} & own) - known:
                break
            masks[pair[0]] = pair[1]
        else:
            break
    # Every load of the loop comes along: one left behind would still be waited for.
    if not loads or len(loads) != sum(not a.store for a in loop.accesses) or len({p for s, _ in loads for p in _targets(s)}) != len(loads):
        return None
    return Walk(loop, first[0], kernel.module.code(arange), masks, tuple(loads))


def _ends(load: ast.Call, indices: str, loop: Loop, masks: Mapping[str, ast.expr]) -> bool:
    """The load's mask is ``indices < stop``, alone or with others, so that a block past the end reads nothing."""
    mask = next((k.value for k in load.keywords if k.arg == "mask"), load.args[1] if len(load.args) > 1 else None)
    if any(k.arg is None for k in load.keywords) or any(isinstance(a, ast.Starred) for a in load.args):
        return False
    stop = ast.unparse(loop.stop)
    queue = [mask]
    while queue:
        part = queue.pop()
        if isinstance(part, ast.Name) and part.id in masks:
            queue.append(masks[part.id])
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitAnd):
            queue += [part.left, part.right]
        elif isinstance(part, ast.Compare) and ast.unparse(part) == f"{indices} < {stop}":
            return True
    return False


def _edits(view: View, walk: Walk) -> Edits | None:
    module, kernel, loop = view.kernel.module, view.kernel, walk.loop
    assert loop.step is not None
    ahead = kernel.free_name(f"next_{walk.indices}")
    start = walk.arange if loop.start is None or integer(loop.start) == 0 else f"{module.code(loop.start)} + {walk.arange}"
    before, inside = [f"{ahead} = {start}"], [f"{ahead} = {walk.indices} + {module.code(loop.step)}"]
    edits: Edits = []
    # Masks are written out with the next indices.
    words = {walk.indices: ahead}
    for mask, test in walk.masks.items():
        words[mask] = f"({_renamed(module, test, words)})"
    for statement, load in walk.loads:
        name = kernel.free_name(f"next_{_targets(statement)[0]}")
        line = f"{name} = {_renamed(module, load, words)}"
        before.append(line)
        inside.append(line)
        edits.append((module.path, module.replace(load, name)))
    head = module.before(loop.node, before)
    tail = module.after(walk.loads[-1][0], inside)
    if head is None or tail is None:
        return None
    return [(module.path, head), *edits, (module.path, tail)]


def _renamed(module: Module, node: ast.expr, ahead: dict[str, str]) -> str:
    """The code of ``node`` with other words for those names; on one line."""
    span = module.span(node)
    text = module.text[span.start : span.end]
    names = [n for n in all_nodes(node) if isinstance(n, ast.Name) and n.id in ahead]
    for name in sorted(names, key=lambda n: module.span(n).start, reverse=True):
        place = module.span(name)
        text = text[: place.start - span.start] + ahead[name.id] + text[place.end - span.start :]
    return text if "\n" not in text and "\r" not in text else ast.unparse(expression_tree(text))


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return None


def _targets(statement: ast.Assign) -> list[str]:
    return [t.id for t in statement.targets if isinstance(t, ast.Name)]
