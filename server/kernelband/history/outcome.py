"""What became of a variant: one ladder, decided from the four fields of a result (JUDGING, section 2), the word for each rung, and the
order in which variants stand in a list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

from kernelband.history.records import FinalRow


class Judged(Protocol):
    """The judge's result, or a row of one."""

    @property
    def correctness(self) -> str: ...
    @property
    def performance(self) -> str: ...
    @property
    def fault(self) -> str: ...
    @property
    def integrity(self) -> str: ...


class Outcome(str, Enum):
    """A rung of the ladder. ``value`` names it in JSON."""

    VERIFIED = "verified"  # right and faster in the final's fresh processes
    FASTER = "faster"  # so many were measured and are right; nothing speaks against them
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not_measured"
    LIKELY_FASTER = "likely_faster"  # right by the interpreter; what the forecast makes of it
    UNCLEAR = "unclear"
    LIKELY_SLOWER = "likely_slower"
    EQUAL = "equal"  # the machine code is the original's
    WRONG = "wrong"
    NONDETERMINISTIC = "nondeterministic"
    UNTESTED = "untested"
    REJECTED = "rejected"
    SUSPECT = "suspect"
    COMPILE_ERROR = "compile_error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    OOM = "oom"

    @property
    def logged(self) -> str:
        """As a run's log has it (``search._base.Pull``)."""
        return Outcome.REJECTED.value if self is Outcome.SUSPECT else self.value

    @property
    def word(self) -> str:
        """For a table."""
        return _WORDS.get(self, self.value)


_WORDS = {
    Outcome.LIKELY_FASTER: "likely faster",
    Outcome.LIKELY_SLOWER: "likely slower",
    Outcome.COMPILE_ERROR: "did not compile",
    Outcome.OOM: "out of memory",
}
#: What a fault does, in a sentence.
FAULTS = {
    Outcome.COMPILE_ERROR: "doesn't compile",
    Outcome.TIMEOUT: "takes too long",
    Outcome.CRASHED: "crashes",
    Outcome.OOM: "runs out of memory",
}
MEASURED = (Outcome.FASTER, Outcome.SLOWER, Outcome.INCONCLUSIVE, Outcome.NOT_MEASURED)
PREDICTED = (Outcome.LIKELY_FASTER, Outcome.UNCLEAR, Outcome.LIKELY_SLOWER)  # the best first
TIERS = tuple(outcome.word for outcome in PREDICTED)
UNWANTED = (*FAULTS, Outcome.WRONG, Outcome.NONDETERMINISTIC)  # nobody would take such a variant


def outcome(judged: Judged, tier: str | None = None) -> Outcome:
    """Of one judgement. ``tier``: what the forecast made of the variant; it counts where the interpreter found it right."""
    if judged.fault != "none":
        return Outcome(judged.fault)
    if judged.performance == "equal":
        return Outcome.EQUAL
    if judged.correctness in ("wrong", "nondeterministic"):
        return Outcome(judged.correctness)
    if judged.integrity != "ok":
        return Outcome(judged.integrity)
    if judged.correctness == "interpreted":
        return PREDICTED[TIERS.index(tier)] if tier in TIERS else Outcome.UNCLEAR
    return Outcome.UNTESTED if judged.correctness == "untested" else Outcome(judged.performance)


class _Fields(NamedTuple):
    correctness: str = "untested"
    performance: str = "not_measured"
    fault: str = "none"
    integrity: str = "ok"


def outcome_in(result: Mapping[str, Any]) -> Outcome:
    """Of one judgement as its row keeps it whole."""
    return outcome(_Fields(**{name: str(result[name]) for name in _Fields._fields if name in result}))


def of_final(final: FinalRow) -> Outcome:
    """What the fresh processes said."""
    return Outcome.VERIFIED if final.verified else outcome_in(final.result)


# ---------------------------------------------------------------- the order in a list


class Tried(Protocol):
    """What ranks a trial: a row of it, or a part of one."""

    @property
    def number(self) -> int: ...
    @property
    def variant(self) -> int: ...
    @property
    def score(self) -> float | None: ...


T = TypeVar("T", bound=Tried)


def verified(finals: Iterable[FinalRow]) -> dict[int, float | None]:
    """The final ratio by variant, of those that were verified."""
    return {f.variant: f.score for f in finals if f.verified}


def by_figure(tried: Iterable[T], verified: Mapping[int, float | None], best: int | None) -> list[T]:
    """Trials of a measured run: the one that the run called ``best``, other ``verified`` ones by their final ratio, then as screening liked
    them.
    """

    def ratio(t: T) -> float:
        return verified.get(t.variant, t.score) or 0.0

    return sorted(tried, key=lambda t: (t.variant not in verified, t.variant != best, -ratio(t), t.number))


def by_tier(tried: Iterable[T], tiers: Mapping[int, str | None], best: int | None) -> list[T]:
    """Trials of a predicted run: the one that the run would bet on, then the likeliest first, those without a tier last."""
    rank = defaultdict[str | None, int](lambda: len(TIERS), {name: i for i, name in enumerate(TIERS)})
    return sorted(tried, key=lambda t: (t.variant != best, rank[tiers[t.variant]], t.number))
