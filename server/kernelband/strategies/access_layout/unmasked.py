"""``unmasked_body``: a loop over blocks handles those that no mask touches without masks, and the others as before, after them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import field, frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.strategies._base import Facts, Numerics, Proposal
from kernelband.strategies.access_layout.clear import End, blocks_of, ends_of, first_of
from kernelband.strategies.access_layout.dropping import Holds, needless, unmasked
from kernelband.strategies.access_layout.full import Walk, always_in, walk_of
from kernelband.strategies.code import At, Loop, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.trips import trips
from kernelband.strategies.code.view import moving

MOST_LINES = 24  # a longer body is worse to read twice than a mask is to compute
MOST_OF_PRODUCTS = 40  # but what attention selects for each element costs as much as its exponential


class UnmaskedBody:
    """``for off in range(0, N // BLOCK * BLOCK, BLOCK)`` without masks, then the loop as it was, from there on.

    In attention also what lies before the diagonal: ``range(0, start_m * BLOCK_M // BLOCK_N * BLOCK_N, BLOCK_N)``.
    """

    name = "unmasked_body"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


@frozen(eq=False)
class _Split:
    """A loop as two. ``before`` are lines that compute where the first ends, ``end`` is that as code."""

    loop: Loop
    before: tuple[str, ...]
    end: str
    notes: tuple[str, str]  # what the first loop is and what the second one
    inner: list[Edit] = field(repr=False)
    what: str
    why: str
    numerics: Numerics


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    edits: Edits = []
    splits: list[_Split] = []
    for loop in view.kernel.loops():
        if not loop.innermost or loop.node.orelse:
            continue
        split = _of_walk(view, loop) or _of_masks(view, loop, len(splits))
        found = _edits(view, split) if split is not None else None
        if split is not None and found is not None:
            edits += [(view.kernel.module.path, e) for e in found]
            splits.append(split)
    if not splits:
        return
    first = splits[0]
    numerics: Numerics = "reassociates" if any(s.numerics == "reassociates" for s in splits) else "exact"
    yield at.proposal({"loops": len(splits)}, edits, numerics, first.what, first.why)


def _of_walk(view: View, loop: Loop) -> _Split | None:
    """Over a size that the kernel is called with: no mask is left but in the last, partial block."""
    walk = walk_of(view.kernel, loop)
    if walk is None or not _worth(view, walk) or _more_masks(view, walk):
        return None

    def holds(node: ast.Compare) -> bool:
        return always_in(view.kernel, node, walk)

    inner = unmasked(view, loop, holds)
    if inner is None:
        return None
    return _Split(
        loop,
        (),
        f"{walk.size} // {walk.block}" + ("" if walk.counted else f" * {walk.block}"),
        ("Full blocks need no mask.", f"What is left of {walk.size} is less than a block."),
        inner,
        f"Full blocks of {walk.block} are handled without masks, what is left of {walk.size} in one masked iteration.",
        f"{walk.size} is {_list(view.timed(walk.size))} in the cases: most blocks of {walk.block} are full.",
        _numerics(view, loop, holds),
    )


def _list(values: list[int]) -> str:
    return " or ".join(map(str, values[:3]))


def _worth(view: View, walk: Walk) -> bool:
    """Every timed case has at least two full blocks."""
    sizes, blocks = view.timed(walk.size), view.sizes(walk.block)
    return bool(sizes) and bool(blocks) and min(sizes) >= 2 * max(blocks)


def _more_masks(view: View, walk: Walk) -> bool:
    """A product's loop has masks that more than the size decides."""
    blocks = blocks_of(view.kernel, walk.loop) if walk.loop.has_dot else None
    return blocks is not None and any(end != End(walk.size, ()) for end in ends_of(view, blocks).values())


def _of_masks(view: View, loop: Loop, number: int) -> _Split | None:
    """Of a product, up to where the first of its masks begins to hide something."""
    kernel = view.kernel
    blocks = blocks_of(kernel, loop) if loop.has_dot else None
    known = trips(view, loop)
    if blocks is None or (known and min(known) < 2) or _goes_on(view, loop):
        return None
    ends = ends_of(view, blocks)
    asked: dict[ast.Compare, End] = {}

    def holds(node: ast.Compare) -> bool:
        if node in ends:
            asked[node] = ends[node]
        return node in ends

    inner = unmasked(view, loop, holds)
    if inner is None:
        return None
    tl, name = kernel.language, kernel.free_name(f"unmasked_{number}" if number else "unmasked")
    stop, block = kernel.module.code(loop.stop), blocks.block
    start = kernel.module.code(loop.start) if loop.start is not None else "0"
    start = start if isinstance(loop.start, ast.Name | ast.Constant | None) else f"({start})"
    always = [e.code for e in asked.values() if not e.flags]
    some = {(e.code, e.flags): None for e in asked.values() if e.flags and e.code not in always}
    before = [f"{name} = {first_of(([] if blocks.counted else [stop]) + always, tl)}"] if always or not blocks.counted else []
    if not before:
        return None
    for code, flags in some:
        before += [f"if {' and '.join(flags)}:", f"    {name} = {tl}.minimum({name}, {code})"]
    if blocks.counted:
        before.append(f"{name} = {tl}.maximum({tl}.minimum({stop}, {tl}.maximum({name}, 0) // {block}), {start})")
    elif start == "0":
        before.append(f"{name} = {tl}.maximum({name}, 0) // {block} * {block}")
    else:
        before.append(f"{name} = {start} + ({tl}.maximum({name}, {start}) - {start}) // {block} * {block}")
    return _Split(
        loop,
        tuple(before),
        name,
        ("Blocks before the edges of masks come first, without those.", "The others, with all masks."),
        inner,
        f"Blocks of {block} before the edges of masks come first, in a loop without those masks.",
        "A mask costs instructions for each element of a tile, a selection as many as an exponential, and most blocks lie before its edge.",
        _numerics(view, loop, holds),
    )


def _numerics(view: View, loop: Loop, holds: Holds) -> Numerics:
    """Without a selection between them a product and a sum may become one operation, which rounds once."""
    return (
        "reassociates"
        if any(needless(view, call, holds) for call in view.kernel.calls({"where"}) if loop.node in view.kernel.module.around(call))
        else "exact"
    )


def _goes_on(view: View, loop: Loop) -> bool:
    """It begins where another loop ends: somebody has split it already."""
    ends = {ast.unparse(other.stop) for other in view.kernel.loops() if other is not loop}
    return loop.start is not None and ast.unparse(loop.start) in ends


def _edits(view: View, split: _Split) -> list[Edit] | None:
    module, loop = view.kernel.module, split.loop
    node = loop.node
    indent = module.indent(node)
    start, end = module.span(node).start, module.line_end(module.span(node).end)
    most = MOST_OF_PRODUCTS if loop.has_dot and split.before else MOST_LINES
    alone = module.text[module.span(loop.call.func).end : module.span(loop.stop).start].strip() == "("
    if loop.start is None and not alone:
        return None
    if indent is None or (node.end_lineno or 0) - node.lineno > most or node.body[0].lineno == node.lineno:
        return None
    copy = [*split.inner, module.replace(loop.stop, split.end)]
    text = _applied(module.text, Span(start, end), copy)
    if text is None:
        return None
    line = f"{module.newline}{indent}"
    head = "".join(f"{part}{line}" for part in (f"# {split.notes[0]}", *split.before))
    tail = f"{line}# {split.notes[1]}{line}"
    rest = Edit(module.span(loop.start), split.end) if loop.start is not None else _started(view, loop, split.end)
    return [Edit(Span(start, start), head + text + tail), rest]


def _started(view: View, loop: Loop, whole: str) -> Edit:
    """``range(stop)`` gets its start."""
    at = view.kernel.module.span(loop.stop).start
    return Edit(Span(at, at), f"{whole}, ")


def _applied(text: str, span: Span, edits: list[Edit]) -> str | None:
    out: list[str] = []
    at = span.start
    for edit in sorted(edits, key=lambda e: e.span):
        if edit.span.start < at or edit.span.end > span.end:
            return None
        out += [text[at : edit.span.start], edit.new]
        at = edit.span.end
    return "".join(out) + text[at : span.end]
