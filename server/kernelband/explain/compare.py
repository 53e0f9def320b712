"""Why a variant is faster, or likely to be, from facts before and after. No claim without its fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen


@frozen
class Step:
    """The last edit of a variant that was made from another one: what moved between ``parent`` and it. None: that isn't known."""

    parent: int
    gains: tuple[str, ...] | None = None
    costs: tuple[str, ...] | None = None

    @classmethod
    def of(cls, parent: int | None, gains: Iterable[str] | None, costs: Iterable[str] | None) -> Step | None:
        """None where the parent is the original."""
        if not parent or gains is None or costs is None:
            return cls(parent) if parent else None
        return cls(parent, tuple(map(str, gains)), tuple(map(str, costs)))

    @property
    def moved(self) -> tuple[str, ...]:
        """All of it."""
        return (*(self.gains or ()), *(self.costs or ()))

    @property
    def headline(self) -> str:
        """One sentence."""
        if self.gains is None:
            return f"What changed against variant {self.parent} wasn't kept."
        if not self.moved:
            return f"Against variant {self.parent} no fact changed by 10 % or more."
        return f"Against variant {self.parent}:"


@frozen
class Explanation:
    """``headline`` is one sentence; ``gains`` and ``costs`` are the facts that moved against the original, the largest first.

    ``step``: of a variant that was made from another one. Its facts are those of all its edits together, so they are no reason for the
    last one.
    """

    headline: str
    gains: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    step: Step | None = None

    def lines(self) -> list[str]:
        """For a terminal: each sentence with its facts, against the original, and against the parent."""
        out = [self.headline, *_listed(self.gains, self.costs)]
        if self.step is None:
            return out
        gains, costs = self.step.gains or (), self.step.costs or ()
        if self.step.moved and (gains, costs) == (self.gains, self.costs):
            return [*out, f"Against variant {self.step.parent} the same facts changed."]
        return [*out, self.step.headline, *_listed(gains, costs)]


def _listed(gains: Sequence[str], costs: Sequence[str]) -> list[str]:
    return [*(f"  + {fact}" for fact in gains), *(f"  - {fact}" for fact in costs)]


def measured(gains: tuple[str, ...], costs: tuple[str, ...], step: Step | None = None, *, verified: bool = True) -> Explanation:
    """Of sentences of what became better and worse, the largest first. Facts are named, not blamed: what they contribute wasn't measured
    one by one.

    ``verified``: the final processes said that it is faster. Without that nothing is claimed; what moved is listed all the same.
    """
    together = f", together with the edits of variant {step.parent}" if step is not None else ""
    if not verified:
        headline = f"Not verified to be faster. What changed against the original{together}:"
        if not gains and not costs:
            headline = f"Not verified to be faster; no fact that is read here changed by 10 % or more against the original{together}."
    elif gains:
        headline = f"Measured faster{together}, with {gains[0]}."
    elif costs:
        headline = f"Measured faster{together}, although it has {costs[0]}: no fact that is read here explains it."
    else:
        headline = f"Measured faster{together}; no fact that is read here changed by 10 % or more, so its cause isn't known."
    return Explanation(headline, gains, costs, step)


def predicted(tier: str, fact: str, gains: tuple[str, ...], costs: tuple[str, ...], step: Step | None = None) -> Explanation:
    """Of a variant that was only compiled: the tier with the fact behind it."""
    together = f", together with the edits of variant {step.parent}" if step is not None and not _own(fact, step) else ""
    return Explanation(f"Predicted {tier}{together}: {fact}.", gains, costs, step)


def because(tier: str, fact: str, step: Step | None) -> str:
    """The fact behind a prediction in one line; where it may be the parent's doing, what the last edit did is said first."""
    if step is None or _own(fact, step):
        return fact
    together = f"together with the edits of variant {step.parent}, {fact}"
    if step.gains is None or step.costs is None:
        return together
    fits = step.costs if tier == "likely slower" else step.gains if tier == "likely faster" else step.moved
    if fits:
        return f"against variant {step.parent}, {fits[0]}; against the original, {fact}"
    return f"{together}; against it {f'only {step.moved[0]}' if step.moved else 'no fact changed by 10 % or more'}"


def _own(fact: str, step: Step) -> bool:
    """Whether the same numbers moved in the last edit alone."""
    return fact in step.moved
