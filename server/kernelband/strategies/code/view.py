"""A program with its facts, ready for a move; and the way from edits to a proposal."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from math import prod
from typing import Any

from attrs import field, frozen

from kernelband.errors import SourceError
from kernelband.source.chunks import touched
from kernelband.source.form import MODULE
from kernelband.source.model import Edit, Program
from kernelband.source.patch import make_patch
from kernelband.source.scopes import scopes
from kernelband.source.syntax import syntax_tree
from kernelband.source.tree import BOM
from kernelband.strategies._base import Facts, Numerics, Proposal
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.module import Module
from kernelband.strategies.code.shapes import shape_of, shapes
from kernelband.strategies.code.wrapped import wrapped_ids
from kernelband_worker.wire import LaunchFacts

BYTES = {
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "int64": 8,
    "float64": 8,
}


@frozen(eq=False)
class View:
    """``Program`` and ``Facts`` as one: trees of the files, the kernel, its launches."""

    program: Program
    facts: Facts
    kernel: KernelView
    launches: tuple[LaunchView, ...]
    modules: dict[str, Module] = field(repr=False)

    @classmethod
    def read(cls, program: Program, facts: Facts) -> View | None:
        """None when the kernel's file does not parse, or none of its launches can be edited."""
        modules: dict[str, Module] = {}
        for path, text in program.texts.items():
            module = Module.read(path, text)
            if module is not None:
                modules[path] = module
        place = program.kernel.place
        wrapped = wrapped_ids(program, modules)
        kernel = KernelView.read(modules[place.path], program.kernel, wrapped) if place.path in modules else None
        if kernel is None:
            return None
        launches: list[LaunchView] = []
        for host in program.hosts:
            for launch in host.launches:
                module = modules.get(host.place.path)
                if module is None or launch.kernel != place:
                    continue
                view = LaunchView.read(module, launch, kernel)
                if view is not None and view.starts_only(place.qualname):
                    launches.append(view)
        return cls(program, facts, kernel, tuple(launches), modules)

    @property
    def called(self) -> tuple[LaunchView, ...]:
        """The launches in host functions that the cases call, for edits of single launches: one elsewhere could not be verified. All where
        that isn't known.
        """
        own = [x for c in self.facts.cases if not c.get("neighbour_of") for x in c["launches"] if x["target"]]
        places = {(f["path"], f["qualname"]) for x in own for f in x.get("callers", [])}
        hosts = [h for h in self.program.hosts if h.kind == MODULE or (h.place.path, h.place.qualname) in places]
        if not all(x.get("callers") for x in own) or all(h.kind == MODULE for h in hosts):
            return self.launches
        called = {id(x) for h in hosts for x in h.launches}
        return tuple(x for x in self.launches if id(x.model) in called)

    @property
    def whole(self) -> bool:
        """Every launch of the kernel is known and can be edited: only then may its signature or its grid's meaning change."""
        return bool(self.launches) and len(self.launches) == len(self.program.launches) and not self.program.handed_on

    # ------------------------------------------------------------ facts

    @property
    def target_launches(self) -> list[LaunchFacts]:
        """The launches of the kernel in the cases, those that are timed first."""
        ranked = sorted(self.facts.cases, key=lambda c: c.get("role") != "time")
        return [x for c in ranked if not c.get("neighbour_of") for x in c["launches"] if x["target"]]

    @property
    def timed_launches(self) -> list[LaunchFacts]:
        """Those of ``target_launches`` that are timed: how much work there is, they say, and not the small ones that are only checked. All
        where none is.
        """
        found = [x for c in self.facts.cases if c.get("role") == "time" and not c.get("neighbour_of") for x in c["launches"] if x["target"]]
        return found or self.target_launches

    def numbers(self, name: str) -> list[int]:
        """Values that the cases pass for an argument, constexpr or not, without repeats, in the order of the cases."""
        found = [{**x["scalars"], **x["constants"]}.get(name) for x in self.target_launches]
        return [x for x in dict.fromkeys(found) if type(x) is int]

    def timed(self, name: str) -> list[int]:
        """The values of an argument in the launches that are timed; of all where none is. For edits that ask at each launch."""
        values = [{**x["scalars"], **x["constants"]}.get(name) for x in self.timed_launches]
        return [x for x in dict.fromkeys(values) if type(x) is int]

    def option(self, name: str, default: int) -> int:
        """num_warps or num_stages of the first timed launch."""
        for launch in self.target_launches:
            return int({"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}[name])
        return default

    @property
    def itemsize(self) -> int:
        """Bytes of the largest element among the launches' floating or integer tensors that are not tables; 4 when nothing is known."""
        sizes = [BYTES.get(t["dtype"], 4) for x in self.target_launches for t in x["tensors"].values() if len(t["shape"]) > 1]
        return max(sizes or [BYTES.get(t["dtype"], 4) for x in self.target_launches for t in x["tensors"].values()] or [4])

    def programs(self, present: Mapping[str, int] | None = None) -> list[int]:
        """Programs of each launch that is timed; with blocks of the size ``present`` where the cases ran with others."""
        out: list[int] = []
        for launch in self.timed_launches:
            count = float(prod(launch["grid"]))
            for name, value in (present or {}).items():
                ran = launch["constants"].get(name)
                count *= (ran if type(ran) is int else value) / value
            out.append(max(1, round(count)))
        return out

    def sizes(self, block: str) -> list[int]:
        """Values of a block as the text has it now: written as a number, or the power of two that holds a size of the cases."""
        found: list[int] = []
        for launch in self.launches:
            knob = launch.knob(block)
            size = launch.held(block)
            if knob is not None:
                found.append(knob.value)
            elif size is not None:
                found += [min(1 << max(n - 1, 0).bit_length(), size[1]) for n in self.numbers(size[0])]
        return list(dict.fromkeys(found)) or self.numbers(block)

    @property
    def widest(self) -> int:
        """Elements of the largest block of a program; of its longest side in a kernel with products. 0 when unknown."""
        sides = {n: max(self.sizes(n), default=0) for n in self.kernel.aranges()}
        if not sides or self.kernel.calls({"dot", "dot_scaled"}):
            return max(sides.values(), default=0)
        known = shapes(self.kernel)
        accesses = [shape_of(self.kernel, a.pointer, known) or () for a in self.kernel.accesses()]
        squares = [s for s in accesses if len(s) > len({*s})]  # of one block both ways
        return max([prod(sides.values()), *(prod(sides.get(n, 1) for n in s) for s in squares)])

    def beside(self, blocks: Set[str]) -> int:
        """Elements that an access over one of the blocks, or a total, has along its other sides, the most of any; 1 for a line."""
        filled = [x.args[0] for x in self.kernel.calls({"zeros", "full"}) if x.args]
        made = [frozenset(ast.unparse(n) for n in x.elts) & {*self.kernel.aranges()} for x in filled if isinstance(x, ast.Tuple | ast.List)]
        others = [x - blocks for x in (*made, *(a.blocks for a in self.kernel.accesses())) if x & blocks]
        return max((prod(int(n) if n.isdecimal() else max(self.sizes(n), default=1) for n in names) for names in others), default=1)

    def summation(self) -> Numerics:
        """The class of an edit that may change the order of additions in this kernel."""
        return "reassociates" if self.kernel.sums else "exact"


@frozen(eq=False)
class At:
    """Where a proposal comes from: fills in what all proposals of a move share."""

    view: View
    strategy: str
    move: str

    def proposal(self, parameters: dict[str, Any], edits: Edits | None, numerics: Numerics, what: str, why: str) -> Proposal | None:
        """The proposal, or None: no edits, edits that collide, or a text that would not parse."""
        if not edits:
            return None
        by_path: dict[str, list[Edit]] = {}
        for path, edit in edits:
            if edit not in by_path.setdefault(path, []):
                by_path[path].append(edit)
        texts = self.view.program.texts
        try:
            patch = make_patch(texts, by_path)
            for file in patch.files:
                for piece in touched(scopes(texts[file.path]).chunks, texts[file.path], file):
                    syntax_tree(piece.removeprefix(BOM))
        except (SourceError, SyntaxError, ValueError):
            return None
        return Proposal(self.strategy, self.move, parameters, patch, numerics, what, why) if patch.files else None


#: The view that was read last, with what it is of: all moves of a program ask for it, one after the other.
_LAST: list[tuple[Program, Facts, View | None]] = []


def _view(program: Program, facts: Facts) -> View | None:
    for of, given, view in tuple(_LAST):
        if of is program and given is facts:
            return view
    view = View.read(program, facts)
    _LAST[:] = [(program, facts, view)]
    return view


def moving(strategy: str, move: str, body: Callable[[At], Iterable[Proposal | None]], program: Program, facts: Facts) -> Iterator[Proposal]:
    """Proposals that ``body`` makes of the program's view, without the holes; nothing when there is no view."""
    view = _view(program, facts)
    if view is not None:
        for proposal in body(At(view, strategy, move)):
            if proposal is not None:
                yield proposal
