"""``paper``: the published policy, version 2, over our moves (arXiv 2511.18868 v2; facts and numbers only).

UCB1 with c = 2 over (cluster, strategy), a hard hardware mask, rewards relative to the parent, statistics that survive a
reclustering although labels are arbitrary. Its known weak points are kept: it is the yardstick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt

import numpy as np
from attrs import frozen

from kernelband.search._base import ARMS, Arm, ArmSpec, Choice, Member, Pull
from kernelband.search.clusters import Clusters, replay, representative

THETA = 0.75  # of peak: a resource above it is saturated
C = 2.0
MU = 0.5


@frozen
class Paper:
    """One proposal for each choice, and every proposal costs a trial, failures too."""

    name: str = "paper"
    proposals: int = 1
    failures_cost: bool = True

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:
        """The arm of the highest score; ties go to the lowest cluster, then the lowest strategy."""
        clusters = replay(frontier, log, duplicates=True)
        rows = [x for x in _rows(clusters, frontier, log) if x.weight > 0]
        if not rows:
            return None
        pulls = max(sum(counts(p) for p in log), 1)
        best = max(rows, key=lambda x: score(x, pulls))  # max keeps the first of equals
        spec = next(a for a in ARMS if a.name == best.strategy)
        members = [m for m in clusters.members(best.cluster, frontier) if spec.name not in m.exhausted]
        parent, propensity = pick_parent(members, spec, np.random.default_rng([seed, step]))
        value = score(best, pulls)
        reason = f"{best.strategy}: mean reward {best.mean_reward:.2f} over {best.pulls} pulls, score {value:.2f}; {best.why}"
        return Choice(parent.variant, best.strategy, best.cluster, value, propensity=propensity, reason=reason)

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - deterministic
        """Every arm of every cluster in use."""
        return tuple(_rows(replay(frontier, log, duplicates=True), frontier, log))


def counts(pull: Pull) -> bool:
    """Whether the pull was an attempt: everything but an arm that had nothing to offer."""
    return pull.outcome != "nothing_left"


def score(arm: Arm, pulls: int) -> float:
    """UCB1: mu + c·sqrt(ln t / N), with N counting the initial pseudo-pull (N = 1 at first)."""
    return arm.mean_reward + C * sqrt(log(pulls) / (arm.pulls + 1))


def pick_parent(members: Sequence[Member], spec: ArmSpec, rng: np.random.Generator) -> tuple[Member, float]:
    """A parent by softmax of (theta - use) in percent points, temperature 1; the fastest member when none is profiled."""
    profiled = [m for m in members if spec.target in m.headroom]
    if not profiled:
        return min(members, key=lambda m: m.seconds), 1.0
    room = [100 * (THETA - (1 - m.headroom[spec.target])) for m in profiled]
    weights = np.array([exp(x - max(room)) for x in room])
    weights /= weights.sum()
    at = int(rng.choice(len(profiled), p=weights))
    return profiled[at], float(weights[at])


def _rows(clusters: Clusters, frontier: Sequence[Member], pulls: Sequence[Pull]) -> list[Arm]:
    means: dict[tuple[int, str], tuple[int, float]] = {}
    for label, pull in zip(clusters.history, pulls, strict=True):
        if counts(pull):
            n, mu = means.get((label, pull.strategy), (1, MU))
            means[label, pull.strategy] = n + 1, mu + (pull.reward_paper - mu) / (n + 1)
    rows: list[Arm] = []
    for cluster in range(clusters.count):
        members = clusters.members(cluster, frontier)
        if members:
            rows += _cluster_rows(cluster, members, means)
    return rows


def _cluster_rows(cluster: int, members: Sequence[Member], means: dict[tuple[int, str], tuple[int, float]]) -> list[Arm]:
    weights = mask(members, representative(members).headroom)
    rows: list[Arm] = []
    for arm in ARMS:
        n, mu = means.get((cluster, arm.name), (1, MU))
        weight, why = weights[arm.name]
        rows.append(Arm(cluster, arm.name, pulls=n - 1, mean_reward=mu, weight=weight, why=why))
    return rows


def mask(members: Sequence[Member], headroom: Mapping[str, float]) -> dict[str, tuple[float, str]]:
    """1 where the target's use is below theta, else 0, and why. At least one strategy that isn't exhausted stays open."""
    live = [a for a in ARMS if not all(a.name in m.exhausted for m in members)]
    allowed = {a.name for a in live if a.target not in headroom or 1 - headroom[a.target] < THETA}
    if live and not allowed:
        allowed = {max(live, key=lambda a: headroom[a.target]).name}
    out: dict[str, tuple[float, str]] = {}
    for arm in ARMS:
        if arm not in live:
            why = "exhausted: nothing left to propose"
        elif arm.target not in headroom:
            why = "not profiled, so not masked"
        else:
            why = f"{arm.target} at {100 * (1 - headroom[arm.target]):.0f} % of peak" + ("" if arm.name in allowed else ": masked")
        out[arm.name] = float(arm.name in allowed), why
    return out
