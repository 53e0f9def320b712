"""One block of timing on an executor, measured again when the GPU was disturbed, as measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from attrs import evolve, field, frozen

from kernelband.judge.protocol import Candidate, Case, Executor, Measurement, Quantity, Settings, Stage, time_deadline
from kernelband_worker.wire import CaseTime, TimeParams, TimeResult


@frozen
class Place:
    """Where a block belongs: which process, and after how many pairs of the same process."""

    stage: Stage
    process: int
    after: int = 0


@frozen
class Block:
    """``shares``: of the target kernel in the device time, by case, where it was learnt."""

    measurements: tuple[Measurement, ...]
    shares: dict[str, float] = field(factory=dict[str, float])


def measure(
    executor: Executor,
    candidate: Candidate,
    cases: Sequence[Case],
    *,
    pairs: int,
    place: Place,
    settings: Settings,
    lock: str | None,
    profile: bool = False,
) -> Block:
    """Times a candidate. A case that was disturbed is measured again, twice at most, then its mark stays.

    Raises:
        ExecutorFault: the executor timed out, died or ran out of memory.
        KernelBandError: the operation failed.
    """
    found: list[Measurement] = []
    shares: dict[str, float] = {}
    left = list(cases)
    for attempt in range(settings.repeats + 1):
        params: TimeParams = {"variant": candidate.variant, "cases": [c["id"] for c in left], "pairs": pairs, "profile": profile}
        if place.after:
            params["warmup_s"] = 0.0  # it was warm a moment ago
        deadline = time_deadline(left, pairs, settings)
        result = cast("TimeResult", executor.call("time", params, deadline, lock))
        again: list[Case] = []
        for time in result["cases"]:
            block = _measurements(time, candidate, place)
            case = next(c for c in left if c["id"] == time["case"])
            if time["disturbed"] and attempt < settings.repeats:
                again.append(case)
                block = [evolve(m, superseded=True) for m in block]
            found += block
            if time["target_share"] is not None:
                shares[time["case"]] = time["target_share"]
        if not again:
            break
        left = again
    return Block(tuple(found), shares)


def _measurements(time: CaseTime, candidate: Candidate, place: Place) -> list[Measurement]:
    quantities: tuple[Quantity, ...] = ("device", "call")
    return [
        Measurement(
            candidate.id,
            time["case"],
            place.stage,
            process=place.process,
            pair=place.after + i,
            input_set=pair["input_set"],
            quantity=quantity,
            original_us=pair["original_us"],
            variant_us=pair["variant_us"],
            method=time["method"],
            disturbed=time["disturbed"],
        )
        for quantity in quantities
        for i, pair in enumerate(time[quantity])
    ]
