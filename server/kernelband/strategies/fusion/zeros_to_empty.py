"""``zeros_to_empty``: ``torch.zeros`` for an output of which the kernel is proven to write every element becomes ``torch.empty``.

Proven means: one unconditional store, masked by nothing but the size; programs side by side up to that size; and the size is the
tensor's. Either over all elements (``pid * BLOCK + arange``) or a row for each program with a block that holds the row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import Access, At, KernelView, LaunchView, View
from kernelband.strategies.code.blocks import plain, siblings, unconverted
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import Index, flatten, index
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.view import moving

HARMLESS = frozenset({"stride", "shape", "size", "numel", "dtype", "device", "element_size"})


class ZerosToEmpty:
    """No kernel that fills with zeros what the next one overwrites."""

    name = "zeros_to_empty"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if not view.whole or len(view.launches) != 1:
        return
    launch = view.launches[0]
    edits: Edits = []
    told: list[str] = []
    for parameter, value in launch.arguments.items():
        call = _zeros(launch, value) if isinstance(value, ast.Name) and parameter in view.kernel.parameters else None
        if call is None or not isinstance(value, ast.Name) or not isinstance(call.func, ast.Attribute):
            continue
        if list(map(ast.unparse, launch.arguments.values())).count(value.id) != 1 or not _all_written(
            view, launch, parameter, value.id, call
        ):
            continue
        end = launch.module.span(call.func).end
        edits.append((launch.module.path, Edit(Span(end - len(call.func.attr), end), call.func.attr.replace("zeros", "empty"))))
        told.append(value.id)
    if told:
        yield at.proposal(
            {},
            edits,
            "exact",
            f"{' and '.join(told)} {'are' if len(told) > 1 else 'is'} not filled with zeros first.",
            "The kernel writes every element: filling them before is a launch and a pass over memory for nothing.",
        )


def _zeros(launch: LaunchView, value: ast.Name) -> ast.Call | None:
    """The ``torch.zeros`` that the variable is bound to, once, in the launch's own block, where nothing reads it before the launch."""
    module = launch.module
    bound = launch.bindings(value.id)
    statement = next((n for n in module.around(launch.call) if isinstance(n, ast.stmt)), None)
    if len(bound) != 1 or statement is None or launch.host is None or bound[0] not in (block := siblings(module, statement)):
        return None
    first = bound[0]
    call = first.value if isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name) else None
    if not isinstance(call, ast.Call) or ast.unparse(call.func) not in ("torch.zeros", "torch.zeros_like") or not call.args:
        return None
    for other in block[block.index(first) + 1 : block.index(statement)]:
        for n in all_nodes(other):
            around = module.parents.get(n)
            if isinstance(n, ast.Name) and n.id == value.id and not (isinstance(around, ast.Attribute) and around.attr in HARMLESS):
                return None
    return call if block.index(first) < block.index(statement) else None


def _all_written(view: View, launch: LaunchView, parameter: str, name: str, call: ast.Call) -> bool:
    kernel = view.kernel
    reads = [n for n in all_nodes(kernel.node) if isinstance(n, ast.Name) and n.id == parameter]
    pointers = [n for n in reads if not isinstance(kernel.module.parents.get(n), ast.Attribute)]
    stores = [a for a in kernel.accesses() if a.store and pointers and pointers[0] in all_nodes(a.pointer)]
    body = kernel.node.body[1:] if ast.get_docstring(kernel.node) is not None else kernel.node.body
    if not launch.unchanged(call) or not launch.unchanged(launch.grid):
        return False
    if len(pointers) != 1 or len(stores) != 1 or not plain(body) or kernel.module.parents.get(stores[0].call) not in body:
        return False
    sides = launch.sides()
    dimensions = _dimensions(launch, name, call)
    store = stores[0]
    size = _limit(kernel, store)
    length = launch.arguments.get(size[1]) if size is not None else None
    if sides is None or len(sides) != 1 or size is None or length is None or dimensions is None:
        return False
    terms = [t for t in flatten(kernel, store.pointer, store.call, frozenset()) if ast.unparse(t.factors[0]) != parameter]
    columns = next((t for t in terms if t.code == size[0]), None)
    vector = index(kernel, columns.factors[0], store.call) if columns is not None and len(columns.factors) == 1 else None
    if columns is None or vector is None or vector.wrap is not None or any(t.sign < 0 for t in terms):
        return False
    rest = [t for t in terms if t is not columns]
    written = ast.unparse(length)
    if not rest:
        every = {f"{name}.numel()"} | ({f"{ast.unparse(call.args[0])}.numel()"} if _like(call) else set[str]())
        every |= dimensions[0] if len(dimensions) == 1 else set[str]()
        return written in every and _side_by_side(kernel, launch, sides[0], vector, written)
    if len(dimensions) != 2 or len(rest) != 1 or vector.origin or written not in dimensions[1]:
        return False
    held = launch.held(vector.block)
    rows = [f for f in rest[0].factors if _is_id(kernel, f)]
    row_stride = next((f for f in rest[0].factors if f not in rows), None)
    stride = launch.arguments.get(row_stride.id) if isinstance(row_stride, ast.Name) else None
    wide = {f"{name}.stride(0)"} | (set[str]() if _like(call) else dimensions[1])
    holds = held is not None and ast.unparse(launch.arguments[held[0]]) == written and held[1] >= 2**31
    return (
        len(rest[0].factors) == 2
        and len(rows) == 1
        and stride is not None
        and ast.unparse(stride) in wide
        and holds
        and ast.unparse(sides[0]) in dimensions[0]
    )


def _limit(kernel: KernelView, store: Access) -> tuple[str, str] | None:
    """(index, size) of the mask ``index < size``, the size a parameter that the kernel leaves alone."""
    mask = store.mask
    if isinstance(mask, ast.Name):
        bound = kernel.bindings(mask.id)
        mask = bound[0].value if len(bound) == 1 and isinstance(bound[0], ast.Assign) else None
    if not isinstance(mask, ast.Compare) or len(mask.ops) != 1 or not isinstance(mask.ops[0], ast.Lt):
        return None
    size = mask.comparators[0]
    known = isinstance(size, ast.Name) and size.id in kernel.parameters and not kernel.bindings(size.id)
    return (ast.unparse(mask.left), size.id) if known and isinstance(size, ast.Name) else None


def _side_by_side(kernel: KernelView, launch: LaunchView, side: ast.expr, vector: Index, size: str) -> bool:
    """Program p takes the block from ``p * BLOCK`` on, and there are ``cdiv(size, BLOCK)`` of them."""
    block = vector.block
    origin = [
        x for t in vector.origin for x in (flatten(kernel, t.factors[0], t.read, frozenset(t.names())) if len(t.factors) == 1 else [t])
    ]
    if len(origin) != 1 or len(origin[0].factors) != 2 or origin[0].sign != 1:
        return False
    codes = [ast.unparse(f) for f in origin[0].factors]
    others = [f for f, code in zip(origin[0].factors, codes, strict=True) if code != block]
    split = divisor(side)
    passed = launch.arguments.get(block)
    if len(others) != 1 or kernel.tokens(others[0]) != frozenset({"@0"}) or not isinstance(others[0], ast.Name | ast.Call) or split is None:
        return False
    if isinstance(others[0], ast.Name):
        bound = kernel.bindings(others[0].id)
        if len(bound) != 1 or not isinstance(bound[0], ast.Assign) or kernel.tl(bound[0].value) != "program_id":
            return False
    same = passed is not None and ast.unparse(split[1]) == ast.unparse(passed)
    meta = f"{launch.meta}['{block}']" == ast.unparse(split[1])
    return ast.unparse(split[0]) == size and (same or meta)


def _is_id(kernel: KernelView, node: ast.expr) -> bool:
    """The program's number itself, of any width: half of it, say, leaves rows out."""
    if isinstance(node, ast.Name):
        bound = kernel.bindings(node.id)
        node = bound[0].value if len(bound) == 1 and isinstance(bound[0], ast.Assign) else node
    node = unconverted(node)
    return kernel.tl(node) == "program_id" and kernel.tokens(node) == frozenset({"@0"})


def _like(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "zeros_like" and isinstance(call.args[0], ast.Name)


def _dimensions(launch: LaunchView, name: str, call: ast.Call) -> list[set[str]] | None:
    """For each dimension of the tensor, the host's codes for its size; empty where their number isn't known, None where they may change."""
    if not _like(call):
        first = call.args[0]
        written = first.elts if isinstance(first, ast.Tuple | ast.List) else call.args
        found = [{ast.unparse(e)} for e in written]
        source = name
    else:
        source = ast.unparse(call.args[0])
        if any(b.lineno > call.lineno for b in launch.bindings(source)):
            return None
        shape = next((s for s in _shape_bindings(launch, source)), None)
        if shape is None:
            return []
        found = [{ast.unparse(t)} for t in shape.elts]
    return [
        codes | {f"{s}.shape[{i}]" for s in (source, name)} | {f"{s}.size({i})" for s in (source, name)} for i, codes in enumerate(found)
    ]


def _shape_bindings(launch: LaunchView, source: str) -> Iterator[ast.Tuple]:
    """``M, N = source.shape``, where neither name is bound again."""
    for node in all_nodes(launch.host or launch.module.tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in (f"{source}.shape", f"{source}.size()"):
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) and len(launch.bindings(e.id)) == 1 for e in target.elts):
                yield target
