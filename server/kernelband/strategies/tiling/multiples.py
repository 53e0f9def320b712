"""Larger blocks for kernels without masks, where the host function sees that they divide the sizes; elsewhere they stay as they are.

``kernel[(M // 32, N // 32)](..., BM=32, BN=32)`` is right for any multiple of 32, and with 128 for multiples of 128 only. So the launch
asks: ``whole = M % 128 == 0 and N % 128 == 0`` above it, and ``128 if whole else 32`` where the numbers stood.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from attrs import field, frozen

from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies.code import Knob, LaunchView, View
from kernelband.strategies.code.blocks import siblings
from kernelband.strategies.code.guards import unguarded
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.resizing import resizable
from kernelband.strategies.tiling.dividends import dividends

SCOPES = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
STRAIGHT = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Assert  # statements after which the next one comes
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
        alone = sum(x.host is launch.host for x in view.launches) == 1  # another launch would read the same numbers
        if not alone or any(isinstance(n, ast.While) for n in view.kernel.nodes):
            return cls(view.kernel, launch, knobs, sizes)
        for name, knob in knobs.items():
            if knob.passed or knob.new_line is not None or not unguarded(view.kernel, name) or not resizable(view, name):
                continue
            found = dividends(view, launch, knob)
            own = {launch.module.code(n): lengths for n, lengths in found if n is not None}
            if own and all(n is not None for n, _ in found):
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
        """The statement that reads one of the numbers first, where the launch follows for sure. What is asked is known there, and stays."""
        module, host = self.launch.module, self.launch.host
        nodes = [n for b in blocks for m, n in self.knobs[b].places if m is module]
        if host is None or len(nodes) != sum(len(self.knobs[b].places) for b in blocks) or not set(nodes) <= set(all_nodes(host)):
            return None
        if any(isinstance(n, ast.Global | ast.Nonlocal) for n in all_nodes(host)):
            return None
        around = list(module.around(self.launch.call))
        last = next((n for n in around if isinstance(n, ast.stmt)), None)
        if last is None or any(isinstance(n, SCOPES) for n in around[: around.index(last)]):
            return None
        block = siblings(module, last)
        owners = [[s for s in module.around(n) if isinstance(s, ast.stmt) and s in block] for n in (*nodes, self.launch.call)]
        if not all(owners):
            return None
        first = min(block.index(found[0]) for found in owners)
        if not all(isinstance(s, STRAIGHT) for s in block[first : block.index(last)]) or not isinstance(last, STRAIGHT | ast.Return):
            return None
        place = block[first]
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
