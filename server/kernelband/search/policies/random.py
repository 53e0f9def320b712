"""``random``: a strategy and a parent drawn uniformly. What any rule has to beat."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from kernelband.search._base import ARMS, Arm, Choice, Member, Pull


@frozen
class Random:
    """Uniform over the (parent, strategy) pairs that have something left; the author's next, and a failure to compile is free."""

    name: str = "random"
    proposals: int = 1
    failures_cost: bool = False

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:  # noqa: ARG002 - memoryless
        """A strategy uniformly among those with something left, then a parent uniformly."""
        live = [a.name for a in ARMS if any(a.name not in m.exhausted for m in frontier)]
        if not live:
            return None
        rng = np.random.default_rng([seed, step])
        strategy = live[int(rng.integers(len(live)))]
        parents = [m for m in frontier if strategy not in m.exhausted]
        parent = parents[int(rng.integers(len(parents)))]
        propensity = 1 / (len(live) * len(parents))
        return Choice(parent.variant, strategy, propensity=propensity, reason=f"{strategy}: drawn at random")

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - memoryless
        """Pulls and mean rewards of the strategies; all weigh the same."""
        rows: list[Arm] = []
        for arm in ARMS:
            rewards = [p.reward for p in log if p.strategy == arm.name and p.executed]
            live = any(arm.name not in m.exhausted for m in frontier)
            mean = sum(rewards) / len(rewards) if rewards else 0.0
            why = "drawn at random" if live else "exhausted: nothing left to propose"
            rows.append(Arm(0, arm.name, pulls=len(rewards), mean_reward=mean, weight=float(live), why=why))
        return tuple(rows)
