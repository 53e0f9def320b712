"""What a policy may choose from: members, with what is known of their arms now."""

from __future__ import annotations

from collections.abc import Sequence, Set

from attrs import evolve

from kernelband.search._base import Member
from kernelband.search.arms import ARMS
from kernelband.search.preparer import Outlook

Arms = Set[tuple[int, str]]


def offered(members: Sequence[Member], outlook: Outlook, without: Arms = frozenset(), *, only_ready: bool = False) -> tuple[Member, ...]:
    """The members with the forecasts of what is compiled.

    Args:
        members: the frontier.
        outlook: what waits for the device.
        without: arms that can't be chosen now.
        only_ready: of the others, only those of which something is compiled: the device waits.
    """
    out: list[Member] = []
    for m in members:
        found = {name: score for (parent, name), score in outlook.forecasts.items() if parent == m.variant}
        closed = {name for v, name in without if v == m.variant}
        if only_ready:
            closed |= {a.name for a in ARMS} - found.keys()
        out.append(evolve(m, forecasts=found or m.forecasts, exhausted=m.exhausted | closed))
    return tuple(out)
