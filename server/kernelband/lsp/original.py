"""What a run knows of the original: its cases, the launches of the kernel in them, and how long they took; and what hints are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from attrs import evolve, field, frozen

from kernelband.errors import HardwareError
from kernelband.explain.bottleneck import bound
from kernelband.explain.hints import Launched, Material, about
from kernelband.explain.inspect import out_of_bounds, traffic_warnings
from kernelband.explain.kept import Times, original_times
from kernelband.explain.linecosts import LineCost, line_costs, merged
from kernelband.hardware import Device, find_device
from kernelband.hardware.work import Work
from kernelband.history import Store, trials, view
from kernelband_worker.wire import Case, CompileFacts, LaunchFacts


@frozen
class CaseSeen:
    """A case. ``arguments`` is one line for people. ``launches``: of the kernel, as the device got them; ``work``: the largest, where that
    was compiled; ``alone``: the call launches nothing else, so that its device time is the launch's.
    """

    id: str
    role: str
    arguments: str
    launches: tuple[LaunchFacts, ...]
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
    times, launched = original_times(trials.measurements(store, run, 0)), view.works(store, run)
    cases = [_case(cast("Case", c.facts), kernel) for c in trials.cases(store, run)]
    full = (
        evolve(c, times=times.get(c.id), work=_largest(known, [w for w in launched if (w.case, w.kernel) == (c.id, kernel)])) for c in cases
    )
    return Original(known, tuple(full))


def read_material(store: Store, run: str, kernel: str, gpu: str, variant: int = 0) -> Material | None:
    """Of a variant of the run, 0 for the original; None where nothing of it was compiled.

    What the interpreter saw line by line is kept of the original only.

    Raises:
        HistoryError: the database can't be read.
    """
    launched = [w for w in view.works(store, run, variant) if w.kernel == kernel]
    if not launched:
        return None
    try:
        device = find_device(gpu)
    except HardwareError:
        device = None
    rows = trials.cases(store, run) if variant == 0 else ()
    cases = [cast("Case", c.facts) for c in sorted(rows, key=lambda c: c.role != "time")]
    seen = _constants(cases)
    outside = view.forecast(store, run, 0).get("out_of_bounds") or () if variant == 0 else ()
    return Material(
        device.name if device is not None else gpu,
        device,
        tuple(Launched(w, about(seen.get(w.facts["key"], {}), w.facts["num_warps"])) for w in launched),
        (*traffic_warnings(cases, kernel), *out_of_bounds(outside)),
        _lines(cases, {w.facts["key"]: w.facts for w in launched}),
    )


def _lines(cases: Sequence[Case], facts: Mapping[str, CompileFacts]) -> tuple[LineCost, ...]:
    launches = [x for c in cases for x in c.get("launches") or () if x.get("specialization") in facts]
    return merged([line_costs(facts[x["specialization"]], x) for x in launches])


def _case(facts: Case, kernel: str) -> CaseSeen:
    every = facts.get("launches") or []
    own = tuple(x for x in every if x["kernel"]["qualname"] == kernel)
    return CaseSeen(facts["id"], facts["role"], facts["arguments"], own, alone=len(every) == 1 and not facts.get("other_kernels"))


def _largest(device: Device | None, launches: Sequence[Work]) -> Work | None:
    """The launch with the highest bound."""

    def us(work: Work) -> float:
        light = bound(device, work) if device is not None else None
        return light.us if light is not None else float(work.programs)

    return max(launches, key=us, default=None)


def _constants(cases: Sequence[Case]) -> dict[str, Mapping[str, Any]]:
    """By the key of the specialisation."""
    return {x["specialization"]: x.get("constants") or {} for c in cases for x in c.get("launches") or () if "specialization" in x}
