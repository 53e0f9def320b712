"""What a policy sees of a variant: features, headroom, expected time; from compile facts, traffic and, where there is a GPU, its time.

Headroom comes from hardware counters where they can be read, each figure with its source. A cluster representative's decides what is
masked for its cluster, so only it is worth a profiler's second. Equal machine code over equal grids is profiled once. What it costs is
bounded; where Nsight Compute isn't permitted that is said once, and headroom comes from the kernel's own time, or stays the forecast's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import cast

from attrs import define, evolve, field, frozen

from kernelband.errors import KernelBandError
from kernelband.hardware import Device
from kernelband.hardware.arithmetic import compute
from kernelband.hardware.forecast import Forecast, estimate, forecast
from kernelband.hardware.profiled import sentence
from kernelband.hardware.roofline import tensor_rate
from kernelband.hardware.work import Work, works
from kernelband.judge.protocol import Executor
from kernelband.search._base import Member, Pull
from kernelband.search.clusters import replay, representative
from kernelband.search.frontier import Frontier, features, geometric_mean
from kernelband_worker.wire import Case, CompileFacts, KernelProfile, LaunchFacts, LaunchSpec, ProfileResult

Traffic = Mapping[str, Sequence[LaunchFacts]]
FIRST_S = 6.0  # for the first one: the profiler comes from the disk
LIMIT_S = 3.0  # for each further one: 2.0 to 2.4 on an H200
SHARE = 0.05  # of the run, for profiles after the first
DEADLINE_S = 30.0  # of the operation: the call itself, torch's profiler and what was above

Code = tuple[tuple[str, int], ...]  # machine code and programs of each launch
Ask = Callable[[int], tuple[Executor, str | None]]  # an executor and the variant's name in it, for a profile


@frozen
class Profiler:
    """``before`` are the original's launches on ``cases``; every forecast is against them. Once it is measured, ``took_us`` is what it took
    on the device by case, and ``others_us`` what else its calls took.
    """

    device: Device
    cases: tuple[Case, ...]
    before: tuple[Work, ...]
    took_us: dict[str, float] = field(factory=dict[str, float], eq=False)
    others_us: dict[str, float] = field(factory=dict[str, float], eq=False)

    def works(self, specs: Sequence[LaunchSpec], facts: Mapping[str, CompileFacts], traffic: Traffic | None) -> tuple[Work, ...]:
        """The launches of a variant; ``traffic`` None: none was counted."""
        return works(specs, facts, self.cases, {} if traffic is None else traffic)

    def forecast(self, specs: Sequence[LaunchSpec], facts: Mapping[str, CompileFacts], traffic: Traffic | None = None) -> Forecast:
        """Of a variant against the original."""
        return forecast(self.device, self.before, self.works(specs, facts, traffic), self.took_us)

    def member(self, variant: int, seconds: tuple[float, float], found: Sequence[Work], times_us: Mapping[str, float] | None) -> Member:
        """A frontier member.

        Args:
            variant: its number; 0 is the original.
            seconds: geometric and arithmetic mean over timing cases: measured, or the forecast's.
            found: its launches.
            times_us: measured time by case; None in predicted mode, where the formula's own time stands in.
        """
        held = [w.occupancy(self.device).fraction for w in found]
        seen = features(seconds[0], [w.facts for w in found], 100 * fmean(held) if held else 0.0)
        own = {case: self._own(case, us) for case, us in (times_us or {}).items()}
        return Member(variant, seconds[0], seen, headroom(self.device, found, own), mean_seconds=seconds[1])

    def _own(self, case: str, us: float) -> float:
        """What the kernel takes of a call's device time. A variant may have less of the others' work to wait for: at least the share that
        the original's kernel has is its own.
        """
        others, took = self.others_us.get(case, 0.0), self.took_us.get(case, 0.0)
        return us if not others else max(us - others, us * took / (took + others))


def headroom(device: Device, found: Sequence[Work], times_us: Mapping[str, float] | None) -> dict[str, float]:
    """1 - use of each resource, averaged over cases: bytes and operations over what the device could do in the time that it took.

    "sm" is the busiest of tensor cores, other arithmetic and special functions. Resources of which nothing is known are left out.
    """
    use: dict[str, list[float]] = {"sm": [], "dram": [], "l2": []}
    for case in dict.fromkeys(w.case for w in found):
        mine = [w for w in found if w.case == case]
        took = (times_us or {}).get(case, sum(estimate(device, w).us for w in mine)) * 1e-6
        if took <= 0:
            continue
        if any(w.dram_bytes is not None for w in mine):
            use["dram"].append(sum(w.dram_bytes or 0.0 for w in mine) / device.dram_bytes_per_s / took)
        if any(w.moved_bytes is not None for w in mine):
            use["l2"].append(sum(w.moved_bytes or 0.0 for w in mine) / device.l2_bytes_per_s / took)
        if any(w.flops is not None or w.dot_flops is not None for w in mine):
            dots = sum((w.dot_flops or 0.0) / tensor_rate(device, w.dtype or "float16") for w in mine)
            others = [compute(device, w) for w in mine]
            use["sm"].append(max(dots, sum(c.arithmetic for c in others), sum(c.special for c in others)) / took)
    return {name: min(1.0, max(0.0, 1 - fmean(values))) for name, values in use.items() if values}


def expected_seconds(device: Device, found: Sequence[Work]) -> tuple[float, float]:
    """Geometric and arithmetic mean over cases of the formula's time: for ranking in predicted mode, never shown."""
    per_case = [sum(estimate(device, w).us for w in found if w.case == case) * 1e-6 for case in dict.fromkeys(w.case for w in found)]
    return (geometric_mean(per_case), fmean(per_case)) if per_case else (1.0, 1.0)


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
        self, frontier: Frontier, log: Sequence[Pull], found: Callable[[int], Sequence[Work]], ask: Ask, elapsed: float
    ) -> tuple[int, ...]:
        """Give the representatives of today's clusters the headroom that was profiled; the variants that got a new one.

        Args:
            frontier: changed in place.
            log: explains the clusters.
            found: the launches of a variant.
            ask: for what profiles it.
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
                frontier.add(evolve(frontier[at], headroom=room))
                changed.append(at)
        return tuple(changed)

    def _headroom(self, variant: int, works: Sequence[Work], ask: Ask) -> dict[str, float]:
        code: Code = tuple(sorted((w.facts["code_hash"], w.programs) for w in works))
        if not works:
            return {}
        if code not in self._known:
            self._known[code] = self._profile(ask, variant)
        found = self.profiles[variant] = self._known[code]
        if variant == 0 and found:
            self.tell(sentence(found[0]))
        return room_of(self.device, found, works)

    def _profile(self, ask: Ask, variant: int) -> tuple[KernelProfile, ...]:
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
        shares = {name: sum(p.get(name, 0.0) * p.get("us", 0.0) for p in found) / total for name in ("sm", "dram", "l2")}
        return {name: min(1.0, max(0.0, 1.0 - share)) for name, share in shares.items()}
    mine = [w for w in works if w.kernel in {p.get("kernel") for p in found}]
    return headroom(device, mine, {mine[0].case: total}) if mine and total > 0 else {}
