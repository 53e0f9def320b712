"""Before the first trial: the program's calls are recorded, the original is compiled, timed, and written down as variant 0."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from statistics import fmean, median
from typing import Any, cast

from attrs import define, evolve, field, frozen

from kernelband.errors import ExecutorFault, KernelBandError, SourceError, WorkloadError
from kernelband.hardware import Device
from kernelband.hardware.work import works
from kernelband.history import kernel_key, runs, trials
from kernelband.history.records import LEFT_OUT, CaseRow
from kernelband.history.values import finite
from kernelband.judge.blocks import Place
from kernelband.judge.identity import identity
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate, Measurement, Task
from kernelband.judge.statistics import log_ratio, of_pairs
from kernelband.propose.others import others
from kernelband.search import resume
from kernelband.search._base import Member
from kernelband.search._lab import Built, Lab
from kernelband.search.beside import beside, others_us
from kernelband.search.builder import Builder
from kernelband.search.events import CasesCaptured, Noted
from kernelband.search.frontier import by_target, geometric_mean
from kernelband.search.preparer import Preparer
from kernelband.search.profile import Profiler, expected_seconds
from kernelband.search.programs import Programs
from kernelband.search.session import Journal, Session
from kernelband.search.start import Setup
from kernelband.search.trial import constants_of, facts_rows, measurement_rows, original_row
from kernelband.search.variant_texts import VariantTexts
from kernelband.source import form
from kernelband.source.model import Program
from kernelband.strategies import Facts, fixed_blocks
from kernelband.workload import capture_first, choose_proof, modules_of
from kernelband.workload.capture import within
from kernelband_worker.wire import Case


@define
class Preparation:
    """Of one run: ``capture``, ``compile`` and ``measure``, in this order. ``capture_s`` and ``first_s``: the seconds that the entry took
    under capture, and the first measuring process to import, to tune and to time the original.
    """

    setup: Setup
    journal: Journal
    capture_s: float = 0.0
    first_s: float = 0.0
    _outside: tuple[dict[str, Any], ...] = ()  # accesses out of bounds that the capture saw

    def capture(self) -> tuple[Case, ...]:
        """The cases of the program, told and written down; those of the run that is resumed.

        Raises:
            KernelBandError: it makes none, or others than before.
        """
        setup, journal, lab = self.setup, self.journal, self.setup.lab
        begin = time.monotonic()
        with suppress(SourceError):  # what can't be imported the capture will say
            lab.import_ahead(modules_of(setup.workspace, setup.program, setup.choice.entry))
        with journal.during("capture"):
            captured = capture_first(
                lab.measuring(),
                setup.workspace,
                setup.program,
                setup.choice,
                lock=lab.uuid,
                predicting=not lab.measured,
                sizes=not lab.measured and not setup.choice.named,
                within_s=within(setup.budget.seconds),
            )
        if captured.entry != setup.choice.entry:
            self.setup = evolve(setup, proof=choose_proof(setup.workspace, setup.program, captured.entry, setup.choice.there))
        self._outside = captured.out_of_bounds
        cases = tuple(captured.cases)
        keys = ("id", "role", "arguments", "calls", "share", "replayable", "reason")
        shown = tuple({k: c[k] for k in keys} | {"function": c["function"]["qualname"]} for c in (*cases, *captured.refused))
        journal.emit(CasesCaptured(shown, time.monotonic() - begin))
        for note in (*captured.notes, *(() if setup.options.edited else fixed_blocks(setup.program, Facts(lab.device, cases)))):
            journal.emit(Noted(note))
        gpu = lab.gpu["name"] if lab.gpu is not None else lab.device.key
        key = kernel_key(setup.program, cases, gpu, lab.environment)
        known = trials.cases(journal.store, journal.run)
        if setup.earlier is not None:
            resume.require_same_world(setup.earlier, key, dict(lab.environment), cases, [c.id for c in known])
        if not known:
            rows = tuple(CaseRow(journal.run, c["id"], i, c["role"], finite(dict(c))) for i, c in enumerate(cases))
            trials.write(journal.store, trials.Rows(cases=rows))
        runs.update(journal.store, journal.run, kernel_key=key)
        self.capture_s = time.monotonic() - begin
        left_out = {c.id for c in known if c.role == LEFT_OUT}  # by the run that is resumed: figures over other cases aren't its own
        return tuple(c for c in cases if c["id"] not in left_out)

    def compile(self, cases: tuple[Case, ...]) -> tuple[Session, Compiled]:
        """What compiling tells about the original, and the session of the run.

        Raises:
            KernelBandError: it can't be compiled.
        """
        setup, journal, lab = self.setup, self.journal, self.setup.lab
        compiled = read(lab, setup.program, forecast_cases(cases, measured=lab.measured))
        late = compiled.built.late
        self._leave_out(late, cases)
        cases = tuple(c for c in cases if c["id"] not in late)
        about = forecast_cases(cases, measured=lab.measured)
        task = Task(cases, setup.options.objective, self.setup.proof)
        judge = Judge(task, gpu=lab.uuid, device=lab.device, tell=lambda text: journal.emit(Noted(text)))
        launches = tuple(compiled.built.specialised["launches"])
        texts = VariantTexts(setup)
        programs = Programs(setup.program, texts.program, texts.others, compiled.built.facts, constants_of(launches))
        triton = cast("tuple[int, int]", tuple(int(x) for x in lab.environment["triton"].split(".")[:2]))

        def facts(parent: int) -> Facts:
            compiled, kernel = programs.facts(parent), setup.program.kernel
            own = tuple(by_target(compiled, kernel.place.qualname))
            found = Facts(lab.device, cases, own, triton, frozenset(setup.options.allowed), programs.constants(parent, kernel))
            beside = others(programs.others(parent), found, compiled, partial(programs.constants, parent))
            return evolve(found, others=beside)

        builder = Builder(lab, setup.author, programs, cases=about, profiler=compiled.profiler, facts=facts)
        builder.know(compiled.identity)
        preparer = Preparer(builder, lambda: setup.budget.left)
        return Session(setup.options, journal, judge, setup.policy, preparer, cases=cases, launches=launches), compiled

    def measure(self, session: Session, compiled: Compiled) -> Baseline:
        """Everything about the original.

        Raises:
            KernelBandError: it can't be timed.
        """
        begin = time.monotonic()
        base = take(session.lab, session.judge, compiled, session.options.objective)
        self.first_s = time.monotonic() - begin
        session.frontier.add(base.member)
        return base

    def write(self, base: Baseline) -> None:
        """The original as variant 0, with its measurements and facts."""
        run, found = self.journal.run, base.compiled.profiler.before
        rows = trials.Rows(
            variants=(original_row(run, base.member, found, self._outside, form=form(self.setup.program)),),
            measurements=measurement_rows(run, 0, "baseline", base.measurements),
            facts=facts_rows(run, 0, base.compiled.built.facts),
        )
        with self.journal.during("commit"):
            trials.write(self.journal.store, rows)

    def _leave_out(self, late: frozenset[str], cases: tuple[Case, ...]) -> None:
        left_out, journal = [c["arguments"] for c in cases if c["id"] in late], self.journal
        if left_out:
            more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
            journal.emit(Noted(f"Compiling the original takes too long where it gets {left_out[0]}{more}: that is left out."))
            known = trials.cases(journal.store, journal.run)
            trials.write(journal.store, trials.Rows(cases=tuple(evolve(c, role=LEFT_OUT) if c.id in late else c for c in known)))


# ---------------------------------------------------------------- the original


@frozen
class Compiled:
    """What is known of the original before it is timed: the profiler has its launches."""

    profiler: Profiler
    built: Built = field(repr=False)
    identity: str


@frozen
class Baseline:
    """``device_us`` and ``call_us``: medians by timing case, measured mode only. ``noise``: half-width of the A/A ratio by case.
    ``waiting``: cases whose device time is the wall clock's.
    """

    compiled: Compiled
    member: Member
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)
    device_us: dict[str, float] = field(factory=dict[str, float])
    call_us: dict[str, float] = field(factory=dict[str, float])
    noise: dict[str, float] = field(factory=dict[str, float])
    waiting: frozenset[str] = frozenset()


def forecast_cases(cases: tuple[Case, ...], *, measured: bool) -> tuple[Case, ...]:
    """A forecast is about what would be timed; the others are for checking."""
    return cases if measured else tuple(c for c in cases if c["role"] == "time") or cases


def compile_original(lab: Lab, program: Program, cases: Sequence[Case]) -> Built:
    """Specialise and compile the original for all cases.

    Raises:
        WorkloadError: it doesn't compile for this device.
        ExecutorFault: a compile process died, twice.
    """
    try:
        try:
            return lab.build(None, cases).result()
        except ExecutorFault as fault:
            if fault.fault != "crashed":
                raise
            return lab.build(None, cases).result()  # a process that was killed says nothing of the kernel: once more, in another
    except KernelBandError as error:
        killed = isinstance(error, ExecutorFault) and error.fault == "crashed"
        if killed or (error.kind != "compile_error" and not isinstance(error, ExecutorFault)):
            raise
        raise WorkloadError(
            f"The original kernel {program.kernel.place.qualname} doesn't compile for {lab.device.name}: {error.message}",
            detail=error.detail,
        ) from error


def read(lab: Lab, program: Program, cases: tuple[Case, ...]) -> Compiled:
    """What compiling tells about the original.

    Raises:
        KernelBandError: it can't be compiled.
    """
    built = compile_original(lab, program, cases)
    cases = tuple(c for c in cases if c["id"] not in built.late)
    timing = tuple(c for c in cases if c["role"] == "time") or cases  # a forecast is about what is timed
    profiler = Profiler(lab.device, timing, works(built.specialised["launches"], built.facts, timing, built.traffic))
    return Compiled(profiler, built, identity(built.specialised, built.facts, program.kernel_names))


def take(lab: Lab, judge: Judge, compiled: Compiled, objective: str) -> Baseline:
    """Everything about the original.

    Raises:
        KernelBandError: it can't be timed.
    """
    profiler, found = compiled.profiler, compiled.profiler.before
    if not lab.measured:
        return Baseline(compiled, profiler.member(0, expected_seconds(lab.device, found), found, None))
    timing = judge.task.of_role("time")
    if not timing:
        raise WorkloadError("No case of the program can be timed: each is refused by replay. Name another entry with --entry.")
    block = judge.measure(lab.measuring(), Candidate(None), timing, judge.settings.pairs, Place("screening", 0))
    counted = [m for m in block.measurements if not m.superseded]
    device_us, call_us = ({c["id"]: _median(counted, c["id"], q) for c in timing} for q in ("device", "call"))
    waiting = frozenset(m.case for m in counted if m.quantity == "device" and m.method == "wall")
    if objective == "device":
        profiler.others_us.update(others_us(timing, device_us, waiting))
    profiler.took_us.update({case: us - profiler.others_us.get(case, 0.0) for case, us in device_us.items()})
    times = device_us if objective == "device" else call_us
    noise = {c["id"]: _noise(counted, c["id"], objective) for c in timing}
    seconds = geometric_mean(list(times.values())) * 1e-6, fmean(times.values()) * 1e-6
    return Baseline(
        compiled,
        profiler.member(0, seconds, found, times),
        measurements=block.measurements,
        device_us=device_us,
        call_us=call_us,
        noise=noise,
        waiting=waiting,
    )


def lines(device: Device, program: Program, baseline: Baseline, timing: Sequence[Case], searched: Sequence[str] = ()) -> tuple[str, ...]:
    """For people: one line for each distinct compilation of the kernel. ``searched``: names of others that are searched with it."""
    out: list[str] = []
    for facts in by_target(baseline.compiled.built.facts, program.kernel.place.qualname):
        work = next((w for w in baseline.compiled.profiler.before if w.facts["key"] == facts["key"]), None)
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
    out += beside(timing, baseline.device_us, baseline.waiting, searched)
    return tuple(dict.fromkeys(out))


def _median(found: Sequence[Measurement], case: str, quantity: str) -> float:
    return median(m.original_us for m in found if m.case == case and m.quantity == quantity)


def _noise(found: Sequence[Measurement], case: str, quantity: str) -> float:
    logs = [log_ratio(m.original_us, m.variant_us) for m in found if m.case == case and m.quantity == quantity]
    return of_pairs(logs).reach
