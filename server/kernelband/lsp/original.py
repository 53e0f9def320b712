"""What a run knows of the original: its cases, the launches of the kernel in them, and how long they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from kernelband.errors import HardwareError
from kernelband.explain.bottleneck import bound
from kernelband.explain.originaltimes import Times, read_times
from kernelband.hardware import Device, find_device
from kernelband.hardware.work import Work
from kernelband.history import Store, trials
from kernelband.history.view import works


@frozen
class LaunchSeen:
    """A launch of the kernel as the device got it. ``constants`` are constexpr arguments by name; ``tuned``: an autotuner chose."""

    grid: tuple[int, ...]
    warps: int
    stages: int
    constants: dict[str, Any]
    tuned: bool


@frozen
class CaseSeen:
    """A case. ``arguments`` is one line for people. ``work``: the kernel's largest launch in it, where that was compiled; ``alone``: the
    call launches nothing else, so that its device time is the launch's.
    """

    id: str
    role: str
    arguments: str
    launches: tuple[LaunchSeen, ...]
    alone: bool
    work: Work | None = field(default=None, repr=False)
    times: Times | None = None


@frozen
class Original:
    """Of one run. ``device`` is None where this version doesn't know the run's GPU."""

    device: Device | None
    cases: tuple[CaseSeen, ...]

    def longest(self) -> CaseSeen | None:
        """The timing case that takes longest, by measured time or else by its bound; the first one where neither is known."""
        timed = [c for c in self.cases if c.role == "time"] or list(self.cases)
        return max(timed, key=self._weight, default=None)

    def _weight(self, case: CaseSeen) -> tuple[float, float]:
        light = bound(self.device, case.work) if self.device is not None and case.work is not None else None
        return ((case.times.device_us if case.times else None) or 0.0, light.us if light is not None else 0.0)


def read_original(store: Store, run: str, kernel: str, device: str) -> Original:
    """From the rows of the run.

    Args:
        store: open to read.
        run: its id.
        kernel: the qualname whose launches count.
        device: the run's, by name.

    Raises:
        HistoryError: the database can't be read.
    """
    try:
        known = find_device(device)
    except HardwareError:
        known = None  # estimated from another one: its rates weren't kept
    times, launched = read_times(store, run), works(store, run)
    cases = [_case(c.facts, kernel) for c in trials.cases(store, run)]
    full = (
        evolve(c, times=times.get(c.id), work=_largest(known, [w for w in launched if (w.case, w.kernel) == (c.id, kernel)])) for c in cases
    )
    return Original(known, tuple(full))


def _case(facts: Mapping[str, Any], kernel: str) -> CaseSeen:
    every: list[dict[str, Any]] = facts.get("launches") or []
    own = [x for x in every if x["kernel"]["qualname"] == kernel]
    return CaseSeen(
        str(facts["id"]),
        str(facts["role"]),
        str(facts["arguments"]),
        tuple(
            LaunchSeen(tuple(x["grid"]), x["num_warps"], x["num_stages"], dict(x.get("constants") or {}), x.get("config") is not None)
            for x in own
        ),
        alone=len(every) == 1 and not facts.get("other_kernels"),
    )


def _largest(device: Device | None, launches: Sequence[Work]) -> Work | None:
    """The launch with the highest bound."""

    def us(work: Work) -> float:
        light = bound(device, work) if device is not None else None
        return light.us if light is not None else float(work.programs)

    return max(launches, key=us, default=None)
