"""Moves that address the hints of an inspection, compiled to see that the hint is gone. Nothing is run: they are unverified."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, zip_longest
from typing import Any, cast

from attrs import frozen

from kernelband.errors import KernelBandError
from kernelband.explain.hints import MOVES, hints, inspected
from kernelband.explain.inspect import Inspection, inspect
from kernelband.explain.inspectionrows import as_json
from kernelband.hardware import Device
from kernelband.search.captured import Once
from kernelband.source.model import Program
from kernelband.strategies import STRATEGIES, Facts, Proposal

MOST_OFFERED = 2  # for a hint
MOST_COMPILED = 4  # for a hint
SECONDS = 60.0  # for all of them; a busy machine takes ten times as long as one that is idle
LEAST_S = 2.0  # for one that has begun


@frozen
class Remedy:
    """``proposal`` compiles, without the hint ``code`` as far as compiled code shows that: some hints come from interpreted traffic."""

    code: str
    proposal: Proposal


def remedies(once: Once, seen: Sequence[Inspection]) -> Iterator[Remedy]:
    """Of the original's hints on the first GPU, in their order.

    Args:
        once: the worker and the cases, still open.
        seen: what was found of the original.
    """
    name, device, lab = once.program.kernel.place.qualname, seen[0].device, once.lab
    own = [one for one in seen if one.device.key == device.key and one.kernel == name]
    facts = Facts(
        device,
        tuple(once.captured.cases),
        tuple(one.seen.facts for one in own if one.seen is not None),
        cast("tuple[int, int]", tuple(int(x) for x in lab.environment["triton"].split(".")[:2])),
    )
    until = time.monotonic() + SECONDS
    for code in _codes(as_json(own), name) or ():
        found = 0
        for proposal in islice(proposals(code, once.program, facts), MOST_COMPILED):
            if found == MOST_OFFERED or time.monotonic() > until:
                break
            left = _codes(_compiled(once, device, proposal, until), name)
            if left is not None and code not in left:
                found += 1
                yield Remedy(code, proposal)


def proposals(code: str, program: Program, facts: Facts) -> Iterator[Proposal]:
    """Of the moves against a hint: the first one of each, then the second ones, and so on."""
    moves = [move for s in STRATEGIES for move in s.moves if f"{s.card.name}.{move.name}" in MOVES[code]]
    for turn in zip_longest(*(move.propose(program, facts) for move in moves)):
        yield from (p for p in turn if p is not None and p.numerics in facts.allowed)


def _codes(rows: Sequence[Mapping[str, Any]], kernel: str) -> list[str] | None:
    """Of the hints, in their order; None where a launch doesn't compile."""
    material = None if any(r["error"] for r in rows) else inspected(rows, kernel)
    return list(dict.fromkeys(h.code for h in hints(material))) if material is not None else None


def _compiled(once: Once, device: Device, proposal: Proposal, until: float) -> list[dict[str, Any]]:
    """As the original's rows, without what was interpreted: that is of the original. None where it can't be specialised, or launched."""
    lab, texts = once.lab, dict(once.program.texts)
    try:
        files = lab.keep({**texts, **proposal.patch.apply(texts)}, [f.path for f in proposal.patch.files])
        specialise = partial(lab.specialise, files, seconds=_left(until))
        seen = inspect(once.captured.cases, [device], specialise, lab.compilers, variant=files["id"], deadline_s=_left(until))
        rows: list[dict[str, Any]] = [{**row, "warnings": []} for row in as_json(list(seen))]
    except KernelBandError:  # it isn't offered, then
        return []
    return rows if not any(r["error"] is None and r["facts"].get("unusable") for r in rows) else []


def _left(until: float) -> float:
    return max(LEAST_S, until - time.monotonic())
