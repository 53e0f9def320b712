"""What a policy sees of a variant: features, headroom, expected time; from compile facts, traffic and, where there is a GPU, its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from attrs import field, frozen

from kernelband.hardware import Device
from kernelband.hardware.arithmetic import compute
from kernelband.hardware.forecast import Forecast, estimate, forecast
from kernelband.hardware.roofline import tensor_rate
from kernelband.hardware.work import Work, works
from kernelband.search._base import Member
from kernelband.search.frontier import features, geometric_mean
from kernelband_worker.wire import Case, CompileFacts, LaunchFacts, LaunchSpec

Traffic = Mapping[str, Sequence[LaunchFacts]]


@frozen
class Profiler:
    """``before`` are the original's launches on ``cases``; every forecast is against them. ``took_us``: its device time by case, once it
    is measured.
    """

    device: Device
    cases: tuple[Case, ...]
    before: tuple[Work, ...]
    took_us: dict[str, float] = field(factory=dict[str, float], eq=False)

    def works(self, specs: Sequence[LaunchSpec], facts: Mapping[str, CompileFacts], traffic: Traffic | None) -> tuple[Work, ...]:
        """The launches of a variant; ``traffic`` None: none was counted."""
        return works(specs, facts, self.cases, {} if traffic is None else traffic)

    def forecast(self, specs: Sequence[LaunchSpec], facts: Mapping[str, CompileFacts], traffic: Traffic | None = None) -> Forecast:
        """Of a variant against the original."""
        return forecast(self.device, self.before, self.works(specs, facts, traffic), self.took_us)

    def member(self, variant: int, found: Sequence[Work], seconds: float, times_us: Mapping[str, float] | None) -> Member:
        """A frontier member.

        Args:
            variant: its number; 0 is the original.
            found: its launches.
            seconds: geometric mean over timing cases: measured, or the forecast's.
            times_us: measured time by case; None in predicted mode, where the formula's own time stands in.
        """
        held = [w.occupancy(self.device).fraction for w in found]
        facts = [w.facts for w in found]
        return Member(
            variant, seconds, features(seconds, facts, 100 * fmean(held) if held else 0.0), headroom(self.device, found, times_us)
        )


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
