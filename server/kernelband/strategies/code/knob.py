"""A number of a launch, and the edits that make it another one."""

from __future__ import annotations

import ast

from attrs import frozen

from kernelband.source.model import Edit
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.module import Module

Edits = list[tuple[str, Edit]]  # (path, edit)

#: What a launch passes to Triton, not to the kernel.
OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "grid", "warmup", "stream"})


@frozen(eq=False)
class Knob:
    """A number that the user wrote for a constexpr or an option, and every place that has to change with it."""

    name: str
    value: int
    places: tuple[tuple[Module, ast.expr], ...]  # the literals, the grid's own copies included; 255 in ``(n + 255) // 256`` is one too
    in_grid: bool  # the number of programs follows from it
    passed: bool = False  # the kernel has a default for it, and other launches rely on that: this one has to pass the new number, too
    new_line: tuple[Module, Edit] | None = None  # with {} for the number: where several statements compute it

    def edit(self, new: int | str) -> Edits:
        """The edits that make it ``new``; none when it has that value."""
        if new == self.value:
            return []
        less = str(new - 1) if isinstance(new, int) else f"{new} - 1"
        edits = [(m.path, m.replace(node, less if integer(node) == self.value - 1 else str(new))) for m, node in self.places]
        if self.new_line is not None:
            module, line = self.new_line
            edits.append((module.path, Edit(line.span, line.new.format(new))))
        return edits
