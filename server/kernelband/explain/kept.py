"""Everything that the history keeps of one run, read once, for those who tell of it; and how long its original took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal, cast

from attrs import field, frozen

from kernelband.hardware.work import Work
from kernelband.history import Store, runs, trials
from kernelband.history.records import ArmRow, CaseRow, DecisionRow, FinalRow, MeasurementRow, PullRow, RunRow, TrialRow, VariantRow
from kernelband.history.values import works_of
from kernelband_worker.wire import Case, CompileFacts

Stage = Literal["final", "baseline"]


@frozen
class Kept:
    """Rows of a run. ``finals`` by variant, only of a measured run; ``facts`` by variant and key; ``base``: texts by path."""

    run: RunRow
    cases: tuple[CaseRow, ...] = field(repr=False)
    variants: dict[int, VariantRow] = field(repr=False)
    trials: tuple[TrialRow, ...] = field(repr=False)
    finals: dict[int, FinalRow] = field(repr=False)
    measurements: tuple[MeasurementRow, ...] = field(repr=False)
    facts: dict[int, dict[str, CompileFacts]] = field(repr=False)
    pulls: tuple[PullRow, ...] = field(repr=False)
    arms: tuple[ArmRow, ...] = field(repr=False)
    decisions: tuple[DecisionRow, ...] = field(repr=False)
    base: dict[str, str] = field(repr=False)

    @property
    def measured(self) -> bool:
        """Whether anything of it was measured on a GPU."""
        return self.run.mode == "measured"

    def works(self, variant: int) -> tuple[Work, ...] | None:
        """The launches of a variant, 0 for the original; None where they weren't kept, or not all of their code is known."""
        row = self.variants.get(variant)
        return works_of(row, self.facts.get(variant, {})) if row is not None else None

    def timing(self) -> list[Case]:
        """Facts of the cases that are timed."""
        return [cast("Case", c.facts) for c in self.cases if c.role == "time"]


def read(store: Store, run: RunRow) -> Kept:
    """All rows of that run.

    Raises:
        HistoryError: the database can't be read.
    """
    facts: dict[int, dict[str, CompileFacts]] = {}
    for row in trials.facts(store, run.id):
        facts.setdefault(row.variant, {})[row.key] = cast("CompileFacts", row.facts)
    measured = run.mode == "measured"
    return Kept(
        run,
        cases=trials.cases(store, run.id),
        variants={v.id: v for v in trials.variants(store, run.id)},
        trials=trials.trials(store, run.id),
        finals={f.variant: f for f in trials.finals(store, run.id)} if measured else {},
        measurements=trials.measurements(store, run.id) if measured else (),
        facts=facts,
        pulls=trials.pulls(store, run.id),
        arms=trials.arms(store, run.id),
        decisions=trials.decisions(store, run.id),
        base=runs.base_texts(store, run.id),
    )


@frozen
class Times:
    """Medians in microseconds. ``stage`` is where they come from; ``method`` is that of the device time."""

    device_us: float | None
    call_us: float | None
    method: str
    stage: Stage


def original_times(measurements: Iterable[MeasurementRow]) -> dict[str, Times]:
    """How long the original took, by case: in the final's fresh processes, or in the baseline where there was no final."""
    counted = [m for m in measurements if m.variant == 0 and m.stage in ("baseline", "final") and not m.superseded]
    stage: Stage = "final" if any(m.stage == "final" for m in counted) else "baseline"
    by_case: dict[str, list[MeasurementRow]] = {}
    for m in (m for m in counted if m.stage == stage):
        by_case.setdefault(m.case_id, []).append(m)
    out: dict[str, Times] = {}
    for case, own in by_case.items():
        device, call = ([m for m in own if m.kind == kind] for kind in ("device", "call"))
        out[case] = Times(_median(device), _median(call), device[-1].method if device else "", stage)
    return out


def _median(pairs: Sequence[MeasurementRow]) -> float | None:
    return median(m.original_us for m in pairs) if pairs else None
