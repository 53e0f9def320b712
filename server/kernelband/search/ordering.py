"""Which of the compiled candidates of an arm goes to the device first, from the forecast and from what came of its like before."""

from __future__ import annotations

from attrs import define, field

#: Outcomes that speak against a move once it is compiled.
FAILED = frozenset({"wrong", "nondeterministic", "rejected", "crashed", "timeout", "oom"})
#: And those that say nothing of it: what doesn't compile or is known already never gets here.
FREE = frozenset({"compile_error", "duplicate", "nothing_left"})


@define
class Ordering:
    """What came of earlier proposals, by move and by proposal: was it any good?"""

    _outcomes: dict[str, list[bool]] = field(factory=dict[str, list[bool]])

    def learn(self, strategy: str, move: str, key: str, outcome: str) -> None:
        """What came of a proposal: a move that often fails comes later, the same proposal for another parent last."""
        if outcome in FREE:
            return
        for name in (f"{strategy}.{move}", key):
            self._outcomes.setdefault(name, []).append(outcome not in FAILED)

    def rank(self, strategy: str, move: str, key: str, forecast: float | None) -> tuple[bool, float]:
        """The smallest goes first."""
        failed = False in self._outcomes.get(key, ())
        past = self._outcomes.get(f"{strategy}.{move}", ())
        prior = (1 + sum(past)) / (1 + len(past))
        return failed, -prior * (forecast if forecast is not None else 1.0)
