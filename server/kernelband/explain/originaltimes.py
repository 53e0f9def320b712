"""How long the original took, case by case: of the final's fresh processes, or of the baseline where there was no final."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Literal

from attrs import frozen

from kernelband.history import Store
from kernelband.history.records import MeasurementRow

Stage = Literal["final", "baseline"]


@frozen
class Times:
    """Medians in microseconds. ``stage`` is where they come from; ``method`` is that of the device time."""

    device_us: float | None
    call_us: float | None
    method: str
    stage: Stage


def read_times(store: Store, run: str) -> dict[str, Times]:
    """By case.

    Raises:
        HistoryError: the database can't be read.
    """
    return _times(
        store.rows(
            "SELECT stage, case_id, kind, method, original_us FROM measurements "
            "WHERE run = ? AND variant = 0 AND stage IN ('baseline', 'final') AND NOT superseded",
            [run],
        )
    )


def original_times(measurements: Iterable[MeasurementRow]) -> dict[str, Times]:
    """The same of rows that are read already."""
    names = ("stage", "case_id", "kind", "method", "original_us")
    counted = (m for m in measurements if m.variant == 0 and m.stage in ("baseline", "final") and not m.superseded)
    return _times([{name: getattr(m, name) for name in names} for m in counted])


def _times(rows: Sequence[Mapping[str, Any]]) -> dict[str, Times]:
    stage: Stage = "final" if any(r["stage"] == "final" for r in rows) else "baseline"
    us: dict[str, dict[str, list[float]]] = {}
    methods: dict[str, str] = {}
    for r in rows:
        if r["stage"] == stage:
            us.setdefault(r["case_id"], {}).setdefault(r["kind"], []).append(r["original_us"])
            if r["kind"] == "device":
                methods[r["case_id"]] = r["method"]
    return {
        case: Times(_median(kinds.get("device")), _median(kinds.get("call")), methods.get(case, ""), stage) for case, kinds in us.items()
    }


def _median(us: Sequence[float] | None) -> float | None:
    return median(us) if us else None
