"""What a report of one run holds, for any front end that draws one. docs/report.md says it field by field; units are in the names.

Nothing of a predicted run is a time or a ratio of a variant: those fields are None there.
"""

from __future__ import annotations

from typing import Any, Literal

from attrs import field, frozen

from kernelband.explain.course import Step
from kernelband.explain.kept import Stage
from kernelband.explain.rooflinepoints import RooflineView
from kernelband.explain.why import Item
from kernelband.judge.protocol import Quantity
from kernelband.judge.result import Ratio

#: How far a variant came. ``checked``: interpreted, nothing measured; ``equal``: the machine code is the original's.
State = Literal[
    "verified", "not verified", "screened", "checked", "equal", "wrong", "nondeterministic", "untested", "rejected", "suspect", "failed"
]


@frozen
class ModelCost:
    """What a model that wrote variants was asked. ``dollars`` None: its price wasn't given."""

    name: str
    calls: int
    tokens_read: int
    tokens_written: int
    dollars: float | None


@frozen
class Cost:
    """What the run took. ``clock_s``: seconds by what they went on; those that begin with ``background`` beside the others.

    ``to_verified_s``, ``to_checked_s``: from the run's start to its first verified variant; predicted, to the first that passed its check.
    """

    seconds_s: float
    seconds_per_trial_s: float | None
    to_verified_s: float | None
    to_checked_s: float | None
    clock_s: dict[str, float]
    model: ModelCost | None


@frozen
class About:
    """The run. Dates are seconds since the epoch. ``gpu`` is the name that the driver gave, "" where nothing ran on one. ``against``: what
    an edit was judged against, "" for a search; ``best``: the variant to look at first, None where there is none.
    """

    id: str
    kernel: str
    path: str
    device: str
    gpu: str
    mode: Literal["measured", "predicted"]
    policy: str
    objective: Literal["device", "call"]
    seed: int
    author: str
    entry: str | None
    against: str
    trials_budget: int | None
    seconds_budget_s: float | None
    state: Literal["running", "finished", "interrupted", "failed"]
    phase: str
    reason: str
    best: int | None
    created_s: float
    ended_s: float | None
    versions: dict[str, str | None]  # kernelband, triton, torch, python, cuda, driver, ptxas
    cost: Cost


@frozen
class Counts:
    """How many of each. ``proposed`` and ``compiled`` None: the run hasn't said yet, or never could."""

    proposed: int | None
    compiled: int | None
    executed: int
    verified: int
    duplicates: int
    compile_errors: int
    failed: int  # executed: crashed, out of time or memory
    wrong: int  # executed: another result, or another one each time


@frozen
class ArmLine:
    """An arm as the policy last saw it. ``mean_reward`` None where nothing is measured."""

    cluster: int
    strategy: str
    pulls: int
    mean_reward: float | None
    weight: float
    state: Literal["open", "masked", "exhausted"]
    why: str


@frozen
class Arms:
    """``reason``: why there are none."""

    rows: tuple[ArmLine, ...]
    reason: str


@frozen
class Cluster:
    """Variants that behave alike. ``used_percent``: how much of its peak each resource is used by the representative, where measured."""

    cluster: int
    representative: int
    members: tuple[int, ...]
    size: int
    limited_by: str | None
    used_percent: dict[str, float] | None


@frozen
class Clusters:
    """``reason``: why there are none."""

    rows: tuple[Cluster, ...]
    reason: str


@frozen
class CaseLine:
    """A case of the original. Times are medians in microseconds, of timing cases where they were measured."""

    id: str
    name: str
    role: Literal["time", "check", "held_out", "left_out"]
    function: str
    arguments: str
    calls: int
    device_us: float | None
    call_us: float | None
    method: str
    stage: Stage | None


@frozen
class Compared:
    """One time of one case. The interval is that of one more fresh process, at least 95 %."""

    original_us: float
    variant_us: float
    ratio: Ratio
    method: str


@frozen
class CaseFigures:
    """``disturbed``: what went on while it was measured."""

    case: str
    name: str
    device: Compared
    call: Compared
    disturbed: str | None


@frozen
class WholeFigures:
    """One time over all cases; the first of a variant's is the score."""

    quantity: Quantity
    method: str
    geometric_mean: Ratio
    time_weighted: float
    worst_case: str
    worst: Ratio


@frozen
class FinalFigures:
    """What the final's fresh processes measured of a variant that is right. ``sentences``: what must be said of it."""

    processes: int
    pairs: int
    cases: tuple[CaseFigures, ...]
    wholes: tuple[WholeFigures, ...]
    sentences: tuple[str, ...]


@frozen
class Variant:
    """``ratio`` only where it is verified. ``explanation`` and ``patch`` None: there are too many variants to tell of each here."""

    number: int
    parent: int
    trial: int
    move: str  # strategy.move
    parameters: dict[str, Any]
    title: str
    why: str
    author: str
    numerics: str
    state: State
    outcome: str
    reason: str
    seconds_s: float  # that its trial took
    tier: str | None
    fact: str | None
    ratio: Ratio | None
    figures: FinalFigures | None
    decision: Literal["accept", "reject"] | None
    cluster: int | None
    explanation: tuple[Item, ...] | None
    patch: str | None


@frozen
class Dropped:
    """A proposal that was never executed."""

    parent: int
    move: str
    outcome: str
    reason: str


@frozen
class RunReport:
    """``variants`` the best first, as ``kernelband show`` has them; ``left_out``: how many more there are. ``dropped``: the last ones."""

    run: About
    counts: Counts
    course: tuple[Step, ...] = field(repr=False)
    arms: Arms
    clusters: Clusters
    cases: tuple[CaseLine, ...] = field(repr=False)
    roofline: RooflineView = field(repr=False)
    variants: tuple[Variant, ...] = field(repr=False)
    left_out: int
    dropped: tuple[Dropped, ...] = field(repr=False)
