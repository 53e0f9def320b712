"""When a variant is the same program as another: a stronger word than the same machine code (JUDGING, section 2).

Equal needs, for every case, the same ordered list of launches (machine code without debug information, warps, CTAs, shared memory, grid,
scalars) and the same syntax tree of every host function. The machine code alone would miss a new grid or a dropped copy.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from attrs import field, frozen

from kernelband_worker.wire import CompileFacts, SpecialiseResult

Launch = tuple[str, int, int, int, tuple[int, ...], str]


@frozen
class Identity:
    """``launches`` by case: code hash, warps, CTAs, shared bytes, grid and scalars of each launch in order. ``hosts``: qualname -> hash."""

    launches: dict[str, tuple[Launch, ...]] = field(factory=dict[str, tuple[Launch, ...]])
    hosts: dict[str, str] = field(factory=dict[str, str])


def identity(specialised: SpecialiseResult, facts: Mapping[str, CompileFacts], hosts: Collection[str]) -> Identity | None:
    """The identity of a program; None when a launch of it was not compiled, so that nothing can be said.

    Args:
        specialised: its launches on the cases.
        facts: compile facts by LaunchSpec key.
        hosts: qualnames of the host functions that may be edited. Kernels are left out: their machine code speaks for them.
    """
    launches: dict[str, list[Launch]] = {}
    for launch in specialised["launches"]:
        compiled = facts.get(launch["key"])
        if compiled is None:
            return None
        scalars = json.dumps(launch["scalars"], sort_keys=True, default=str)
        launches.setdefault(launch["case"], []).append(
            (
                compiled["code_hash"],
                compiled["num_warps"],
                compiled["num_ctas"],
                compiled["shared_bytes"],
                tuple(launch["grid"]),
                scalars,
            )
        )
    hashes = {name: digest for name, digest in specialised["host_hash"].items() if name in hosts}
    return Identity({case: tuple(found) for case, found in launches.items()}, hashes)


def equal(first: Identity | None, second: Identity | None) -> bool:
    """True only when it is known. The host functions of both must be known wherever either edits one."""
    if first is None or second is None or not first.launches:
        return False
    return first.launches == second.launches and first.hosts == second.hosts
