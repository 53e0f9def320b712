"""The launch parameters of a program, and the program without them: two programs with the same rest differ in nothing else."""

from __future__ import annotations

import ast
from collections.abc import Collection
from hashlib import sha256

from attrs import field, frozen

from kernelband.source.model import Program
from kernelband.source.syntax import syntax_tree
from kernelband.source.tree import BOM
from kernelband.strategies._base import Facts
from kernelband.strategies.code import Knob, LaunchView, View
from kernelband.strategies.code.literals import integer
from kernelband.strategies.tiling.candidates import written

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
DEFAULTS = {"num_warps": 4, "num_stages": 3}  # where neither the text nor a launch of the cases tells

Place = tuple[str, int, int]  # path, line and column of a node


@frozen(eq=False)
class Parameters:
    """Of a program with one launch. ``values`` by constexpr, in the kernel's order, and by option; ``rest`` is a hash."""

    view: View = field(repr=False)
    launch: LaunchView = field(repr=False)
    knobs: dict[str, Knob] = field(repr=False)
    values: dict[str, int]
    rest: str

    @classmethod
    def read(cls, program: Program, facts: Facts) -> Parameters | None:
        """None where the launch isn't the only one, stands outside of functions, or gets parameters from an autotuner or ``**kwargs``."""
        view = View.read(program, facts)
        if view is None or len(view.launches) != 1 or not view.whole or program.kernel.autotuned or program.kernel.configs:
            return None
        launch, kernel = view.launches[0], view.kernel
        if any(k.arg is None for k in launch.call.keywords) or launch.host is None:
            return None
        names = [n for n in kernel.parameters if n in kernel.constexprs and n not in program.kernel.heuristics]
        knobs = {n: knob for n in names if (knob := launch.knob(n)) is not None}
        places = {_place(module.path, node) for knob in knobs.values() for module, node in knob.places}
        values = {name: knob.value for name, knob in knobs.items()}
        for name in OPTIONS:
            passed = next((k.value for k in launch.call.keywords if k.arg == name), None)
            variable = launch.number(passed.id) if isinstance(passed, ast.Name) else None
            if variable is not None:
                places.add(_place(launch.module.path, variable[1]))
            if (passed is None and name in DEFAULTS) or variable is not None or integer(passed) is not None:
                values[name] = written(launch, name, view.option(name, DEFAULTS[name]) if name in DEFAULTS else 0)
        rest = _rest(launch, program, places, values)
        return None if rest is None else cls(view, launch, knobs, values, rest)

    def differing(self, other: Parameters) -> list[str]:
        """Names of what the two launches pass differently."""
        return [name for name, value in self.values.items() if other.values.get(name) != value]


def _place(path: str, node: ast.expr) -> Place:
    return path, node.lineno, node.col_offset


def _rest(launch: LaunchView, program: Program, places: Collection[Place], values: Collection[str]) -> str | None:
    """None when a file doesn't parse."""
    dropped = {name for name in OPTIONS if name in values}
    call = _place(launch.module.path, launch.call)
    trees: list[str] = []
    for path in sorted(program.texts):
        try:
            tree = syntax_tree(program.texts[path].removeprefix(BOM))
        except (SyntaxError, ValueError):
            return None
        trees.append(ast.dump(_Blank(path, places, call, dropped).visit(tree)))
    return sha256("\0".join([*trees, *sorted(values)]).encode("utf-8", "surrogatepass")).hexdigest()


class _Blank(ast.NodeTransformer):
    """Takes the numbers at ``places`` out of a tree, and the options of one call."""

    def __init__(self, path: str, places: Collection[Place], call: Place, dropped: Collection[str]) -> None:
        self._path, self._places, self._call, self._dropped = path, places, call, dropped

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name("_") if _place(self._path, node) in self._places else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if _place(self._path, node) == self._call:
            node.keywords = [k for k in node.keywords if k.arg not in self._dropped]
        self.generic_visit(node)
        return node
