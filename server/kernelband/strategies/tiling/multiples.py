"""Larger blocks for kernels without masks, where the host function sees that they divide the sizes; elsewhere they stay as they are.

``kernel[(M // 32, N // 32)](..., BM=32, BN=32)`` is right for any multiple of 32, and with 128 for multiples of 128 only. So the launch
asks: ``whole = M % 128 == 0 and N % 128 == 0`` above it, and ``128 if whole else 32`` where the numbers stood.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from attrs import field, frozen

from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies.code import Knob, LaunchView, View
from kernelband.strategies.code.blocks import siblings
from kernelband.strategies.code.guards import unguarded
from kernelband.strategies.code.kernel import KernelView, Loop
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import definition
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.resizing import resizable

READ = ast.Name | ast.Attribute | ast.Subscript | ast.BinOp | ast.Constant | ast.expr_context | ast.operator  # what a size is made of
FLAGS = ("whole", "whole_tiles", "divides")


@frozen(eq=False)
class Whole:
    """What blocks of a launch have to divide. ``sizes`` by block: code of the host function, and the values that the cases have."""

    kernel: KernelView
    launch: LaunchView
    knobs: Mapping[str, Knob]
    sizes: Mapping[str, Mapping[str, list[int]]] = field(repr=False)

    @classmethod
    def read(cls, view: View, launch: LaunchView, knobs: Mapping[str, Knob]) -> Whole:
        """Of the blocks that have no masks, and where a question can be asked before their numbers are read."""
        sizes: dict[str, dict[str, list[int]]] = {}
        if any(isinstance(n, ast.While) for n in view.kernel.nodes):
            return cls(view.kernel, launch, knobs, sizes)
        for name, knob in knobs.items():
            if knob.passed or knob.new_line is not None or not unguarded(view.kernel, name) or not resizable(view, name):
                continue
            grid = [*_in_grid(view, launch, knob)]
            found = [*grid, *_in_loops(view, launch, name)]
            if not grid and _dealt(view, name):
                continue
            own = {launch.module.code(n): lengths for n, lengths in found if n is not None}
            if own and len(found) == len([n for n, _ in found if n is not None]):
                sizes[name] = own
        whole = cls(view.kernel, launch, knobs, sizes)
        return whole if whole._place({*sizes}) is not None else cls(view.kernel, launch, knobs, {})

    def fits(self, block: str, size: int) -> bool:
        """A block of that size is right where the host function finds that it divides, as it does in the cases."""
        sizes = self.sizes.get(block, {})
        return bool(sizes) and all(n % size == 0 for each in sizes.values() for n in each)

    def computed(self, block: str) -> bool:
        """The host function computes it, and for other sizes it may be smaller than in the cases: less than it is there isn't less."""
        return unguarded(self.kernel, block) and any(integer(n) is None for _, n in self.knobs[block].places)

    def grown(self, blocks: Mapping[str, int]) -> dict[str, int]:
        """Those of the blocks that have no masks, and another size that isn't a part of what it was."""
        own = {n: self.knobs[n].value for n in blocks if n in self.sizes}
        return {n: v for n, v in blocks.items() if n in own and v != own[n] and (v > own[n] or self.computed(n))}

    def told(self, grown: Mapping[str, int]) -> str:
        """Where they are larger, in words."""
        by_size: dict[int, list[str]] = {}
        for block, size in grown.items():
            by_size.setdefault(size, []).extend(c for c in self.sizes[block] if c not in by_size.get(size, ()))
        parts = [f"{size} divides {' and '.join(codes)}" for size, codes in by_size.items()]
        return f", where {', and '.join(parts)}"

    def edits(self, blocks: Mapping[str, int], options: Mapping[str, int | str], present: Mapping[str, int]) -> Edits | None:
        """The question, and the answers in place of the numbers.

        Args:
            blocks: the new sizes, ``grown`` ones among them.
            options: launch options that change.
            present: what they are now.
        """
        changed = {n: v for n, v in blocks.items() if v != self.knobs[n].value}
        place, flag, launch = self._place({*changed}), _flag(self.launch), self.launch
        if place is None or flag is None:
            return None
        asked = dict.fromkeys(f"{_atom(code)} % {v} == 0" for n, v in self.grown(changed).items() for code in self.sizes[n])
        line = launch.module.before(place, [f"{flag} = {' and '.join(asked)}  # blocks without masks must divide these"])
        passed = {k.arg: k.value for k in launch.keywords}
        chosen = {n: v if isinstance(passed.get(n), ast.Name) else f"{v} if {flag} else {present[n]}" for n, v in options.items()}
        set_options = launch.set_options(chosen) if chosen else []
        if line is None or set_options is None:
            return None
        edits: Edits = [(launch.module.path, line), *set_options]
        for name, new in changed.items():
            old = self.knobs[name].value
            for module, node in self.knobs[name].places:
                less, was = 1 if integer(node) == old - 1 else 0, module.code(node)
                edits.append((module.path, module.replace(node, f"({new - less} if {flag} else {was})")))
        return edits

    def _place(self, blocks: set[str]) -> ast.stmt | None:
        """The statement that reads one of the numbers first: what is asked has its value there already, and keeps it."""
        module, host = self.launch.module, self.launch.host
        nodes = [n for b in blocks for m, n in self.knobs[b].places if m is module]
        if host is None or len(nodes) != sum(len(self.knobs[b].places) for b in blocks):
            return None
        inside = set(all_nodes(host))
        around = {*module.around(self.launch.call)}
        first = min([*nodes, self.launch.call], key=lambda n: n.lineno)
        if any(n not in inside for n in nodes):
            return None
        blocks_of = [n for n in module.around(first) if isinstance(n, ast.stmt)]
        place = next((s for s in blocks_of if s in around or set(siblings(module, s)) & around), None)
        if place is None or place is host or any(isinstance(n, ast.FunctionDef | ast.Lambda) for n in blocks_of[: blocks_of.index(place)]):
            return None
        return place if all(self._known(code, place) for b in blocks for code in self.sizes.get(b, ())) else None

    def _known(self, code: str, place: ast.stmt) -> bool:
        """Every name of the code is bound above the statement, in its block or one around it, and not again before the launch."""
        module, launch = self.launch.module, self.launch
        names = {n.id for n in all_nodes(expression_tree(code)) if isinstance(n, ast.Name)}
        above: set[ast.stmt] = set()
        for statement in [place, *(n for n in module.around(place) if isinstance(n, ast.stmt))]:
            block = siblings(module, statement)
            above |= set(block[: block.index(statement)]) if statement in block else set()
        for name in names:
            bound = launch.bindings(name)
            if not bound and name in launch.host_parameters:
                continue
            if len(bound) != 1 or bound[0] not in above or name in launch.host_parameters:
                return False
        return True


def _flag(launch: LaunchView) -> str | None:
    taken = {n.id for n in all_nodes(launch.host or launch.module.tree) if isinstance(n, ast.Name)} | launch.host_parameters
    return next((n for n in FLAGS if n not in taken), None)


def _atom(code: str) -> str:
    return code if code.replace("_", "a").replace(".", "a").replace("[", "a").replace("]", "a").isalnum() else f"({code})"


def _plain(node: ast.expr) -> bool:
    """Asking for it does nothing else."""
    return all(isinstance(n, READ) for n in all_nodes(node))


def _dealt(view: View, block: str) -> bool:
    """Programs begin ``pid * BLOCK`` apart: their number must follow the block."""
    kernel = view.kernel
    products = [n for n in kernel.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) and block in kernel.tokens(n)]
    return any(t.startswith("@") for n in products for t in kernel.tokens(n))


def _in_grid(view: View, launch: LaunchView, knob: Knob) -> Iterator[tuple[ast.expr | None, list[int]]]:
    """What the grid divides by the block, with its lengths; None where it does something else with it."""
    value = launch.arguments.get(knob.name)
    own = set[ast.expr]() if isinstance(value, ast.Name) else {n for _, n in knob.places}
    words = {f"{launch.meta}['{knob.name}']", value.id if isinstance(value, ast.Name) else ""}
    mentions = [n for n in launch.grid_nodes() if isinstance(n, ast.expr) and (n in own or ast.unparse(n) in words)]
    sides, inside = launch.sides() or [], set[ast.AST]()
    for node in launch.grid_nodes():
        quotient = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
        pair = (divisor(node) if isinstance(node, ast.expr) else None) or (
            (node.left, node.right) if quotient and isinstance(node, ast.BinOp) else None
        )
        if pair is None or pair[1] not in mentions:
            continue
        inside |= set(all_nodes(node))
        axis = next((i for i, side in enumerate(sides) if node in set(all_nodes(side))), None)
        counts = {x["grid"][axis] for x in view.timed_launches if axis is not None and axis < len(x["grid"])}
        parameter = launch.parameter_of(pair[0])
        lengths = view.timed(parameter) if parameter is not None else [n * knob.value for n in counts]
        yield (pair[0] if _plain(pair[0]) and not set(mentions) & set(all_nodes(pair[0])) else None), lengths
    if any(n not in inside for n in mentions):
        yield None, []


def _in_loops(view: View, launch: LaunchView, block: str) -> Iterator[tuple[ast.expr | None, list[int]]]:
    """What loops in steps of the block end at, with its lengths; None where they don't go from 0 to an argument."""
    kernel = view.kernel
    for loop in kernel.loops():
        end = _end(view, loop, block)
        if end is None:
            continue
        name = end.id if isinstance(end, ast.Name) and end.id in kernel.parameters and not kernel.bindings(end.id) else None
        passed = launch.arguments.get(name) if name is not None else None
        yield (passed if passed is not None and _plain(passed) else None), view.timed(name) if name is not None else []


def _end(view: View, loop: Loop, block: str) -> ast.expr | None:
    """N of ``range(0, N, BLOCK)`` and ``range(N // BLOCK)``; the loop's own end where it reads the block in another way."""
    kernel, stop = view.kernel, loop.stop
    bound = definition(kernel, stop.id, loop.node) if isinstance(stop, ast.Name) else None
    stop = stop if bound is None else bound.value
    from_zero = loop.start is None or integer(loop.start) == 0
    if loop.step is not None and ast.unparse(loop.step) == block:
        return loop.stop if from_zero else ast.Constant(0)
    quotient = (stop.left, stop.right) if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.FloorDiv) else divisor(stop)
    if quotient is not None and ast.unparse(quotient[1]) == block and loop.step is None and from_zero:
        return quotient[0]
    bounds = [e for e in (loop.start, loop.stop, loop.step) if e is not None]
    return ast.Constant(0) if any(block in kernel.tokens(e) for e in bounds) else None
