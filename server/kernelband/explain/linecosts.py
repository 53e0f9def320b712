"""Which lines of a kernel cost: the share of each in the bytes that are moved, and in the machine code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from attrs import frozen

from kernelband_worker.wire import CompileFacts, LaunchFacts

LEAST = 0.02  # of the bytes or of the instructions: a line with less of both isn't named


@frozen
class LineCost:
    """Shares of one line, 0 to 1. ``bytes``: of what the launch loads and stores through the caches, as the interpreter counted it; None
    where it didn't. ``instructions``: of the machine code, where each counts once however often it runs; None where that wasn't read.
    """

    path: str
    line: int
    bytes: float | None
    instructions: float | None


def merged(launches: Sequence[tuple[LineCost, ...]]) -> tuple[LineCost, ...]:
    """Of several launches of a kernel, by line the largest shares."""
    found: dict[tuple[str, int], LineCost] = {}
    for cost in (cost for lines in launches for cost in lines):
        held = found.get((cost.path, cost.line))
        found[cost.path, cost.line] = (
            cost
            if held is None
            else LineCost(cost.path, cost.line, _larger(held.bytes, cost.bytes), _larger(held.instructions, cost.instructions))
        )
    return _sorted(found.values())


def in_words(cost: LineCost) -> str:
    """``17 % of the bytes, 9 % of the instructions``: what is known, and what is more than nothing."""
    shares = {"bytes": cost.bytes, "instructions": cost.instructions}
    return ", ".join(f"{share:.0%} of the {what}".replace("%", " %") for what, share in shares.items() if share and share >= LEAST)


def line_costs(facts: CompileFacts, launch: LaunchFacts | None) -> tuple[LineCost, ...]:
    """The lines of a launch that cost something, the most bytes first, then the most instructions.

    Args:
        facts: what it compiles to.
        launch: the launch as it was captured.
    """
    moved: Counter[tuple[str, int]] = Counter()
    for line in (launch or {}).get("lines", ()):
        moved[line["path"], line["line"]] += line.get("moved_bytes", 0)
    code = Counter({(line["path"], line["line"]): line["instructions"] for line in facts.get("lines", ())})
    all_bytes, all_code = moved.total(), code.total()
    found = [
        LineCost(path, line, moved[path, line] / all_bytes if all_bytes else None, code[path, line] / all_code if all_code else None)
        for path, line in dict.fromkeys((*moved, *code))
    ]
    return _sorted(cost for cost in found if max(cost.bytes or 0.0, cost.instructions or 0.0) >= LEAST)


def _sorted(found: Iterable[LineCost]) -> tuple[LineCost, ...]:
    return tuple(sorted(found, key=lambda cost: (-(cost.bytes or 0.0), -(cost.instructions or 0.0), cost.path, cost.line)))


def _larger(one: float | None, other: float | None) -> float | None:
    return max((share for share in (one, other) if share is not None), default=None)
