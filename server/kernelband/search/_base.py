"""Ask and tell: what a policy sees and answers. Independent of worker, editor and database."""

from __future__ import annotations

from typing import Protocol

from attrs import field, frozen

from kernelband.strategies._base import Resource


@frozen
class Member:
    """A correct variant (or the original, id 0) on the frontier.

    ``features``: log1p(ms), registers/thread, shared KB, log2(threads/block), occupancy %.
    ``headroom``: 1 - use of each resource
    ("sm", "dram", "l2"), each in [0, 1]; empty when not profiled. ``seconds``: geometric mean over timing cases in the objective,
    or the forecast's where nothing was measured. ``forecast``: its own score against the original. ``forecasts``: the best score against
    the original among compiled proposals that wait for the device, by strategy; absent where nothing is compiled ahead.
    """

    variant: int
    seconds: float
    features: tuple[float, ...]
    headroom: dict[str, float] = field(factory=dict[str, float])
    exhausted: frozenset[str] = frozenset()  # strategies with nothing left to propose from this parent
    forecast: float = 1.0
    forecasts: dict[str, float] = field(factory=dict[str, float])
    mean_seconds: float = 0.0  # arithmetic mean over timing cases: the published reward's T


#: What can come of a pull, beside ``pending``: it is on the device while the next choice is prepared. After these a variant may be a
#: parent; the last three are predicted mode's.
CORRECT = frozenset({"faster", "slower", "inconclusive", "equal", "likely_faster", "unclear", "likely_slower"})
#: These speak against a move once it is compiled; an ``oom`` may be the compiler's.
FAILED = frozenset({"wrong", "nondeterministic", "rejected", "crashed", "timeout", "oom"})
#: These executed nothing.
FREE = frozenset({"compile_error", "duplicate", "nothing_left"})


@frozen
class Pull:
    """One finished proposal, in proposal order: the log that any rule can be replayed from."""

    step: int
    parent: int
    strategy: str
    variant: int | None = None
    executed: bool = False
    reward_paper: float = 0.0
    reward: float = 0.0
    outcome: str = ""  # in CORRECT, FAILED or FREE, or pending
    move: str = ""  # of the strategy; its free failures lower its prior
    incumbent: int = 0  # the best variant before this pull
    propensity: float = 1.0  # of the choice that led here


@frozen
class Choice:
    """What to try next, and why: kept with the run and shown.

    ``propensity`` is the probability with which the policy made this choice (1 when it is deterministic).
    """

    parent: int
    strategy: str
    cluster: int = 0
    score: float = 0.0
    propensity: float = 1.0
    reason: str = ""


@frozen
class Arm:
    """A row of the arms table."""

    cluster: int
    strategy: str
    pulls: int
    mean_reward: float
    weight: float  # 0 = masked
    why: str


@frozen
class ArmSpec:
    """A strategy as a policy sees it.

    ``cuts_demand``: it lowers the bytes or operations that are needed, so a saturated target is a reason for it, not against it.
    """

    name: str
    target: Resource
    cuts_demand: bool


#: The six arms of a cluster and what each does to the hardware (notes of the published algorithm, version 2), in the published order: ties
#: go to the lowest index.
ARMS = (
    ArmSpec("tiling", "l2", cuts_demand=True),
    ArmSpec("vectorization", "dram", cuts_demand=False),
    ArmSpec("fusion", "dram", cuts_demand=True),
    ArmSpec("pipeline", "sm", cuts_demand=False),
    ArmSpec("reordering", "sm", cuts_demand=False),
    ArmSpec("access_layout", "dram", cuts_demand=True),
)


class Policy(Protocol):
    """A rule for choosing arms. Stateless: all it knows is the frontier and the log, so a resumed run continues as if never stopped.

    ``proposals``: how many proposals of a choice are compiled before one is executed. ``failures_cost``: compile errors and
    duplicates cost a trial, as in the published harness.
    """

    @property
    def name(self) -> str: ...

    @property
    def proposals(self) -> int: ...

    @property
    def failures_cost(self) -> bool: ...

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:
        """The next choice; None when every arm is exhausted. Same arguments, same answer."""
        ...

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:
        """The arms table as ``ask`` sees it."""
        ...
