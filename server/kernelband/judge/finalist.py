"""A candidate on its way through a final: where it works, what was found of it, and the verdict that this makes."""

from __future__ import annotations

from attrs import define, field

from kernelband.judge.protocol import Candidate, Measurement, Verdict
from kernelband.judge.result import Result
from kernelband.judge.rooms import Room
from kernelband.judge.turns import Doubt
from kernelband_worker.wire import CheckResult


@define
class Finalist:
    """A candidate on its way. ``result`` is set as soon as nothing more is to be measured of it."""

    name: str  # of its seats
    candidate: Candidate
    rooms: list[Room]  # one a round; those of moves of ours are the same
    checks: Room  # there the original runs beside it, and nothing is timed
    proof: Room  # for the user's own entry: there the variant bears the original's names
    found: list[Measurement] = field(factory=list[Measurement])
    unseen: list[Measurement] = field(factory=list[Measurement])  # at sizes of no timing case
    checked: list[CheckResult] = field(factory=list[CheckResult])
    said: str = ""
    result: Result | None = None
    refused: Result | None = None  # what it is if the user's own entry is right, which the original must pass for that
    seconds: float = 0.0


def doubted(doubt: Doubt) -> Result:
    """Wrong where its results are; else it is turned away, whatever it computes."""
    if doubt.wrong:
        return Result(correctness="wrong", reason=doubt.reason, stage="final")
    return Result(correctness="passed", integrity="rejected", reason=doubt.reason, stage="final")


def verdict_of(finalist: Finalist) -> Verdict:
    """What is known of it by now."""
    checked = finalist.checked[-1] if finalist.checked else None
    result = finalist.result or Result()
    return Verdict(finalist.candidate.id, result, tuple(finalist.found), checked, seconds=finalist.seconds, unseen=tuple(finalist.unseen))
