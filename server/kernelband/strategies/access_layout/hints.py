"""``cache_hints``: eviction policies and cache modifiers that say what each access is for.

Of the modifiers for loads ``.cg``, past L1, is the one to have: ``.ca`` asks for what is done anyway, ``.cv`` is for memory that others
write, and Triton takes ``.cs`` for stores only, but for its newest. An access gets a modifier or a policy: ptxas refuses one with both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import Access, At, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving

HINTS = ("cache_modifier", "eviction_policy")
FIRST, LAST = 'eviction_policy="evict_first"', 'eviction_policy="evict_last"'
PAST_L1, STREAMING = 'cache_modifier=".cg"', 'cache_modifier=".cs"'


class CacheHints:
    """Hints on the accesses of kernels without products (a product's loads go to shared memory, past these)."""

    name = "cache_hints"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


@frozen
class Uses:
    """The accesses that a hint can be written at, by what becomes of their data."""

    once: list[Access]  # loaded in one place, by one program
    again: list[Access]  # loaded in another place too, which comes later
    at_last: list[Access]  # the last of these places
    shared: list[Access]  # the same for all programs
    stored: list[Access]  # and never loaded


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if view.kernel.calls({"dot", "dot_scaled"}):
        return
    uses = _uses(view)
    keep = _marked(view, uses.shared, LAST)
    kept = ", what all programs read with evict_last" if keep else ""
    passes = _marked(view, uses.again, LAST) + _marked(view, uses.at_last, FIRST) + keep
    if uses.at_last:
        yield at.proposal(
            {"plan": "passes"},
            passes,
            "exact",
            "Rows that are read again are kept (evict_last), and let go at the last pass (evict_first).",
            "The kernel walks over the same row several times: later passes should find it in the cache.",
        )
    if uses.once:
        yield at.proposal(
            {"plan": "stream"},
            _marked(view, uses.once, FIRST) + keep,
            "exact",
            f"Data that is read once is loaded with evict_first{kept}.",
            "Each element of these loads is used by one program, once: there is no use in keeping it in the cache.",
        )
    if uses.stored:
        yield at.proposal(
            {"plan": "stores"},
            _marked(view, uses.stored, STREAMING),
            "exact",
            "Results are stored with the streaming modifier .cs.",
            "The kernel never reads what it stores, so the stores should not push inputs out of L2.",
        )
    if uses.stored and (uses.once or uses.at_last):
        yield at.proposal(
            {"plan": "stream_and_stores"},
            _marked(view, uses.once, FIRST) + passes + _marked(view, uses.stored, FIRST),
            "exact",
            "Loads and stores of data that is touched once are marked evict_first.",
            "Input and output stream through: neither is read again by this kernel.",
        )
    if uses.once:
        yield at.proposal(
            {"plan": "past_l1"},
            _marked(view, uses.once, PAST_L1) + keep + _marked(view, uses.stored, STREAMING),
            "exact",
            f"Data that is read once is loaded past L1 (.cg){kept}{', and results are stored with .cs' if uses.stored else ''}.",
            "L1 helps where data is read again: what one program reads once only takes room in it.",
        )


def _uses(view: View) -> Uses:
    tensors = {t for x in view.target_launches for t in x["tensors"]}
    every = view.kernel.accesses()
    loaded = {t for a in every if not a.store for t in a.depends & tensors}
    accesses = [a for a in every if a.blocks and _plain(a)]
    loads = [a for a in accesses if not a.store and a.by_program]
    passes = _passes(loads)
    return Uses(
        once=[a for a in loads if a not in passes and _by_one_program(view, a)],
        again=[a for a in loads if passes.get(a) is False],
        at_last=[a for a in loads if passes.get(a) is True],
        shared=[a for a in accesses if not a.store and not a.by_program],
        stored=[a for a in accesses if a.store and a.by_program and not a.depends & loaded],
    )


def _by_one_program(view: View, access: Access) -> bool:
    """No other program loads the same elements, as far as the pointer shows: it follows every axis that has several programs, none of
    them through a quotient or remainder (those repeat), and no tensor that holds the places to load from.
    """
    kernel, launches = view.kernel, view.target_launches
    axes = {f"@{i}" for x in launches for i, size in enumerate(x["grid"]) if size > 1}
    tensors = {t for x in launches for t in x["tensors"]}
    if not axes or not axes <= access.depends or len(tensors & access.depends) != 1:
        return False
    names, queue = set[str](), [*all_nodes(access.pointer)]
    while queue:
        node = queue.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv) and axes & kernel.tokens(node.left):
            return False
        if isinstance(node, ast.Name) and node.id not in names:
            names.add(node.id)
            queue += [n for b in kernel.bindings(node.id) if not isinstance(b, ast.For) for n in all_nodes(b)]
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


def _marked(view: View, accesses: list[Access], hint: str) -> Edits:
    module = view.kernel.module
    return [(module.path, e) for a in accesses for e in module.add_arguments(a.call, [hint]) or []]
