"""``kernelband``: our default. The published policy with the mends whose effect is certain.

What is mended, by the numbers of its weak points: (1) c = 0.2, not 2, which is close to round-robin at 20 trials; (2) statistics are
recomputed from the log after a reclustering; (3) headroom is scaled to [0, 1] and speed is mixed in, so slow parents aren't expanded;
(4) the reward is relative to the best so far; (5) a saturated resource lowers the weight of a strategy that only raises its rate and
leaves one that needs less of it alone; (7) distances are in z-scores; and an arm that is exhausted leaves the game. A strategy starts
a new cluster with what it showed in the others, not from nothing: at 20 trials and 18 arms most would never be known. Compile errors
and duplicates are free, and lower what is expected of the arm at first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log, log2, sqrt

import numpy as np
from attrs import frozen

from kernelband.search._base import Arm, Choice, Member, Pull
from kernelband.search.arms import ARMS, ArmSpec
from kernelband.search.clusters import Clusters, replay, representative

C = 0.2
MU = 0.15  # reward expected of a strategy before its first pull, worth one pull: a speedup of 1.11
SHARED = 0.75  # how much a pull of the strategy in another cluster counts
SATURATED = 0.25  # headroom below which more rate stops being possible
FLOOR = 0.3  # weight of a rate-raising strategy on a resource that is full
TEMPERATURE = 0.2


@frozen
class KernelBand:
    """Many proposals for each choice, all compiled, the forecast's best executed; failures to compile are free."""

    name: str = "kernelband"
    proposals: int = 16
    failures_cost: bool = False

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:
        """The arm of the highest weighted score, and a parent by softmax of headroom and speed."""
        clusters = replay(frontier, log, history=False)
        rows = [x for x in _rows(clusters, frontier, log) if x.weight > 0]
        if not rows:
            return None
        everywhere = Counter(p.strategy for p in log if p.executed)
        pulls = everywhere.total()
        best = max(rows, key=lambda x: score(x, pulls, everywhere[x.strategy]))
        spec = next(a for a in ARMS if a.name == best.strategy)
        members = [m for m in clusters.members(best.cluster, frontier) if spec.name not in m.exhausted]
        parent, propensity = pick_parent(members, spec, np.random.default_rng([seed, step]))
        value = score(best, pulls, everywhere[best.strategy])
        reason = f"{best.strategy}: expected gain {best.mean_reward:.2f} after {best.pulls} trials, score {value:.2f}; {best.why}"
        return Choice(parent.variant, best.strategy, best.cluster, value, propensity, reason)

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - deterministic
        """Every arm of every cluster in use."""
        return tuple(_rows(replay(frontier, log, history=False), frontier, log))


def score(arm: Arm, pulls: int, everywhere: int) -> float:
    """weight·(mu + c·sqrt(ln(t + 1) / (n + 1))); n counts executed variants, those of the strategy in other clusters for a part."""
    seen = arm.pulls + SHARED * (everywhere - arm.pulls)
    return arm.weight * (arm.mean_reward + C * sqrt(log(pulls + 1) / (seen + 1)))


def pick_parent(members: Sequence[Member], spec: ArmSpec, rng: np.random.Generator) -> tuple[Member, float]:
    """A parent by softmax of headroom/2 + log2(fastest/own time), temperature 0.2: half the speed costs as much as all headroom twice."""
    fastest = min(m.seconds for m in members)
    value = np.array([0.5 * m.headroom.get(spec.target, 0.5) + log2(fastest / m.seconds) for m in members])
    weights = np.exp((value - value.max()) / TEMPERATURE)
    weights /= weights.sum()
    at = int(rng.choice(len(members), p=weights))
    return members[at], float(weights[at])


def weight(arm: ArmSpec, headroom: dict[str, float]) -> tuple[float, str]:
    """How much the hardware speaks for an arm, in [FLOOR, 1], and why."""
    if arm.target not in headroom:
        return 1.0, "not profiled"
    room = headroom[arm.target]
    used = f"{arm.target} at {100 * (1 - room):.0f} % of peak"
    if arm.cuts_demand or room >= SATURATED:
        return 1.0, used
    return FLOOR + (1 - FLOOR) * room / SATURATED, f"{used}: little room to raise the rate"


def _rows(clusters: Clusters, frontier: Sequence[Member], pulls: Sequence[Pull]) -> list[Arm]:
    rewards: dict[tuple[int, str], list[float]] = {}
    pooled: dict[str, list[float]] = {}
    free: dict[str, int] = {}
    for pull in pulls:
        if pull.executed:
            rewards.setdefault((clusters.labels.get(pull.parent, 0), pull.strategy), []).append(pull.reward)
            pooled.setdefault(pull.strategy, []).append(pull.reward)
        elif pull.outcome in ("compile_error", "duplicate"):
            free[pull.strategy] = free.get(pull.strategy, 0) + 1
    rows: list[Arm] = []
    for cluster in range(clusters.count):
        members = clusters.members(cluster, frontier)
        if not members:
            continue
        headroom = representative(members, normalise=True).headroom
        for arm in ARMS:
            got, everywhere = rewards.get((cluster, arm.name), []), pooled.get(arm.name, [])
            elsewhere = len(everywhere) - len(got)
            good = 1 + len(everywhere)
            prior = MU * good / (good + free.get(arm.name, 0) / 4)  # four free failures weigh as much as one trial
            total = prior + sum(got) + SHARED * (sum(everywhere) - sum(got))
            mean = total / (1 + len(got) + SHARED * elsewhere)
            factor, why = weight(arm, headroom)
            if all(arm.name in m.exhausted for m in members):
                factor, why = 0.0, "exhausted: nothing left to propose"
            rows.append(Arm(cluster, arm.name, len(got), mean, factor, why))
    return rows
