"""The rows of the database as values. A field with ``metadata=JSON`` is kept as JSON text."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import attrs
from attrs import field, frozen

T = TypeVar("T")

#: Marks a field that is kept as JSON text.
JSON = {"json": True}

STATES = ("running", "finished", "interrupted", "failed")

GIVEN = "given"  # in place of a policy's name: nothing was chosen, one edit was judged
SAVED = "the saved file"  # what an unsaved text is judged against
BEFORE = "the text before the edit"  # what a front end says the original is


@frozen
class RunRow:
    """One search. Times are seconds since the epoch; budgets None when unlimited."""

    id: str
    created: float
    kernel_key: str
    path: str
    kernel: str
    device: str
    mode: str  # "measured" | "predicted"
    policy: str
    objective: str
    seed: int
    trials_budget: int | None
    seconds_budget: float | None
    seconds_used: float
    state: str
    phase: str
    reason: str
    owner: str
    host: str
    pid: int
    process: str
    heartbeat: float
    version: str
    options: dict[str, Any] = field(metadata=JSON)
    environment: dict[str, Any] = field(metadata=JSON)
    clock: dict[str, float] = field(metadata=JSON)
    summary: dict[str, Any] = field(metadata=JSON)

    @property
    def gpus(self) -> tuple[str, ...]:
        """The names that the driver gave, each once; none where nothing ran on a GPU."""
        return tuple(dict.fromkeys(str(g.get("name", "")) for g in self.environment.get("gpus") or ())) if self.mode == "measured" else ()


#: The role of a case that the run does without, because the original takes too long to compile for it.
LEFT_OUT = "left_out"


@frozen
class CaseRow:
    """One case: the facts are wire.Case. ``role``: theirs, or LEFT_OUT."""

    run: str
    id: str
    position: int
    role: str
    facts: dict[str, Any] = field(metadata=JSON)


@frozen
class VariantRow:
    """One variant that was executed, or predicted; 0 is the original. ``patch`` is relative to the run's texts."""

    run: str
    id: int
    parent: int | None
    strategy: str
    move: str
    parameters: dict[str, Any] = field(metadata=JSON)
    key: str = field(kw_only=True)
    numerics: str = field(kw_only=True)
    what: str = field(kw_only=True)
    why: str = field(kw_only=True)
    author: str = field(kw_only=True)
    patch: list[dict[str, Any]] = field(kw_only=True, metadata=JSON)
    identity: str = field(kw_only=True)
    forecast: dict[str, Any] = field(kw_only=True, metadata=JSON)
    seconds: float | None = field(kw_only=True, default=None)  # frontier members only; geometric mean over timing cases
    mean_seconds: float | None = field(kw_only=True, default=None)  # arithmetic mean: the published reward's T
    features: list[float] | None = field(kw_only=True, default=None, metadata=JSON)
    headroom: dict[str, float] | None = field(kw_only=True, default=None, metadata=JSON)
    form: str | None = field(kw_only=True, default=None)  # of its program, as ``source.form`` has it; None: it wasn't written down


@frozen
class TrialRow:
    """One variant executed over the run's cases. ``result`` is the whole judge.Result."""

    run: str
    number: int
    variant: int
    correctness: str
    performance: str
    fault: str
    integrity: str
    reason: str
    score: float | None
    low: float | None
    high: float | None
    result: dict[str, Any] = field(metadata=JSON)
    started: float = field(kw_only=True)
    seconds: float = field(kw_only=True)
    clock: dict[str, float] = field(kw_only=True, metadata=JSON)


@frozen
class FinalRow:
    """What the fresh processes said of one variant."""

    run: str
    variant: int
    verified: bool
    score: float | None
    low: float | None
    high: float | None
    result: dict[str, Any] = field(metadata=JSON)
    seconds: float = field(kw_only=True)


@frozen
class MeasurementRow:
    """One pair of times. Variant 0: the original against itself."""

    run: str
    variant: int
    stage: str  # "baseline" | "screening" | "final" | "unseen": in the final, at sizes of no timing case
    process: int
    case_id: str
    method: str
    kind: str  # "device" | "call"
    pair: int
    input_set: int
    original_us: float
    variant_us: float
    disturbed: str | None
    superseded: bool  # measured again: kept, never counted


@frozen
class FactsRow:
    """Compile facts (wire.CompileFacts) of one launch of a variant."""

    run: str
    variant: int
    key: str
    facts: dict[str, Any] = field(metadata=JSON)


@frozen
class PullRow:
    """One finished proposal, in order."""

    run: str
    position: int
    step: int
    parent: int
    strategy: str
    move: str
    key: str
    variant: int | None
    executed: bool
    reward_paper: float
    reward: float
    outcome: str
    incumbent: int
    propensity: float
    reason: str


@frozen
class ArmRow:
    """The arms table as the policy last saw it."""

    run: str
    cluster: int
    strategy: str
    pulls: int
    mean_reward: float
    weight: float
    why: str


@frozen
class DecisionRow:
    """What a person made of a variant."""

    run: str
    variant: int
    decision: str  # "accept" | "reject"
    at: float
    who: str


def to_row(record: attrs.AttrsInstance) -> dict[str, Any]:
    """A record as columns for SQLite."""
    out: dict[str, Any] = {}
    for spec in attrs.fields(type(record)):
        value = getattr(record, spec.name)
        if spec.metadata.get("json") and value is not None:
            value = json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False)
        out[spec.name] = int(value) if isinstance(value, bool) else value
    return out


def from_row(kind: type[T], row: dict[str, Any]) -> T:
    """A record from columns; columns that this version doesn't know are left out."""
    out: dict[str, Any] = {}
    for spec in attrs.fields(kind):
        value = row[spec.name]
        if spec.metadata.get("json") and value is not None:
            value = json.loads(value)
        if spec.type in ("bool", bool):
            value = bool(value)
        out[spec.name] = value
    return kind(**out)
