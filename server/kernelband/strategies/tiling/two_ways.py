"""``by_size`` where two variants differ in more than launch parameters: both ways to launch in the host function, and both kernels.

What the host function does alike stays as it is; the statements that differ stand under a condition on the size. A second kernel comes
right after the first, under the first one's name with ``_small`` or ``_large``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from attrs import field, frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Numerics, Proposal
from kernelband.strategies.code import At, LaunchView, Module, View
from kernelband.strategies.code.blocks import lines, names_bound, names_read
from kernelband.strategies.code.module import FunctionNode
from kernelband.strategies.tiling.by_size import MEASURED, MOVE, Sides, known


def two_ways(
    programs: tuple[Program, Program], facts: tuple[Facts, Facts], sides: Sides, numerics: Numerics, why: str, *, small: bool
) -> Proposal | None:
    """The first program, with the launch and kernel of the second on one side of a size.

    None where they differ outside of the kernel and one host function, or the host function has no place for the condition.

    Args:
        programs: the one that is edited, and the other.
        facts: of the same.
        sides: what the choice is between.
        numerics: the looser class of the two variants.
        why: the fact behind it.
        small: the first program is the one for the small sizes.
    """
    own, other = (_Parts.read(p, f) for p, f in zip(programs, facts, strict=True))
    if own is None or other is None or own.rest != other.rest or own.kernel.name != other.kernel.name:
        return None
    ranges = _ranges(own, other)
    again = ast.dump(own.kernel) != ast.dump(other.kernel)
    name = own.free_name(f"{own.kernel.name}_{'large' if small else 'small'}") if again else own.kernel.name
    rows = (own.rows(ranges[0], own.kernel.name), other.rows(ranges[1], name))
    if rows[0] is None or rows[1] is None or (not again and rows[0] == rows[1]) or not _sound(own, other, ranges, sides.size):
        return None
    edits = [own.branch(ranges[0], f"if {sides.size} <= {sides.up_to}:{MEASURED}", rows if small else rows[::-1])]
    if again:
        edits.append(own.beside(other.kernel_text(name)))
    which = [
        f"{k} as {_who(n)} launches it"
        for k, n in ((own.kernel.name if small else name, sides.small), (name if small else own.kernel.name, sides.large))
    ]
    what = f"Chooses by {sides.size}: {which[0]} up to {sides.up_to}, {which[1]} above."
    return At(own.view, "tiling", MOVE).proposal(dict(sides.parameters), [(own.module.path, e) for e in edits], numerics, what, why)


def _who(number: int) -> str:
    return f"variant {number}" if number else "the original"


@frozen(eq=False)
class _Parts:
    """A program with one launch, in one file with its kernel. ``rest``: all that is neither the kernel nor the host function's body."""

    view: View = field(repr=False)
    launch: LaunchView = field(repr=False)
    kernel: FunctionNode = field(repr=False)
    host: FunctionNode = field(repr=False)
    at: int  # of the launch among the host function's statements
    rest: tuple[str, ...] = field(repr=False)

    @property
    def module(self) -> Module:
        return self.launch.module

    @classmethod
    def read(cls, program: Program, facts: Facts) -> _Parts | None:
        view = View.read(program, facts)
        if view is None or len(view.launches) != 1 or not view.whole or program.kernel.autotuned or len(view.modules) != len(program.texts):
            return None
        launch, kernel = view.launches[0], view.kernel.node
        if (
            launch.host is None
            or launch.module is not view.kernel.module
            or kernel not in launch.module.tree.body
            or not kernel.decorator_list
        ):
            return None
        around = set(launch.module.around(launch.call))
        at = next((i for i, s in enumerate(launch.host.body) if s in around), None)
        if at is None:
            return None
        rest = tuple(_without(view.modules[path].tree, kernel, launch.host) for path in sorted(view.modules))
        return cls(view, launch, kernel, launch.host, at, rest)

    def free_name(self, name: str) -> str:
        """``name``, with underscores until nothing in the file is called that."""
        taken = {getattr(n, "id", None) or getattr(n, "name", None) or getattr(n, "arg", None) for n in all_nodes(self.module.tree)}
        while name in taken:
            name += "_"
        return name

    def rows(self, which: range, kernel: str) -> list[str] | None:
        """The lines of those statements, one level deeper, with that name for the kernel; None where they can't be moved."""
        body = self.host.body[which.start : which.stop]
        ends = [lines(self.module, s) for s in (body[0], body[-1])]
        strings = (
            n
            for s in body
            for n in all_nodes(s)
            if isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str))
        )
        if ends[0] is None or ends[1] is None or any(n.lineno != n.end_lineno for n in strings):
            return None
        names = [n for s in body for n in all_nodes(s) if isinstance(n, ast.Name) and n.id == self.kernel.name]
        text, at = "", ends[0].start
        for place in sorted(self.module.span(n) for n in names):
            text += self.module.text[at : place.start] + kernel
            at = place.end
        text += self.module.text[at : ends[1].end]
        return [self.module.unit + row if row.strip() else row for row in text.splitlines()]

    def branch(self, which: range, condition: str, rows: Sequence[list[str] | None]) -> Edit:
        """Both ways under the condition, in the place of those statements."""
        body = self.host.body[which.start : which.stop]
        indent = self.module.indent(body[0]) or ""
        span = Span(self.module.line_start(self.module.span(body[0]).start), self.module.line_end(self.module.span(body[-1]).end))
        both = [f"{indent}{condition}", *(rows[0] or []), f"{indent}else:", *(rows[1] or [])]
        return Edit(span, self.module.newline.join(both))

    def kernel_text(self, name: str) -> str:
        """The kernel with its decorators, under another name."""
        start, head, end = self.module.line_start(self.module.span(self.kernel.decorator_list[0]).start), *_ends(self.module, self.kernel)
        return self.module.text[start:head] + re.sub(r"^(def\s+)\w+", rf"\g<1>{name}", self.module.text[head:end])

    def beside(self, text: str) -> Edit:
        """Another function after the kernel."""
        _, end = _ends(self.module, self.kernel)
        return Edit(Span(end, end), f"{self.module.newline * 3}{text}")


def _ends(module: Module, function: FunctionNode) -> tuple[int, int]:
    """Offsets of ``def`` and of the last line's end."""
    span = module.span(function)
    return span.start, module.line_end(span.end)


def _without(tree: ast.Module, kernel: FunctionNode, host: FunctionNode) -> str:
    """The tree without the kernel and the host function's body: they are cut out of the dump, which has them in the same words."""
    whole = ast.dump(tree).replace(ast.dump(kernel), "kernel")
    return whole.replace("[" + ", ".join(ast.dump(s) for s in host.body) + "]", "host")


def _ranges(own: _Parts, other: _Parts) -> tuple[range, range]:
    """The statements of either host function that differ, the launch among them."""
    one, two = ([ast.dump(s) for s in parts.host.body] for parts in (own, other))
    first = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    first = min(first, own.at, other.at)
    most = min(len(one) - 1 - own.at, len(two) - 1 - other.at)
    last = next((i for i in range(most) if one[-1 - i] != two[-1 - i]), most)
    return range(first, len(one) - last), range(first, len(two) - last)


def _sound(own: _Parts, other: _Parts, ranges: tuple[range, range], size: str) -> bool:
    """Whether the size is known before, and what comes after finds its variables whichever way was taken."""
    first = own.host.body[ranges[0].start]
    if own.module.indent(first) is None or own.module.indent(first) != other.module.indent(other.host.body[ranges[1].start]):
        return False
    bound = [names_bound(parts.host.body[r.start : r.stop]) for parts, r in zip((own, other), ranges, strict=True)]
    after = {name for s in own.host.body[ranges[0].stop :] for name in names_read(s)}
    return not after & (bound[0] ^ bound[1]) and known(own.launch, size, first)
