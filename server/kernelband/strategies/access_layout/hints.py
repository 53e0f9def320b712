"""``cache_hints``: eviction policies and cache modifiers that say what each access is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import Access, At, View
from kernelband.strategies.code.launch import Edits
from kernelband.strategies.code.view import moving

HINTS = ("cache_modifier", "eviction_policy")


class CacheHints:
    """Hints on the accesses of kernels without products (a product's loads go to shared memory, past these)."""

    name = "cache_hints"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if view.kernel.calls({"dot", "dot_scaled"}):
        return
    accesses = [a for a in view.kernel.accesses() if a.blocks and _plain(a)]
    loads, stores = [a for a in accesses if not a.store and a.by_program], [a for a in accesses if a.store and a.by_program]
    shared = [a for a in accesses if not a.store and not a.by_program]
    passes = _passes(loads)
    once = [a for a in loads if a not in passes and _by_one_program(view, a)]
    keep = _marked(view, shared, "eviction_policy", "evict_last")
    plans: list[tuple[str, Edits, str, str]] = []
    first_passes = _marked(view, [a for a in loads if passes.get(a) is False], "eviction_policy", "evict_last")
    last_pass = _marked(view, [a for a in loads if passes.get(a) is True], "eviction_policy", "evict_first")
    if passes:
        plans.append(
            (
                "passes",
                first_passes + last_pass + keep,
                "Rows that are read again are kept (evict_last), and let go at the last pass (evict_first).",
                "The kernel walks over the same row several times: later passes should find it in the cache.",
            )
        )
    if once:
        plans.append(
            (
                "stream",
                _marked(view, once, "eviction_policy", "evict_first") + keep,
                "Data that is read once is loaded with evict_first" + (", what all programs read with evict_last." if keep else "."),
                "Each element of these loads is used by one program, once: keeping it in the cache helps nobody.",
            )
        )
    if stores:
        plans.append(
            (
                "stores",
                _marked(view, stores, "cache_modifier", '".cs"'),
                "Results are stored with the streaming modifier .cs.",
                "The kernel never reads what it stores, so the stores should not push inputs out of L2.",
            )
        )
        if once or passes:
            plans.append(
                (
                    "stream_and_stores",
                    _marked(view, once, "eviction_policy", "evict_first")
                    + first_passes
                    + last_pass
                    + keep
                    + _marked(view, stores, "eviction_policy", "evict_first"),
                    "Loads and stores of data that is touched once are marked evict_first.",
                    "Input and output stream through: neither is read again by this kernel.",
                )
            )
    for plan, edits, what, why in plans:
        yield at.proposal({"plan": plan}, edits, "exact", what, why)


def _by_one_program(view: View, access: Access) -> bool:
    """No other program loads the same elements, as far as the pointer shows: it follows every axis that has several programs, none of
    them through a quotient or remainder (those repeat), and no tensor that holds the places to load from.
    """
    kernel, launches = view.kernel, view.target_launches
    axes = {f"@{i}" for x in launches for i, size in enumerate(x["grid"]) if size > 1}
    tensors = {t for x in launches for t in x["tensors"]}
    if not axes or not axes <= access.depends or len(tensors & access.depends) != 1:
        return False
    names, queue = set[str](), [*ast.walk(access.pointer)]
    while queue:
        node = queue.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv) and axes & kernel.tokens(node.left):
            return False
        if isinstance(node, ast.Name) and node.id not in names:
            names.add(node.id)
            queue += [n for b in kernel.bindings(node.id) if not isinstance(b, ast.For) for n in ast.walk(b)]
    return True


def _plain(access: Access) -> bool:
    """Without hints of the user's, and with at most the arguments up to ``other`` by position."""
    return len(access.call.args) <= 3 and not any(k.arg in HINTS for k in access.call.keywords)


def _passes(loads: list[Access]) -> dict[Access, bool]:
    """Loads of the same addresses in several places: whether each is the last of them."""
    groups: dict[str, list[Access]] = {}
    for access in loads:
        groups.setdefault(ast.unparse(access.pointer), []).append(access)
    return {a: a is group[-1] for group in groups.values() if len(group) > 1 for a in group}


def _marked(view: View, accesses: list[Access], name: str, value: str) -> Edits:
    module = view.kernel.module
    quoted = value if value.startswith('"') else f'"{value}"'
    return [(module.path, e) for a in accesses for e in module.add_arguments(a.call, [f"{name}={quoted}"]) or []]
