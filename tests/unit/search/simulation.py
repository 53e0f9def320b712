"""A bandit with known arms, for policies: each strategy multiplies the speed by a fixed mean, with noise, and saturates."""

from __future__ import annotations

from math import log2

import numpy as np

from kernelband.search._base import ARMS, Member, Policy, Pull


def features(seconds: float, rng: np.random.Generator) -> tuple[float, ...]:
    return (float(np.log1p(seconds)), float(rng.integers(16, 128)), float(rng.integers(0, 64)), float(rng.integers(5, 9)), 50.0)


def simulate(policy: Policy, gains: dict[str, float], seed: int, trials: int = 20) -> tuple[float, tuple[Pull, ...], tuple[Member, ...]]:
    """Run ``trials`` pulls; ``gains`` is the chance of each strategy to make its parent 15 % faster. Answers speedup, log and frontier."""
    rng = np.random.default_rng([7, seed])
    frontier = [Member(0, 1.0, features(1.0, rng), {"sm": 0.5, "dram": 0.5, "l2": 0.5})]
    log: list[Pull] = []
    for step in range(trials):
        choice = policy.ask(step, tuple(frontier), tuple(log), seed)
        assert choice is not None
        parent = next(m for m in frontier if m.variant == choice.parent)
        better = rng.random() < gains[choice.strategy]
        child = parent.seconds * (0.85 if better else 1.1)
        best = min(m.seconds for m in frontier)
        variant = step + 1
        log.append(
            Pull(
                step,
                choice.parent,
                choice.strategy,
                variant,
                executed=True,
                reward_paper=max(0.0, (parent.seconds - child) / parent.seconds),
                reward=min(1.0, max(0.0, log2(best / child))),
                outcome="faster" if child < 1 else "slower",
            )
        )
        frontier.append(Member(variant, child, features(child, rng), {"sm": 0.5, "dram": 0.5, "l2": 0.5}))
    return 1 / min(m.seconds for m in frontier), tuple(log), tuple(frontier)


NAMES = tuple(a.name for a in ARMS)
