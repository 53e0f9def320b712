"""Whether a block may have another size: what a kernel stores must not tell how its elements were dealt out to blocks.

A block that follows the grid is dealt out to programs, one that a loop steps by to iterations. Element by element nothing tells; what a
reduction makes of a block does, unless it only goes into a total of the same kind: sums into a sum, maxima into a maximum, sums of
exponentials into one that is rescaled with a running maximum. So a partial result for each program, a scale for each group of a
quantisation, a sum so far that is stored for each block need their block as it is.

A helper that reduces, moves or stores gets whole blocks, and isn't followed further.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.aliasing import own_elements
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.block_pointers import walks_on
from kernelband.strategies.code.blocks import beside_value, exposed, names_bound, reads, siblings
from kernelband.strategies.code.covering import covers, ends_with_masks
from kernelband.strategies.code.extremum import Extremum
from kernelband.strategies.code.kernel import ATOMICS, REDUCTIONS, Loop
from kernelband.strategies.code.lanes import laned
from kernelband.strategies.code.narrowing import rounds_parts
from kernelband.strategies.code.numbering import numbered
from kernelband.strategies.code.reductions import MOVING, PRODUCTS, Step
from kernelband.strategies.code.rescaling import Rescaled, given
from kernelband.strategies.code.shapes import shapes
from kernelband.strategies.code.view import View
from kernelband.strategies.code.walking import by_blocks, walks
from kernelband.strategies.code.wrapped import helpers_ask

#: What a helper does that does more than compute each element.
WHOLE = REDUCTIONS | MOVING | ATOMICS | PRODUCTS.keys() | {"reduce", "associative_scan", "cumprod", "xor_sum", "store"}
#: What a total is combined with, by what a block is reduced with.
TOTALS = {"sum": "add", "dot": "add", "dot_scaled": "add", "max": "maximum", "min": "minimum"}
#: Reductions whose results atomics may put together.
ATOMIC_TOTALS = {"atomic_add": ("sum", "dot", "dot_scaled"), "atomic_max": ("max",), "atomic_min": ("min",)}


def resizable(view: View, block: str, *, parts: bool = False) -> bool:
    """Whether any size of the block gives the same results, up to the order of additions. ``parts``: any that divides the present one;
    what nobody knows of elements behind the end, as no ``other`` fills them, say, is then of fewer of those that counted before.
    """
    return not why_kept(view, block, parts=parts)


def why_kept(view: View, block: str, *, parts: bool = False) -> str:
    """What in the results tells the block's size, with the line, for people; "" where nothing does."""
    kernel = view.kernel
    for node in kernel.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and reads(node, {block}):
            return f"line {node.lineno} divides by it"  # a mean over so many
    for node in (n for n in kernel.nodes if isinstance(n, ast.While)):
        if any(block in kernel.tokens(n) for n in all_nodes(node) if isinstance(n, ast.Name)):
            return f"the loop at line {node.lineno} isn't seen to have a turn for each block"
    whole = _of_whole_blocks(view)
    for call in (n for n in kernel.nodes if isinstance(n, ast.Call) and _called(n) in whole and f"#{block}" in kernel.tokens(n)):
        return f"line {call.lineno} hands whole blocks to {ast.unparse(call.func)}"
    dealt = Dealt(kernel, block, shapes(kernel), frozenset(t for x in view.target_launches for t in x["tensors"]))
    if (hidden := dealt.hidden_counts(undefined=not parts)) is not None:
        return f"line {hidden.lineno} may count what a mask leaves out: a sum needs zeros there, a maximum -inf"
    if (rounded := rounds_parts(view, dealt)) is not None:
        return f"line {rounded.lineno} rounds each block's part of a total"
    gridded = [x for x in view.launches if x.grid_reads(block)]
    if gridded and helpers_ask(view.program, view.modules, {"num_programs"}):
        return "a helper may ask how many programs there are"
    if gridded and (told := dealt.by_programs()):
        return told
    if not all(covers(view, x, block) for x in gridded):
        return "its grid isn't seen to end where its mask does"
    walks = dealt.walks()
    places = frozenset(step for x in walks for step in Extremum(dealt, x.node.body).places)
    line = laned(view, block, dealt.axes, walked=bool(walks), but=places) if gridded or walks else None
    if line is not None:
        return f"line {line} makes more than an element's own place of where it lies in its block"
    for walk in walks:
        where = f"the loop at line {walk.node.lineno}"
        if told := dealt.by_iterations(walk):
            return told
        if not own_elements(view, walk, block):
            return f"{where} may load what another of its turns stores"
        if not ends_with_masks(view, walk, block):
            return f"{where} isn't seen to end where its mask does"
    return ""


def _of_whole_blocks(view: View) -> set[str]:
    """Names of the kernel's helpers that do more than compute each element, or call one that does."""
    found, calls = set[str](), dict[str, set[str]]()
    for helper in view.program.helpers:
        module = view.modules.get(helper.place.path)
        node = module.function(helper.place.qualname) if module is not None else None
        calls[helper.place.name] = {_called(n) for n in all_nodes(node) if isinstance(n, ast.Call)} if node is not None else set()
    while more := {name for name, called in calls.items() if called & (WHOLE | found)} - found:
        found |= more
    return found


def _called(call: ast.Call) -> str:
    """The name of what is called, without what it is an attribute of."""
    function = call.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


class Dealt(Rescaled):
    """A block that is dealt out to programs or to iterations."""

    # ------------------------------------------------------------ programs

    @property
    def axes(self) -> set[str]:
        """Those of the grid along which it is dealt out."""
        return self.kernel.dealt(self.block)

    def by_programs(self) -> str:
        """How results tell the block where it is dealt out to programs; "" where those along the block's axis of the grid store their own
        elements, and nothing that they have made of all of these.
        """
        kernel = self.kernel
        axes = self.axes
        if not axes:
            return "the number of programs follows it, but no program's number says where it begins"
        if (grouped := self._grouped()) is not None:
            return f"line {grouped.lineno} tells elements by the block that they are in"
        tainted = self.made(kernel.nodes)
        if (test := self.decides(kernel.nodes, tainted)) is not None:
            return _decided(test)
        for call in kernel.calls(set(ATOMIC_TOTALS)):
            if not self._totals(call, tainted):
                return f"what line {call.lineno} puts into a total isn't one of its elements"
        for call in kernel.calls({"store", *ATOMICS} - {"atomic_add", "atomic_max", "atomic_min"}):  # these make totals of all programs
            pointer = kernel.tokens(call.args[0]) if call.args else frozenset[str]()
            if self.tells(given(call), tainted):
                return _stored(call)
            if axes & pointer and f"#{self.block}" not in pointer:
                return f"line {call.lineno} stores once for each of its programs"
        line = numbered(kernel, self.block, axes)
        return f"line {line} makes more than an element's own place of a program's number" if line is not None else ""

    def _grouped(self) -> ast.BinOp | None:
        """Where elements are told by the block that they are in: ``index // BLOCK``."""
        divided = [n for n in self.kernel.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv | ast.Mod)]
        return next((n for n in divided if reads(n.right, {self.block}) and f"#{self.block}" in self.kernel.tokens(n.left)), None)

    def _totals(self, call: ast.Call, tainted: set[str]) -> bool:
        """An atomic puts elements into a total, or their reduction of the same kind."""
        value = self._value(call.args[1], self.kernel.nodes) if len(call.args) > 1 else None
        if value is None or f"#{self.block}" not in self.kernel.tokens(value) or self.tells(beside_value(call), tainted):
            return False  # once for each program, or where all of its elements say
        value = self._unscaled(value) if self.kernel.tl(call) == "atomic_add" else value
        if (how := self.reduces(value)) is not None:
            return how in ATOMIC_TOTALS[self.kernel.tl(call) or ""]
        return not reads(value, tainted) and not any(self.reduces(n) for n in all_nodes(value))

    def _unscaled(self, value: ast.expr) -> ast.expr:
        """What is multiplied or divided by one number for all programs: ``tl.sum(x) / n`` are parts of a mean."""
        while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div):
            sides = [(value.left, value.right)] + ([(value.right, value.left)] if isinstance(value.op, ast.Mult) else [])
            of_block = [part for part, by in sides if isinstance(by, ast.Constant) or self._argument(by)]
            if not of_block:
                break
            value = self._value(of_block[0], self.kernel.nodes)
        return value

    def _argument(self, node: ast.expr) -> bool:
        """A number that the launch passes."""
        return isinstance(node, ast.Name) and node.id in self.kernel.parameters and not self.kernel.bindings(node.id)

    # ------------------------------------------------------------ iterations

    def walks(self) -> list[Loop]:
        """The outermost loops that step by the block, or count its blocks."""
        found = [x for x in self.kernel.loops() if by_blocks(self.kernel, x, self.block)]
        return [x for x in found if not any(y.node in set(self.kernel.module.around(x.node)) for y in found)]

    def by_iterations(self, loop: Loop) -> str:
        """How results tell where the loop's blocks end; "" where iterations store their own elements, and what they make of whole blocks
        goes into totals that are read behind the loop.
        """
        kernel = self.kernel
        inside = [n for s in loop.node.body for n in all_nodes(s)]
        within = set(inside)
        behind = [n for n in kernel.nodes if n not in within and getattr(n, "lineno", 0) > (loop.node.end_lineno or 0)]
        block = siblings(kernel.module, loop.node)
        carried = exposed(loop.node.body) & names_bound(loop.node.body)
        left = exposed(block[block.index(loop.node) + 1 :]) & names_bound(loop.node.body)
        tainted, highest = self.made(inside), self.highest(inside)
        following = self.made(inside, highest) if highest else set[str]()
        places = {n.id for a in kernel.accesses() for n in all_nodes(a.pointer) if isinstance(n, ast.Name)} - tainted
        pointing = {n for n in places & carried if walks(kernel, loop, n, self.block)}
        if lost := sorted(left - carried - highest):
            return f"{lost[0]} is of the last block alone behind the loop at line {loop.node.lineno}"
        if (test := self.decides(inside, tainted)) is not None:
            return _decided(test)
        pointing |= {n for n in carried if walks_on(kernel, n, self.block, loop)}
        for name in carried - highest - pointing - Extremum(self, loop.node.body).kept.keys():
            steps = [n for n in inside if isinstance(n, ast.stmt) and name in bound_names(n)]
            last = max(steps, key=lambda n: n.lineno)
            if highest and isinstance(last, ast.AugAssign) and isinstance(last.op, ast.Mult):
                return _goes_on(last, name)  # what has just been added is below the new maximum already
            for step in steps:
                if not isinstance(step, Step) or len(bound_names(step)) != 1:
                    return _goes_on(step, name)
                kind = self._total(step, name, inside)
                lanes = kind is not None and self.block in (self.known.at(name, step.lineno) or ())
                if lanes and not self._reduced_alike(name, kind or "", [n for n in behind if self._same(name, step, n)]):
                    return f"{name} of line {step.lineno} has a lane for each of its places, and more than one total is made of them"
                counts = name not in left and self._counts(step, name)
                if kind is None and not counts and not (highest and self.rescaled(step, name, inside)):
                    return _goes_on(step, name)
            own = [n for n in steps if isinstance(n, Step)]
            if any(reads(n.value, following - {name}) for n in own) and not any(self.scales(n, name, inside) for n in own):
                return _goes_on(last, name)  # what was added below another maximum stays as it was
        stores = [n for n in inside if isinstance(n, ast.Call) and kernel.tl(n) in ("store", *ATOMICS)]
        told = [c for c in stores if self.tells(given(c), tainted)]
        return next((_stored(c) for c in told if self.tells(beside_value(c), tainted) or not self._scanned(c, inside, loop.node.body)), "")

    def _same(self, name: str, step: ast.stmt, behind: ast.AST) -> bool:
        """The name stands for the same there: the top level hasn't bound it anew."""
        return self.known.version(name, getattr(behind, "lineno", 0)) == self.known.version(name, step.lineno)

    def _total(self, step: Step, name: str, inside: Sequence[ast.AST]) -> str | None:
        """Addition, maximum or minimum, where the statement puts an iteration's part into a total of that name."""
        value, kernel = step.value, self.kernel
        if isinstance(value, ast.Call) and (called := kernel.tl(value)) in PRODUCTS and isinstance(step, ast.Assign):
            at = PRODUCTS[called or ""][1]
            given = [*value.args[at : at + 1], *(k.value for k in value.keywords if k.arg == "acc")]
            return "add" if [ast.unparse(g) for g in given] == [name] and not self._follows(value.args[:at], name, inside) else None
        if isinstance(step, ast.AugAssign):
            kind, parts = "add" if isinstance(step.op, ast.Add) else None, [value]
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            kind, parts = "add", [value.left, value.right]
        elif isinstance(value, ast.Call) and kernel.tl(value) in ("maximum", "minimum") and len(value.args) == 2:
            kind, parts = kernel.tl(value), list(value.args)
        else:
            return None
        if isinstance(step, ast.Assign):
            others = [p for p in parts if ast.unparse(p) != name]
            if len(others) != len(parts) - 1:
                return None
            parts = others
        return kind if len(parts) == 1 and kind is not None and self._part(parts[0], kind, name, inside) else None

    def _counts(self, step: Step, name: str) -> bool:
        """An index that goes on by the block's size, or what is left of the axis. Behind the loop it says how many blocks there were."""
        by = isinstance(step, ast.AugAssign) and isinstance(step.op, ast.Add | ast.Sub) and reads(step.value, {self.block})
        return by and self.kernel.depends.get(name, frozenset()) <= {*self.kernel.parameters, f"#{self.block}"} - self.pointers

    def _follows(self, nodes: Iterable[ast.AST], name: str, inside: Sequence[ast.AST]) -> bool:
        """Whether the code reads the total as it is so far, or what the iteration has made of it."""
        follow = self.made(inside, {name})
        return any(reads(n, follow) for n in nodes)

    def _part(self, node: ast.expr, kind: str, total: str, inside: Sequence[ast.AST]) -> bool:
        """What an iteration puts into a total: elements of the block, or their reduction of the same kind."""
        if f"#{self.block}" not in self.kernel.tokens(node) or self._follows([node], total, inside):
            return False  # once an iteration, however many elements it has
        node = self._value(node, inside)
        how = self.reduces(node)
        if how is None:
            tainted = self.made(inside)
            return not self.tells([node], tainted | {total})
        operands = [*(node.args if isinstance(node, ast.Call) else []), *([node.func] if isinstance(node, ast.Call) else [])]
        return TOTALS.get(how) == kind and not self.tells(operands, self.made(inside))

    def _reduced_alike(self, name: str, kind: str, behind: Sequence[ast.AST]) -> bool:
        """A total with a lane for each place in the block is read by reductions of its kind only."""
        for node in behind:
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                call = self.kernel.module.parents.get(node)
                if call is None or TOTALS.get(self.reduces(call) or "") != kind:
                    return False
        return True

    # ------------------------------------------------------------ scans

    def _scanned(self, store: ast.Call, inside: Sequence[ast.AST], body: Sequence[ast.stmt]) -> bool:
        """``tl.store(p, carry + tl.cumsum(x))`` with ``carry += tl.sum(x)`` behind it: the same sums, wherever blocks end."""
        value = self._value(store.args[1], inside) if len(store.args) > 1 else None
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            return False
        for left, carry in ((value.left, value.right), (value.right, value.left)):
            scan = self._value(left, inside)
            if not isinstance(carry, ast.Name) or self.reduces(scan) != "cumsum" or not isinstance(scan, ast.Call) or not scan.args:
                continue
            steps = [n for n in inside if isinstance(n, Step) and carry.id in bound_names(n)]
            step = steps[0] if len(steps) == 1 and steps[0] in body else None
            whole = (
                all(k.arg in ("axis", "dtype") for k in scan.keywords) and len(scan.args) < 3 and self.kernel.module.parents[store] in body
            )
            if (
                step is None
                or not whole
                or not isinstance(step, ast.AugAssign)
                or not isinstance(step.op, ast.Add)
                or step.lineno <= value.lineno
            ):
                continue
            total = step.value
            if self.reduces(total) == "sum" and isinstance(total, ast.Call) and total.args:
                low, high = sorted((scan.lineno, step.lineno))
                again = [n for n in inside if isinstance(n, ast.stmt) and low < n.lineno < high and reads(scan.args[0], bound_names(n))]
                return not again and ast.unparse(total.args[0]) == ast.unparse(scan.args[0])
        return False


def _decided(test: ast.expr) -> str:
    return f"line {test.lineno} asks something of a whole block to know what is done"


def _stored(call: ast.Call) -> str:
    return f"line {call.lineno} stores what is made of a whole block"


def _goes_on(step: ast.stmt, name: str) -> str:
    return f"{name} of line {step.lineno} goes from block to block, and isn't seen to be a total"
