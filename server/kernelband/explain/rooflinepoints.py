"""Where the original and its variants stand under the roofs of their GPU, on the case that takes longest.

Intensity comes from counted work, a rate from counted work over measured time: of the final's fresh processes, of screening where a variant
wasn't in the final (and says so), and none where nothing was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from attrs import evolve, frozen

from kernelband.errors import HardwareError
from kernelband.explain.bottleneck import bottleneck, bound, flops_of, peak_of
from kernelband.explain.casenames import case_names
from kernelband.explain.kept import Kept, original_times
from kernelband.hardware import Device, find_device
from kernelband.hardware.work import Work
from kernelband.history.outcome import MEASURED, outcome_in
from kernelband.history.records import TrialRow

Stage = Literal["baseline", "final", "screening"]
SOURCES = {True: "measured on the GPU", False: "data sheet"}


@frozen
class Peaks:
    """What a device can do at most. ``tensor_flops_per_s`` by operand dtype; ``source`` says how the rates are known."""

    name: str
    source: str
    dram_bytes_per_s: float
    l2_bytes_per_s: float
    fp32_flops_per_s: float
    tensor_flops_per_s: dict[str, float]
    launch_us: float


@frozen
class Point:
    """A variant, 0 for the original. ``how`` is ``measured`` where there are rates, ``predicted`` where there is only the intensity.

    ``peak_flops_per_s`` is of the units that do most of its arithmetic, ``limited_by`` what limits its largest launch. ``reason``: why
    something is None, "" where nothing is missing.
    """

    variant: int
    how: Literal["measured", "predicted"] = "predicted"
    stage: Stage | None = None
    intensity_flop_per_byte: float | None = None
    flops_per_s: float | None = None
    dram_bytes_per_s: float | None = None
    peak_flops_per_s: float | None = None
    device_us: float | None = None
    limited_by: str | None = None
    reason: str = ""


@frozen
class RooflineView:
    """``case``: the id of the case that all points are of. ``reason``: why there are no points."""

    device: Peaks | None = None
    case: str | None = None
    case_name: str = ""
    points: tuple[Point, ...] = ()
    reason: str = ""


def roofline_view(kept: Kept, tried: Sequence[TrialRow]) -> RooflineView:
    """Of the original and the variants of these trials."""
    run = kept.run
    try:
        device = find_device(run.device)
    except HardwareError:
        return RooflineView(reason=f"Rates of {run.device} weren't kept, so its limits aren't shown.")
    peaks = Peaks(
        device.name,
        SOURCES[device.measured],
        device.dram_bytes_per_s,
        device.l2_bytes_per_s,
        device.fp32_flops,
        dict(device.tensor_flops),
        device.launch_us,
    )
    original = kept.works(0)
    case = _case(kept, device, original or ())
    if case is None:
        begun = "its original hasn't been examined yet" if run.state == "running" else "the launches of its original weren't kept"
        return RooflineView(peaks, reason=f"Nothing is known of the work of run {run.id}: {begun}.")
    alone = not next((c.facts.get("other_kernels") for c in kept.cases if c.id == case), None)
    points = [_placed(kept, device, case, 0, _original_us(kept, case), alone=alone)]
    points += [_placed(kept, device, case, t.variant, _us(kept, t, case), alone=alone) for t in tried]
    name = case_names([dict(c) for c in kept.timing()]).get(case, case[:8])
    return RooflineView(peaks, case, name, tuple(points))


def _case(kept: Kept, device: Device, original: Sequence[Work]) -> str | None:
    """The timing case that takes longest, by measured time or else by its bound; one whose operations were counted before any other."""
    took = {case: times.device_us or 0.0 for case, times in original_times(kept.measurements).items()}
    timing = {c["id"] for c in kept.timing()}
    ids = [case for case in dict.fromkeys(w.case for w in original) if case in timing] or list(dict.fromkeys(w.case for w in original))

    def weight(case: str) -> tuple[bool, float, float]:
        own = [w for w in original if w.case == case]
        lights = [bound(device, w) for w in own]
        return _counted(own), took.get(case, 0.0), sum(light.us for light in lights if light is not None)

    return max(ids, key=weight, default=None)


def _counted(launches: Sequence[Work]) -> bool:
    return bool(launches) and all(w.flops is not None and w.dot_flops is not None and w.dram_bytes for w in launches)


def _original_us(kept: Kept, case: str) -> tuple[float | None, Stage | None]:
    times = original_times(kept.measurements).get(case)
    return (times.device_us, times.stage) if times is not None else (None, None)


def _us(kept: Kept, trial: TrialRow, case: str) -> tuple[float | None, Stage | None]:
    """Device time of a variant that is right, and where it is from."""
    if not kept.measured:
        return None, None
    final = kept.finals.get(trial.variant)
    results: list[tuple[Stage, dict[str, Any]]] = [*([] if final is None else [("final", final.result)]), ("screening", trial.result)]
    for stage, result in results:
        right = outcome_in(result) in MEASURED
        for c in result.get("cases") or () if right else ():
            if c["case"] == case:
                return float(c["device_after_us"]), stage
        if not right:
            break  # what the final refused has no figure from screening either
    return None, None


def _placed(kept: Kept, device: Device, case: str, variant: int, took: tuple[float | None, Stage | None], *, alone: bool) -> Point:
    us, stage = took
    works = kept.works(variant)
    own = [w for w in works or () if w.case == case]
    point = Point(variant)
    if not own:
        unknown = "the code of its launches isn't known" if works is None else "it launches nothing in this case"
        return evolve(point, reason=f"It can't be shown here: {unknown}.")
    main = max(own, key=lambda w: light.us if (light := bound(device, w)) is not None else 0.0)
    limit = bottleneck(device, main).kind
    point = evolve(point, peak_flops_per_s=peak_of(device, main), limited_by=None if limit == "unknown" else limit)
    if any(not w.dram_bytes for w in own):
        return evolve(point, reason="It can't be shown here: nothing counted the bytes that it moves.")
    moved, counted = sum(w.dram_bytes or 0.0 for w in own), _counted(own)
    flops = sum(map(flops_of, own))
    if counted:
        point = evolve(point, intensity_flop_per_byte=flops / moved)
    missing = "" if counted else "Its operations weren't counted in this case, so its intensity isn't known."
    if counted and not flops:
        missing = "It does no floating-point operations, so it can't be shown on a logarithmic axis."
    if us and alone:
        rate = {"flops_per_s": flops / us * 1e6} if counted else {}
        return evolve(point, how="measured", stage=stage, device_us=us, dram_bytes_per_s=moved / us * 1e6, reason=missing, **rate)
    if not kept.measured:
        timed = "Nothing was measured."
    elif us:
        timed = "The call launches other kernels too, so its time isn't that of the counted work."
    else:
        timed = "It has no time: it wasn't measured, or isn't right."
    return evolve(point, reason=" ".join(x for x in (missing, timed) if x))
