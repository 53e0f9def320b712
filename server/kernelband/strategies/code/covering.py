"""Whether grid and loops end where the masks do: else it follows from a block's size how many elements behind their end are done, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.kernel import KernelView, Loop
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.linear import definition, index
from kernelband.strategies.code.products import Size, alone, size_of, spelled
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.view import View


def covers(view: View, launch: LaunchView, block: str) -> bool:
    """The grid has ``cdiv(n, BLOCK)`` programs along a side, n being what the indices over the block end at, or a product of such."""
    ends, passed = view.kernel.ends.get(block, frozenset[str]()), launch.arguments.get(block)
    if not ends:
        return True  # no mask: the sizes are multiples
    words = {f"{launch.meta}['{block}']", ast.unparse(passed) if passed is not None else ""}
    nodes = launch.grid_nodes() if (sides := launch.sides()) is None else _parts(view, launch, sides)
    quotients = [p for n in nodes if isinstance(n, ast.expr) and (p := divisor(n)) is not None]
    if any(_inverted(view.kernel, a.mask, block) for a in view.kernel.accesses()):
        return False
    pairs = [p for p in quotients if ast.unparse(p[1]) in words or _as_wide(view, launch, block, _product(p[1]), words)]
    sizes = ends | _factors_of_ends(view, block)
    lengths = {spelled(launch, launch.arguments[name]) for name in sizes if name in launch.arguments}
    lengths |= {f"{launch.meta}['{name}']" for name in sizes}
    token, nodes = f"#{block}", view.kernel.nodes
    wraps = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and token in view.kernel.tokens(n.left) for n in nodes)
    if wraps and not any(isinstance(n, ast.Compare) and token in view.kernel.tokens(n.left) for n in nodes):
        every = sorted(spelled(launch, launch.arguments[name]) for name in ends if name in launch.arguments)
        return any(launch.unchanged(n) and _factors(launch, n) == every for n, _ in pairs)  # indices that go round: one for each place
    if any(launch.unchanged(n) and _made_of(launch, n, lengths) for n, _ in pairs):
        return True
    end = _end(view, launch, block) if pairs else None
    return end is not None and any(launch.unchanged(n) and size_of(launch, n) == end for n, _ in pairs)


def _parts(view: View, launch: LaunchView, sides: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """What the sides of a grid are products of; the least of several numbers where programs go on by how many they are."""
    queue, seen = [*sides], set[str]()
    loops = [x for x in view.kernel.loops() if x.step is not None and x.start is not None]
    walks = any(token.startswith("@") for x in loops if x.start is not None for token in view.kernel.tokens(x.start))
    while queue:
        node = queue.pop()
        yield node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            queue += [node.left, node.right]
        elif isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            queue += [b.value for b in launch.bindings(node.id) if isinstance(b, ast.Assign)]
        elif walks and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "min":
            queue += node.args


def _inverted(kernel: KernelView, mask: ast.expr | None, block: str) -> bool:
    """Whether a mask lets through what a comparison over the block doesn't."""
    names = [mask.id] if isinstance(mask, ast.Name) else []
    values = [b.value for n in names for b in kernel.bindings(n) if isinstance(b, ast.Assign)] + ([mask] if mask is not None else [])
    inside = [n for v in values for n in all_nodes(v) if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Invert | ast.Not)]
    return any(f"#{block}" in kernel.tokens(n) for n in inside)


def _end(view: View, launch: LaunchView, block: str) -> Size | None:
    """Where the only comparison of places over the block says that they end; None where there are several, or another one."""
    kernel = view.kernel
    compared = [n for n in kernel.nodes if isinstance(n, ast.Compare) and f"#{block}" in kernel.tokens(n)]
    if len(compared) != 1 or len(compared[0].ops) != 1 or not isinstance(compared[0].ops[0], ast.Lt):
        return None
    found = index(kernel, compared[0].left, compared[0])
    if found is None or found.block != block or found.wrap is not None:
        return None
    plain = [t.sign for t in found.origin] == [1] and _begins(kernel, found.origin[0].factors, block, compared[0])
    return _size(view, launch, compared[0].comparators[0], compared[0]) if plain else None


def _begins(kernel: KernelView, factors: Sequence[ast.expr], block: str, at: ast.AST) -> bool:
    """``tl.program_id(0) * BLOCK``, by whatever names."""
    left: list[ast.expr] = []
    for factor in factors:
        bound = definition(kernel, factor.id, at) if isinstance(factor, ast.Name) else None
        value = factor if bound is None else bound.value
        left += [value.left, value.right] if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else [value]
    named = [definition(kernel, n.id, at) if isinstance(n, ast.Name) else None for n in left]
    values = [n if bound is None else bound.value for n, bound in zip(left, named, strict=True)]
    return len(values) == 2 and sum(kernel.is_id(n) for n in values) == 1 and sum(ast.unparse(n) == block for n in values) == 1


def _size(view: View, launch: LaunchView, node: ast.expr, at: ast.AST) -> Size | None:
    """A size of the kernel's as a product of the host's."""
    kernel = view.kernel
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            sides = _size(view, launch, left, at), _size(view, launch, right, at)
            return None if sides[0] is None or sides[1] is None else sides[0].by(sides[1])
        case ast.Name(id=name) if kernel.bindings(name):
            bound = definition(kernel, name, at)
            return _size(view, launch, bound.value, bound) if bound is not None else None
        case ast.Name(id=name) if name in launch.arguments:
            return size_of(launch, launch.arguments[name])
        case ast.Constant(value=int() as value):
            return Size(value, ())
        case _:
            return None


def _factors_of_ends(view: View, block: str) -> set[str]:
    """Constexprs that are factors of what the indices over the block end at: ``offs < rows * COLS``."""
    kernel = view.kernel
    compared = [n for n in kernel.nodes if isinstance(n, ast.Compare) and f"#{block}" in kernel.tokens(n.left)]
    products = [n for c in compared for e in c.comparators for n in all_nodes(e) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)]
    return {f for n in products for f in _product(n)} & (kernel.constexprs - {*kernel.aranges()})


def _as_wide(view: View, launch: LaunchView, block: str, product: list[str], words: set[str]) -> bool:
    """``cdiv(n, BLOCK * VEC)`` where programs begin ``BLOCK * VEC`` apart and lanes of the block VEC."""
    kernel, rest = view.kernel, [f for f in product if f not in words]
    passed = {spelled(launch, v): k for k, v in launch.arguments.items() if k in kernel.parameters and not kernel.bindings(k)}
    if len(rest) != len(product) - 1 or not set(rest) <= set(passed):
        return False
    wide, found = sorted(passed[f] for f in rest), list[list[str]]()
    for node in kernel.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        around, factors = kernel.module.parents.get(node), _product(node)
        if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Mult):
            continue  # a part of a product
        tokens = kernel.tokens(node)
        if block in factors and any(t.startswith("@") for t in tokens):
            found.append(sorted(f for f in factors if f in kernel.parameters and f != block))
        elif f"#{block}" in tokens:
            found.append(sorted(f for f in factors if f in kernel.parameters))
    lanes = [n for n in kernel.nodes if kernel.tl(n) == "arange" and isinstance(n, ast.Call) and f"#{block}" in kernel.tokens(n)]
    return len(found) > len(lanes) and all(f == wide for f in found)


def _product(node: ast.expr) -> list[str]:
    """The code of a product's factors."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_product(node.left), *_product(node.right)]
    return [ast.unparse(node)]


def _factors(launch: LaunchView, node: ast.expr) -> list[str]:
    """Of a product, each spelled in one way."""
    node = (alone(launch, node) or node) if isinstance(node, ast.Name) else node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return sorted([*_factors(launch, node.left), *_factors(launch, node.right)])
    return [spelled(launch, node)]


def _made_of(launch: LaunchView, node: ast.expr, lengths: set[str]) -> bool:
    if spelled(launch, node) in lengths:
        return True
    if isinstance(node, ast.Name):
        node = alone(launch, node) or node
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
    return product and isinstance(node, ast.BinOp) and all(_made_of(launch, n, lengths) for n in (node.left, node.right))


def ends_with_masks(view: View, loop: Loop, block: str) -> bool:
    """No comparison says that indices over the loop's blocks end elsewhere than the loop, unless another says that they end there."""
    kernel = view.kernel
    length = loop.stop
    named = ast.unparse(length)
    if isinstance(length, ast.Name) and (bound := definition(kernel, length.id, loop.node)) is not None:
        length = bound.value
    if isinstance(length, ast.Call) and kernel.tl(length) == "cdiv" and len(length.args) == 2:
        length = length.args[0]
    if any(t.startswith(("@", "~", "#")) for t in kernel.tokens(length)):
        return True  # a triangle: what is behind its end isn't told by comparisons of this kind
    limits: set[str] = set()
    for node in (n for s in loop.node.body for n in all_nodes(s)):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt):
            continue
        found = index(kernel, node.left.value if isinstance(node.left, ast.Subscript) else node.left, node)
        if found is not None and found.block == block and any(loop.variable in t.names() for t in found.origin):
            limits.add(ast.unparse(node.comparators[0]))
    return not limits or bool({named, ast.unparse(length)} & limits)
