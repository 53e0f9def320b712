"""Whether parts of a total are rounded before they are put together: then it tells how many parts there were."""

from __future__ import annotations

import ast

from kernelband.strategies.code.reductions import DEEP, Reduced
from kernelband.strategies.code.view import View


def rounds_parts(view: View, block: Reduced) -> ast.Call | None:
    """An atomic that puts a block's part into a tensor of whole numbers, or one that is narrower than float32."""
    whole = _whole_numbers(view)
    for call in (c for c in block.kernel.calls({"atomic_add"}) if len(c.args) > 1):
        reduced, narrow = _between(block, call.args[1], DEEP)
        if reduced and (narrow or whole & block.kernel.tokens(call.args[0])):
            return call
    return None


def _whole_numbers(view: View) -> set[str]:
    """Parameters that get tensors of whole numbers, where some others get floats."""
    kinds = {n: t["dtype"] for x in view.target_launches for n, t in x["tensors"].items()}
    whole = {n for n, kind in kinds.items() if kind.startswith(("int", "uint", "bool"))}
    return whole if len(whole) < len(kinds) else set()


def _between(block: Reduced, node: ast.AST, deep: int) -> tuple[bool, bool]:
    """Whether a reduction of the block is in the code, and whether what is made of it is narrowed."""
    if block.reduces(node) is not None:
        return True, False
    parts: list[ast.AST] = [*ast.iter_child_nodes(node)]
    if isinstance(node, ast.Name) and deep:
        bound = block.alone(node.id, block.kernel.nodes)
        parts, deep = ([bound] if bound is not None else []), deep - 1
    found = [_between(block, n, deep) for n in parts]
    reduced = any(r for r, _ in found)
    converted = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cast")
    kinds = [*node.args, *(k.value for k in node.keywords)] if converted and isinstance(node, ast.Call) else []
    narrow = bool(kinds) and not any(ast.unparse(k).endswith(("float32", "float64")) for k in kinds)
    return reduced, reduced and (narrow or any(n for _, n in found))
