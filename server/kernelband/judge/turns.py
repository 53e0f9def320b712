"""One round of the final: original, finalists and a second copy of the original take turns on the GPU, each in a process of its own.

Every sweep each of them is timed once on every case, the next sweep in the reverse order, so that a drift of the GPU that is linear over
two sweeps is in none of the ratios. What a finalist got in timed calls is compared with the original's results by the original's process,
which never loads a variant; which calls these are is drawn after they were timed. A process's clock must agree with its supervisor's.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import cast

from attrs import define, evolve, field, frozen

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.judge.hidden import TURN_S, Hidden
from kernelband.judge.protocol import Candidate, Case, Measurement, Settings, Stage, check_deadline, turn_deadline
from kernelband.judge.rooms import Room
from kernelband_worker.wire import (
    CaseCheck,
    CaseProbe,
    HiddenCase,
    RefereeParams,
    RevealParams,
    RevealResult,
    SurveyParams,
    SurveyResult,
    TurnCase,
    TurnParams,
    TurnResult,
)

TURN_US = 2_500.0  # of timed calls of a case, about
MOST_SAMPLES = 8
FEWEST_SAMPLES = 2
SIZE_SAMPLES = 5
SAMPLE_US = 250.0  # that a timed call costs beside the call: inputs written, cache flushed, results kept
MOST_IN_BATCH = 16
#: By so much, and by so many seconds, an executor's clock may differ from its supervisor's, which also sees messages come late.
OFF = 0.05
LATE_S = 0.25
LATER_S = 0.002  # and more than any message of the original came late: each time so, it isn't the messages
FEW_TURNS = 5  # of fewer it may be chance


@frozen
class Seat:
    """A version in a process of its own. ``rival``: who must be told when it is wrong; the original's own seats have none."""

    room: Room
    candidate: Candidate
    name: str


@frozen
class Doubt:
    """Why a seat's figures can't be believed."""

    seat: str
    reason: str
    wrong: bool  # its results are, else its clock or what it does beside its calls


@frozen
class Turn:
    """What one seat showed in one sweep, by case: medians of device and call time in microseconds."""

    device: dict[str, float]
    call: dict[str, float]
    disturbed: str | None


@define
class Clocks:
    """How far each seat's clock fell behind its supervisor's, in all turns of a final.

    Messages come late on a machine that is busy, those of an honest process as well, now and then by more than a short turn takes. What is
    late in every one of a finalist's dozens of turns, and more than the original's process ever was, isn't the messages but the clock.
    """

    _original: list[float] = field(factory=list[float])  # seconds, of both copies
    _longest: float = 0.0  # turn of theirs: hidden cases make a finalist's longer, but no message later
    _finalists: dict[str, list[tuple[float, float]]] = field(factory=dict[str, list[tuple[float, float]]])  # and what the turn took

    def saw(self, seat: Seat, claimed: float, supervised: float) -> None:
        """A turn, in seconds by the one clock and by the other."""
        if seat.candidate.files is None:
            self._original.append(supervised - claimed)
            self._longest = max(self._longest, supervised)
        else:
            self._finalists.setdefault(seat.name, []).append((supervised - claimed, supervised))

    def doubts(self) -> list[Doubt]:
        """Once all turns are over: whose clock is slow. A clock that is right in one turn, or by no more than the messages, isn't seen."""
        usual = max(self._original, default=math.inf)
        found: list[Doubt] = []
        for name, turns in self._finalists.items():
            if len(turns) >= FEW_TURNS and all(late > usual + LATER_S + OFF * min(took, self._longest) for late, took in turns):
                behind = sum(late for late, _ in turns) / sum(supervised for _, supervised in turns)
                said = f"its clock fell behind that of its supervisor in each of {len(turns)} turns, by {behind:.0%}"
                found.append(Doubt(name, f"Its times can't be trusted: {said}.", wrong=False))
        return found


@frozen
class Revealed:
    """What a seat got in a call, and which parts of it were given. ``among``: what the call was, where it isn't one that is timed."""

    seat: Seat
    case: str
    among: str
    blocks: str
    result: RevealResult


Plan = Mapping[str, TurnCase]
#: Takes a seat's turn, or lets it be; whether the seat is still in the round.
Attempt = Callable[[Seat, Callable[[], Doubt | None]], bool]


def plan_of(surveys: Sequence[SurveyResult]) -> dict[str, TurnCase]:
    """How each case is timed, the same for all seats.

    By the host's clock where any of them waits for the device itself, else between events. A call so long that its submission doesn't show
    gives both times at once.
    """
    plan: dict[str, TurnCase] = {}
    for case in [c["case"] for c in surveys[0]["cases"]]:
        seen = [c for s in surveys for c in s["cases"] if c["case"] == case]
        wall, long = any(c["synchronises"] for c in seen), any(c["long"] for c in seen)
        sleep_us = 0.0 if wall or long else 1.5 * max(c["host_us"] for c in seen)
        cost_us = max(map(_cost_us, seen)) + sleep_us
        samples = FEWEST_SAMPLES if long else max(FEWEST_SAMPLES, min(MOST_SAMPLES, int(TURN_US / cost_us)))
        batch = 0 if long else min(MOST_IN_BATCH, *(c["buffers"] for c in seen))
        plan[case] = {"case": case, "method": "wall" if wall else "events", "samples": samples, "batch": batch, "sleep_us": sleep_us}
    return plan


def plan_of_sizes(cases: Sequence[Case], plan: Plan) -> dict[str, TurnCase]:
    """Other sizes of the same calls, looked at once: by the same method, and what hides their submission hides these."""
    method = "wall" if any(how["method"] == "wall" for how in plan.values()) else "events"
    sleep_us = 0.0 if method == "wall" else max(how["sleep_us"] for how in plan.values())
    return {c["id"]: {"case": c["id"], "method": method, "samples": SIZE_SAMPLES, "batch": 0, "sleep_us": sleep_us} for c in cases}


def _cost_us(probe: CaseProbe) -> float:
    return probe["restore_us"] + probe["flush_us"] + max(probe["device_us"], probe["host_us"]) + SAMPLE_US


@define
class Round:
    """The seats of one process number, and what they have shown.

    Args:
        seats: the original first; then finalists; then, where there is one, the second copy of the original.
        cases: the timing cases, or others.
        lock: UUID of the GPU whose lock is held during each turn.
    """

    seats: list[Seat]
    cases: Sequence[Case]
    settings: Settings
    lock: str | None
    process: int
    stage: Stage = "final"
    clocks: Clocks = field(factory=Clocks)
    hidden: Hidden | None = None
    threads: int = 0  # that the original has after a call of every kind
    dice: random.Random = field(factory=secrets.SystemRandom)
    turns: list[dict[str, Turn]] = field(factory=list[dict[str, Turn]])  # a sweep: by seat
    revealed: list[Revealed] = field(factory=list[Revealed])
    original: Seat = field(init=False)
    _threads: int = field(default=0, init=False)  # the most that the original had
    _left: dict[str, list[str]] = field(factory=dict[str, list[str]])  # cases of a seat whose results weren't looked at yet

    def __attrs_post_init__(self) -> None:
        self.original = self.seats[0]

    def survey(self, seat: Seat) -> SurveyResult:
        """A first look at a seat, alone on the GPU.

        Raises:
            KernelBandError: as ``Executor.call``.
        """
        params: SurveyParams = {
            "variant": seat.candidate.variant,
            "cases": [c["id"] for c in self.cases],
            "seed": secrets.token_hex(16),
        }
        deadline = turn_deadline(self.cases, self.settings)
        return cast("SurveyResult", seat.room.enter().call("survey", params, deadline, self.lock))

    def sweeps(self, plan: Plan, attempt: Attempt) -> None:
        """As many sweeps as the settings want; one that was disturbed is followed by another, twice at most.

        ``attempt`` takes a seat's turn and deals with its errors and doubts; who hasn't come through leaves the round.

        Raises:
            KernelBandError: what ``attempt`` doesn't deal with.
        """
        while self._clean < self.settings.sweeps and len(self.turns) < self.settings.sweeps + self.settings.repeats:
            seen: dict[str, Turn] = {}
            for seat in self.seats[:: 1 if len(self.turns) % 2 == 0 else -1]:
                if not attempt(seat, partial(self._turn, seat, plan, seen)):
                    self.seats.remove(seat)
            self.turns.append(seen)
            if self.original not in self.seats or len(self.seats) == 1:
                return

    @property
    def _clean(self) -> int:
        return sum(not any(t.disturbed for t in turns.values()) for turns in self.turns)

    def _turn(self, seat: Seat, plan: Plan, seen: dict[str, Turn]) -> Doubt | None:
        judged = seat is not self.original and seat.candidate.files is not None
        cases, dealt = list(plan.values()), list[HiddenCase]()
        if self.hidden is not None and judged and not seat.candidate.ours:
            dealt = self.hidden.deal(seat.name)
            cases = self.hidden.among(cases, dealt)
        params: TurnParams = {"variant": seat.candidate.variant, "cases": cases, "seed": secrets.token_hex(16)}
        executor, deadline = seat.room.enter(), turn_deadline(self.cases, self.settings) + TURN_S * len(dealt)
        result = cast("TurnResult", executor.call("turn", params, deadline, self.lock))
        doubt = self._honest(seat, result)
        if doubt is not None:
            return doubt
        seen[seat.name] = Turn(
            {c["case"]: median(c["device_us"]) for c in result["cases"] if c["case"] in plan},
            {c["case"]: median(c["call_us"]) for c in result["cases"] if c["case"] in plan},
            result["disturbed"],
        )
        for case, among in [(self._case(seat), ""), *((c["id"], c["name"]) for c in dealt)] if judged else []:
            asked: RevealParams = {"case": case, "blocks": secrets.token_hex(16)}
            given = cast("RevealResult", executor.call("reveal", asked, deadline, self.lock))
            if given["seed"] != params["seed"]:
                return Doubt(seat.name, "It gave results of other calls than the requested ones.", wrong=True)
            self.revealed.append(Revealed(seat, case, among, asked["blocks"], given))
        return None

    def _case(self, seat: Seat) -> str:
        """Whose results are looked at: any case, but none twice before each had its turn."""
        left = self._left.get(seat.name) or [c["id"] for c in self.cases]
        chosen = self.dice.choice(left)
        self._left[seat.name] = [c for c in left if c != chosen]
        return chosen

    def _honest(self, seat: Seat, result: TurnResult) -> Doubt | None:
        """Whether its clock is its supervisor's, and nothing works beside its calls that doesn't beside the original's."""
        claimed, supervised = result["seconds"], result.get("supervised_s", result["seconds"])
        self.clocks.saw(seat, claimed, supervised)
        if abs(supervised - claimed) > LATE_S + OFF * max(supervised, claimed):
            said = f"by its clock a turn took {claimed:.2f} s, by that of its supervisor {supervised:.2f} s"
            return Doubt(seat.name, f"Its times can't be trusted: {said}.", wrong=False)
        if seat.candidate.files is None:
            self._threads = max(self._threads, result["threads"])
        elif result["threads"] > (usual := max(self._threads, self.threads)) and self._threads:
            return Doubt(seat.name, f"It keeps {result['threads'] - usual} threads running between its calls.", wrong=False)
        return None

    # ------------------------------------------------------------ what came out

    def referee(self) -> list[Doubt]:
        """Compare what was revealed with what the original gives; the first that is wrong of each seat.

        Raises:
            KernelBandError: as ``Executor.call``.
        """
        found: dict[str, Doubt] = {}
        for one in self.revealed:
            seat = one.seat.name
            if seat in found:
                continue
            numerics = one.seat.candidate.numerics
            params: RefereeParams = {"case": one.case, "blocks": one.blocks, "numerics": numerics, "result": one.result}
            deadline = check_deadline([c for c in self.cases if one.among or c["id"] == one.case], 1, self.settings)
            deadline += self.settings.start_s if one.among else 0.0
            try:
                check = cast("CaseCheck", self.original.room.enter().call("referee", params, deadline, self.lock))
            except KernelBandError as error:
                if not one.among or not (isinstance(error, ExecutorFault) or error.kind == "out_of_memory"):
                    raise
                if isinstance(error, ExecutorFault):
                    self.original.room.leave()
                continue  # the original can't do it on these contents, which says nothing of the variant
            if not check["ok"]:
                call = f"a call among timed ones, with {one.among}" if one.among else "a call that was timed"
                found[seat] = Doubt(seat, f"Of {call}: {check['reason']}.", True)
        self.revealed.clear()
        return list(found.values())

    def measurements(self, seat: Seat, plan: Plan) -> list[Measurement]:
        """A pair a sweep and case: this seat against the original."""
        out: list[Measurement] = []
        enough = self._clean >= self.settings.sweeps
        for pair, turns in enumerate(self.turns):
            mine, original = turns.get(seat.name), turns.get(self.original.name)
            if mine is None or original is None:
                continue
            for case, how in plan.items():
                both = Measurement(
                    seat.candidate.id,
                    case,
                    self.stage,
                    process=self.process,
                    pair=pair,
                    input_set=0,
                    quantity="device",
                    original_us=original.device[case],
                    variant_us=mine.device[case],
                    method=how["method"],
                    disturbed=mine.disturbed or original.disturbed,
                    superseded=enough and any(t.disturbed for t in turns.values()),
                )
                out += [both, evolve(both, quantity="call", original_us=original.call[case], variant_us=mine.call[case])]
        return out
