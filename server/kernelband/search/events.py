"""What a run says while it goes on, to any front end: the terminal, ``--json`` lines, later the editor.

An event is a frozen class; its name in JSON is the class name in snake case under ``event``. In predicted mode no event holds a time or
a ratio of a variant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import attrs
from attrs import field, frozen

#: What a run does, in the order of a first pass. ``phase`` events and the run's row say which.
PHASES = ("start", "capture", "baseline", "propose", "compile", "check", "measure", "commit", "final", "done")


@frozen
class Event:
    """Base of all events."""

    @property
    def name(self) -> str:
        """``TrialEnded`` -> ``trial_ended``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def to_json(self) -> dict[str, Any]:
        """The event as a JSON object."""
        return {"event": self.name, **attrs.asdict(self)}


Listener = Callable[[Event], None]


@frozen
class RunStarted(Event):
    """The run has an id and a row; ``--resume`` takes it from here on."""

    run: str
    path: str
    kernel: str
    entry: str
    mode: str  # "measured" | "predicted"
    device: str
    policy: str
    objective: str
    trials: int | None
    seconds: float | None
    seed: int
    resumed: bool


@frozen
class PhaseChanged(Event):
    """What the run does now; ``trial`` counts from 1 where there is one."""

    phase: str
    trial: int | None = None


@frozen
class Noted(Event):
    """A sentence that the user should see once."""

    text: str


@frozen
class WorkerSaid(Event):
    """What the user's program or an executor printed."""

    executor: str
    text: str


@frozen
class CasesCaptured(Event):
    """What the entry did: one line for each case, in order."""

    cases: tuple[dict[str, Any], ...]  # id, role, function, arguments, calls, replayable, reason
    seconds: float


@frozen
class BaselineKnown(Event):
    """The original: facts for people, times where they were measured."""

    lines: tuple[str, ...]
    device_us: dict[str, float] = field(factory=dict[str, float])  # by case; measured mode only
    noise: dict[str, float] = field(factory=dict[str, float])  # half-width of the A/A ratio by case; measured mode only


@frozen
class ArmChosen(Event):
    """The policy's choice for a step."""

    step: int
    parent: int
    strategy: str
    reason: str


@frozen
class CandidatesCompiled(Event):
    """What became of a choice before anything was executed."""

    step: int
    strategy: str
    proposed: int
    compiled: int
    failed: int
    duplicates: int


@frozen
class TrialEnded(Event):
    """One variant was executed (or, predicted, checked by the interpreter). ``score`` is a screening figure: never a result."""

    number: int
    variant: int
    parent: int
    strategy: str
    what: str
    outcome: str  # search._base.Pull
    reason: str
    seconds: float
    best: int  # variant that leads so far
    tier: str | None = None  # predicted mode
    fact: str | None = None  # predicted mode: what the tier rests on
    score: float | None = None  # measured mode
    parent_gains: tuple[str, ...] | None = None  # facts that moved against a parent that isn't the original; None: not known
    parent_costs: tuple[str, ...] | None = None


@frozen
class FinalEnded(Event):
    """What the fresh processes said of a variant. ``early``: beside the search, whose last final, if there is one, judges it again."""

    variant: int
    verified: bool
    reason: str
    score: float | None
    low: float | None
    high: float | None
    early: bool = False


@frozen
class RunEnded(Event):
    """The end, and where the time went."""

    run: str
    state: str  # "finished" | "interrupted" | "failed"
    reason: str
    best: int | None  # the variant to look at first, not verified where a measured run was cut off; None: none
    verified: tuple[int, ...]
    counts: dict[str, int]  # proposed, compiled, executed, verified ...
    clock: dict[str, float]  # seconds by phase
    seconds: float
    seconds_per_trial: float | None  # median, everything included
    seconds_to_verified: float | None = None  # from the run's start to its first verified variant; None: there is none
    seconds_to_checked: float | None = None  # predicted: to the first variant that passed the interpreter's check
