"""Profiles of cluster representatives: headroom from hardware counters where they can be read, each figure with its source.

A representative's headroom decides what is masked for its cluster, so only it is worth a profiler's second. Equal machine code over equal
grids is profiled once. What it costs is bounded; where Nsight Compute isn't permitted that is said once, and headroom comes from the
kernel's own time, or stays the forecast's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from attrs import define, evolve, field

from kernelband.errors import KernelBandError
from kernelband.hardware import Device
from kernelband.hardware.profiled import sentence
from kernelband.hardware.work import Work
from kernelband.judge.protocol import Executor
from kernelband.search._base import Pull
from kernelband.search.clusters import replay, representative
from kernelband.search.frontier import Frontier
from kernelband.search.profile import headroom
from kernelband_worker.wire import Case, KernelProfile, ProfileResult

FIRST_S = 6.0  # for the first one: the profiler comes from the disk
LIMIT_S = 3.0  # for each further one: 2.0 to 2.4 on an H200
SHARE = 0.05  # of the run, for profiles after the first
DEADLINE_S = 30.0  # of the operation: the call itself, torch's profiler and what was above

Code = tuple[tuple[str, int], ...]  # machine code and programs of each launch


@define
class Instruments:
    """``case`` is what is profiled: the timing case that takes longest. ``ncu`` None: Nsight Compute isn't there, or has refused.

    ``tell`` takes sentences for the user; ``profiles`` is what was seen, by variant.
    """

    device: Device
    case: Case
    gpu: str | None
    ncu: str | None
    tell: Callable[[str], None]
    seconds: float = 0.0
    profiles: dict[int, tuple[KernelProfile, ...]] = field(factory=dict[int, "tuple[KernelProfile, ...]"])
    _known: dict[Code, tuple[KernelProfile, ...]] = field(factory=dict[Code, "tuple[KernelProfile, ...]"])
    _looked: set[int] = field(factory=set[int])
    _refused: bool = False

    def update(
        self,
        frontier: Frontier,
        log: Sequence[Pull],
        found: Callable[[int], Sequence[Work]],
        ask: Callable[[int], tuple[Executor, str | None]],
        elapsed: float,
    ) -> tuple[int, ...]:
        """Give the representatives of today's clusters the headroom that was profiled; the variants that got a new one.

        Args:
            frontier: changed in place.
            log: explains the clusters.
            found: the launches of a variant.
            ask: an executor and the variant's name in it, for a profile.
            elapsed: seconds of the run.
        """
        members = frontier.members
        clusters = replay(members, log)
        changed: list[int] = []
        for cluster in range(clusters.count):
            inside = clusters.members(cluster, members)
            if not inside:
                continue
            at = representative(inside).variant
            if at in self._looked or self._refused or (self.seconds and self.seconds + LIMIT_S > SHARE * elapsed):
                continue
            self._looked.add(at)
            works = [w for w in found(at) if w.case == self.case["id"]]
            room = self._headroom(at, works, ask)
            if room:
                frontier.add(evolve(frontier[at], headroom=room), frontier.means[at])
                changed.append(at)
        return tuple(changed)

    def _headroom(self, variant: int, works: Sequence[Work], ask: Callable[[int], tuple[Executor, str | None]]) -> dict[str, float]:
        code: Code = tuple(sorted((w.facts["code_hash"], w.programs) for w in works))
        if not works:
            return {}
        if code not in self._known:
            self._known[code] = self._profile(ask, variant)
        found = self.profiles[variant] = self._known[code]
        if variant == 0 and found:
            self.tell(sentence(found[0]))
        return room_of(self.device, found, works)

    def _profile(self, ask: Callable[[int], tuple[Executor, str | None]], variant: int) -> tuple[KernelProfile, ...]:
        """Empty when nothing could be seen. No fault of a variant ends a run here: its trial would have."""
        executor, name = ask(variant)
        params = {"variant": name, "case": self.case["id"], "ncu": self.ncu, "limit_s": LIMIT_S if self.seconds else FIRST_S}
        begin = time.monotonic()  # with its processes' start, which the run waits for too
        try:
            result = cast("ProfileResult", executor.call("profile", params, DEADLINE_S, lock=self.gpu))
        except KernelBandError as error:
            self._refused = True
            self.tell(f"Nothing is profiled in this run, headroom comes from the forecast: {error.message}")
            return ()
        finally:
            self.seconds += time.monotonic() - begin
        if result["note"] is not None:
            self.tell(result["note"])
        if not result["usable"]:
            self.ncu = None
        return tuple(result["profiles"])


def room_of(device: Device, found: Sequence[KernelProfile], works: Sequence[Work]) -> dict[str, float]:
    """1 - use of "sm", "dram" and "l2" over the profiled launches, weighted by their time; empty when they aren't known."""
    if not found:
        return {}
    total = sum(p.get("us", 0.0) for p in found)
    if all({"sm", "dram", "l2"} <= p.keys() for p in found) and total > 0:
        shares = _weighted(found, total)
        return {name: min(1.0, max(0.0, 1.0 - share)) for name, share in shares.items()}
    mine = [w for w in works if w.kernel in {p.get("kernel") for p in found}]
    return headroom(device, mine, {mine[0].case: total}) if mine and total > 0 else {}


def _weighted(found: Sequence[KernelProfile], total: float) -> Mapping[str, float]:
    def mean(values: Sequence[float]) -> float:
        return sum(v * p.get("us", 0.0) for v, p in zip(values, found, strict=True)) / total

    return {
        "sm": mean([p.get("sm", 0.0) for p in found]),
        "dram": mean([p.get("dram", 0.0) for p in found]),
        "l2": mean([p.get("l2", 0.0) for p in found]),
    }
