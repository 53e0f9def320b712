"""The original: what it compiles to, what limits it, how long it takes, and how far it differs from itself."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from attrs import field, frozen

from kernelband.errors import ExecutorFault, KernelBandError, WorkloadError
from kernelband.hardware import Device
from kernelband.hardware.work import Work, works
from kernelband.judge.blocks import Place
from kernelband.judge.identity import Identity, identity
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate as Judged
from kernelband.judge.protocol import Measurement
from kernelband.judge.statistics import log_ratio, of_pairs
from kernelband.search._base import Member
from kernelband.search._lab import Built, Lab
from kernelband.search.frontier import by_target, geometric_mean
from kernelband.search.preparer import outside_kernels
from kernelband.search.profile import Profiler, expected_seconds
from kernelband.source.model import Program
from kernelband_worker.wire import Case, CompileFacts, LaunchSpec


@frozen
class Compiled:
    """What is known of the original before it is timed."""

    profiler: Profiler
    facts: dict[str, CompileFacts] = field(repr=False)
    identity: Identity | None = field(repr=False)
    found: tuple[Work, ...] = field(repr=False)
    launches: tuple[LaunchSpec, ...] = field(default=(), repr=False)
    late: frozenset[str] = frozenset()  # cases that it takes too long to compile for


@frozen
class Baseline:
    """``device_us`` and ``call_us``: medians by timing case, measured mode only. ``noise``: half-width of the A/A ratio by case."""

    profiler: Profiler
    member: Member
    mean_seconds: float
    facts: dict[str, CompileFacts] = field(repr=False)
    identity: Identity | None = field(repr=False)
    found: tuple[Work, ...] = field(repr=False)
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)
    device_us: dict[str, float] = field(factory=dict[str, float])
    call_us: dict[str, float] = field(factory=dict[str, float])
    noise: dict[str, float] = field(factory=dict[str, float])


def forecast_cases(cases: tuple[Case, ...], *, measured: bool) -> tuple[Case, ...]:
    """A forecast is about what would be timed; the others are for checking."""
    return cases if measured else tuple(c for c in cases if c["role"] == "time") or cases


def compile_original(lab: Lab, program: Program, cases: Sequence[Case]) -> tuple[Built, Identity | None]:
    """Specialise and compile the original for all cases.

    Raises:
        WorkloadError: it doesn't compile for this device.
        ExecutorFault: a compile process died, twice.
    """
    try:
        try:
            built = lab.build(None, cases).result()
        except ExecutorFault as fault:
            if fault.fault != "crashed":
                raise
            built = lab.build(None, cases).result()  # a process that was killed says nothing of the kernel: once more, in another
    except KernelBandError as error:
        killed = isinstance(error, ExecutorFault) and error.fault == "crashed"
        if killed or (error.kind != "compile_error" and not isinstance(error, ExecutorFault)):
            raise
        raise WorkloadError(
            f"The original kernel {program.kernel.place.qualname} doesn't compile for {lab.device.name}: {error.message}",
            detail=error.detail,
        ) from error
    return built, identity(built.specialised, built.facts, outside_kernels(built.specialised, program))


def read(lab: Lab, program: Program, cases: tuple[Case, ...]) -> Compiled:
    """What compiling tells about the original.

    Raises:
        KernelBandError: it can't be compiled.
    """
    built, same = compile_original(lab, program, cases)
    cases = tuple(c for c in cases if c["id"] not in built.late)
    timing = tuple(c for c in cases if c["role"] == "time") or cases  # a forecast is about what is timed
    found = works(built.specialised["launches"], built.facts, timing, built.traffic)
    return Compiled(Profiler(lab.device, timing, found), built.facts, same, found, tuple(built.specialised["launches"]), built.late)


def take(lab: Lab, judge: Judge, compiled: Compiled, objective: str) -> Baseline:
    """Everything about the original.

    Raises:
        KernelBandError: it can't be timed.
    """
    profiler, facts, same, found = compiled.profiler, compiled.facts, compiled.identity, compiled.found
    if not lab.measured:
        seconds, mean = expected_seconds(lab.device, found)
        return Baseline(profiler, profiler.member(0, found, seconds, None), mean, facts, same, found)
    timing = judge.task.of_role("time")
    if not timing:
        raise WorkloadError("No case of the program can be timed: each is refused by replay. Name another entry with --entry.")
    block = judge.measure(lab.measuring(), Judged(None), timing, judge.settings.pairs, Place("screening", 0))
    counted = [m for m in block.measurements if not m.superseded]
    device_us, call_us = ({c["id"]: _median(counted, c["id"], q) for c in timing} for q in ("device", "call"))
    profiler.took_us.update(device_us)
    times = device_us if objective == "device" else call_us
    noise = {c["id"]: _noise(counted, c["id"], objective) for c in timing}
    seconds = geometric_mean(list(times.values())) * 1e-6
    member = profiler.member(0, found, seconds, times)
    mean = fmean(times.values()) * 1e-6
    return Baseline(profiler, member, mean, facts, same, found, block.measurements, device_us, call_us, noise)


def lines(device: Device, program: Program, baseline: Baseline, timing: Sequence[Case]) -> tuple[str, ...]:
    """For people: one line for each distinct compilation of the kernel."""
    out: list[str] = []
    for facts in by_target(baseline.facts, program.kernel.place.qualname):
        work = next((w for w in baseline.found if w.facts["key"] == facts["key"]), None)
        held = work.occupancy(device) if work is not None else None
        spilled = (facts["spill_store_bytes"] or 0) + (facts["spill_load_bytes"] or 0)
        parts = [
            f"{facts['num_warps']} warps, {facts['num_stages']} stages",
            f"{facts['registers']} registers" if facts["registers"] is not None else "registers unknown",
            f"{facts['shared_bytes'] / 1024:.0f} KiB shared",
            f"occupancy {100 * held.fraction:.0f} % ({held.limiter})" if held is not None else "",
            f"{spilled} bytes spilled" if spilled else "",
            facts["tensor_core"] or "",
        ]
        out.append(", ".join(p for p in parts if p))
    slow = [baseline.device_us[c["id"]] for c in timing if c["id"] in baseline.device_us]
    if slow and max(slow) < 20:
        out.append("Every case takes less than 20 µs on the device, where launching decides: name a larger entry for clearer figures.")
    return tuple(dict.fromkeys(out))


def _median(found: Sequence[Measurement], case: str, quantity: str) -> float:
    return median(m.original_us for m in found if m.case == case and m.quantity == quantity)


def _noise(found: Sequence[Measurement], case: str, quantity: str) -> float:
    logs = [log_ratio(m.original_us, m.variant_us) for m in found if m.case == case and m.quantity == quantity]
    return of_pairs(logs).reach
