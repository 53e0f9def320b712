"""Why a variant is faster, or likely to be, from facts before and after. No claim without its fact."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kernelband.hardware import Device
from kernelband.hardware.changes import Change, changes
from kernelband.hardware.forecast import forecast
from kernelband.hardware.work import Work


@frozen
class Explanation:
    """``headline`` is one sentence; ``gains`` and ``costs`` are the facts that moved, the largest first."""

    headline: str
    gains: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()

    def markdown(self) -> str:
        """As a hover or a report shows it."""
        lines = [self.headline, *(f"- {fact}" for fact in self.gains), *(f"- against it: {fact}" for fact in self.costs)]
        return "\n".join(lines)


def explain_measured(device: Device, before: Sequence[Work], after: Sequence[Work]) -> Explanation:
    """Of a variant that was measured to be faster. Facts are named, not blamed: what they contribute wasn't measured one by one."""
    return measured(*_sides(changes(device, before, after)))


def explain_predicted(device: Device, before: Sequence[Work], after: Sequence[Work]) -> Explanation:
    """Of a variant that was only compiled: the tier with the fact behind it."""
    tier = forecast(device, before, after)
    return predicted(tier.tier, tier.fact, *_sides(changes(device, before, after)))


def measured(gains: tuple[str, ...], costs: tuple[str, ...]) -> Explanation:
    """The same from facts that were kept: sentences of what became better and worse, the largest first."""
    if gains:
        headline = f"Measured faster, with {gains[0]}."
    elif costs:
        headline = f"Measured faster, although it has {costs[0]}: no fact that is read here explains it."
    else:
        headline = "Measured faster; no fact that is read here moved by 10 % or more, so its cause isn't known."
    return Explanation(headline, gains, costs)


def predicted(tier: str, fact: str, gains: tuple[str, ...], costs: tuple[str, ...]) -> Explanation:
    """The same from facts that were kept."""
    return Explanation(f"Predicted {tier}: {fact}.", gains, costs)


def _sides(moved: Sequence[Change]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.sentence for c in moved if c.better), tuple(c.sentence for c in moved if not c.better)
