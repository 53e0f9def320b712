"""Whether a mask's limit can be computed before a loop and compared with the loop's own bounds."""

from __future__ import annotations

import ast

from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies.code import Loop, View
from kernelband.strategies.code.shapes import Shapes, shape_of, shapes

PURE = frozenset({"program_id", "num_programs", "cdiv", "minimum", "maximum"})
OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod


class Limits:
    """Whether a number can be compared with the loop's own bounds before the loop: it is one number, bound for sure, of their type."""

    def __init__(self, view: View, loop: Loop) -> None:
        self.view, self.loop = view, loop
        self.known: Shapes = shapes(view.kernel)
        self.of_stop = self._reached(loop.stop)

    def comparable(self, code: str) -> bool:
        """Of an expression, as code before the loop."""
        read = [n for n in all_nodes(expression_tree(code).body) if isinstance(n, ast.Name) and n.id != self.view.kernel.language]
        return all(self._number(n.id) for n in read)

    def _number(self, name: str) -> bool:
        kernel = self.view.kernel
        at = ast.Name(name)
        at.lineno = self.loop.node.lineno
        if shape_of(kernel, at, self.known) != () or not self._bound(name):
            return False
        return name in self.of_stop or self._short(name, 8)

    def _short(self, name: str, depth: int) -> bool:
        """It is a whole number of 32 bits: a constexpr, an argument, or made of such; what is loaded may be anything."""
        kernel, launches = self.view.kernel, self.view.target_launches
        if depth == 0 or name == kernel.language:
            return name == kernel.language
        bindings = kernel.bindings(name)
        if name in kernel.parameters:
            given = [{**x["scalars"], **x["constants"]}.get(name) for x in launches]
            return not bindings and (name in kernel.constexprs or (bool(given) and all(type(v) is int for v in given)))
        values = [
            b.value if isinstance(b, ast.Assign) and len(b.targets) == 1 and isinstance(b.targets[0], ast.Name) else None for b in bindings
        ]
        return bool(values) and all(v is not None and self._pure(v, depth - 1) for v in values)

    def _pure(self, node: ast.expr, depth: int) -> bool:
        for part in all_nodes(node):
            if isinstance(part, ast.Name) and not self._short(part.id, depth):
                return False
            if isinstance(part, ast.Constant) and type(part.value) not in (int, bool):
                return False
            if isinstance(part, ast.Call) and self.view.kernel.tl(part) not in PURE:
                return False
            if isinstance(part, ast.operator) and not isinstance(part, OPERATORS):
                return False
        return True

    def _bound(self, name: str) -> bool:
        """On every way to the loop."""
        kernel = self.view.kernel
        if name in kernel.parameters:
            return True
        around = set(kernel.module.around(self.loop.node))
        before = [b for b in kernel.bindings(name) if b.lineno < self.loop.node.lineno]
        if any(kernel.module.parents.get(b) in around and not isinstance(kernel.module.parents.get(b), ast.If) for b in before):
            return True
        for branch in {p for b in before if isinstance(p := kernel.module.parents.get(b), ast.If)}:
            sides = [any(s in before for s in side) for side in (branch.body, branch.orelse)]
            if all(sides) or (branch in around and any(self.loop.node in set(all_nodes(s)) for s in branch.body) and sides[0]):
                outer = kernel.module.parents.get(branch)
                return outer in around and not isinstance(outer, ast.If)
        return False

    def _reached(self, node: ast.expr) -> set[str]:
        """Names that it is made of, over the statements that bind them."""
        kernel, found = self.view.kernel, set[str]()
        queue: list[ast.expr] = [node]
        while queue:
            for name in {n.id for n in all_nodes(queue.pop()) if isinstance(n, ast.Name)} - found:
                found.add(name)
                queue += [b.value for b in kernel.bindings(name) if isinstance(b, ast.Assign | ast.AugAssign)]
        return found
