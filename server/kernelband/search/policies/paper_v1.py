"""``paper-v1``: the earlier published variant, over our moves (arXiv 2511.18868 v1; facts and numbers only).

UCB over (cluster, strategy) with a third term: mu + sqrt(2 ln t / n) + alpha·psi_s(phi), alpha = 0.5. psi_s = sigmoid(w_s·phi + b_s) is the
chance that the strategy pays on a kernel that behaves like phi: one logistic head per strategy, trained online from the last 500 pulls.
A warm-up of 3·|S| pulls goes round the strategies. r = 1 - T'/T, failure = -1. K = 3, clusters grow incrementally.

Where our facts differ from its profile, said plainly: phi here is use of SM, DRAM and L2, occupancy, registers, shared memory and threads
(seven numbers in [0, 1]) in place of nine Nsight metrics; clusters are formed in our five features in place of its six. It doesn't say how
a parent is chosen inside a cluster: the fastest is taken. T is the geometric mean over cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from kernelband.search._base import ARMS, Arm, Choice, Member, Pull
from kernelband.search.clusters import K, kmeans, standardised

ALPHA = 0.5
BUFFER = 500
WARM_UP = 3 * len(ARMS)
RATE = 0.5  # of a step of gradient descent; the paper names none
FAILED = -1.0


@frozen
class PaperV1:
    """One proposal for each choice, and every proposal costs a trial, failures too."""

    name: str = "paper-v1"
    proposals: int = 1
    failures_cost: bool = True

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:  # noqa: ARG002 - deterministic
        """The arm of the highest score, round the strategies at first; the fastest parent of its cluster."""
        rows = [x for x in self._scored(frontier, log) if x[0].weight > 0]
        if not rows:
            return None
        pulls = [p for p in log if p.outcome != "nothing_left"]
        if len(pulls) < WARM_UP:
            tried = {a.name: sum(p.strategy == a.name for p in pulls) for a in ARMS}
            arm, value = min(rows, key=lambda x: (tried[x[0].strategy], -x[1]))
            reason = f"{arm.strategy}: warm-up, pull {len(pulls) + 1} of {WARM_UP}"
        else:
            arm, value = max(rows, key=lambda x: x[1])  # max keeps the first of equals
            reason = f"{arm.strategy}: mean reward {arm.mean_reward:.2f} over {arm.pulls} pulls, score {value:.2f}; {arm.why}"
        labels = grown(frontier)
        members = [m for m in frontier if labels[m.variant] == arm.cluster and arm.strategy not in m.exhausted]
        parent = min(members, key=lambda m: m.seconds)
        return Choice(parent.variant, arm.strategy, arm.cluster, value, reason=reason)

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - deterministic
        """Every arm of every cluster in use."""
        return tuple(arm for arm, _ in self._scored(frontier, log))

    def _scored(self, frontier: Sequence[Member], log_: Sequence[Pull]) -> list[tuple[Arm, float]]:
        labels = grown(frontier)
        by_id = {m.variant: m for m in frontier}
        rewards: dict[tuple[int, str], list[float]] = {}
        seen: dict[str, list[tuple[NDArray[np.float64], bool]]] = {}
        for pull in log_:
            if pull.outcome in ("nothing_left", "pending") or pull.parent not in by_id:
                continue
            r = reward(by_id[pull.parent], by_id.get(pull.variant) if pull.variant is not None else None)
            rewards.setdefault((labels[pull.parent], pull.strategy), []).append(r)
            seen.setdefault(pull.strategy, []).append((behaviour(by_id[pull.parent]), r > 0))
        heads = {a.name: trained(seen.get(a.name, [])[-BUFFER:]) for a in ARMS}
        total = max(sum(map(len, rewards.values())), 1)
        out: list[tuple[Arm, float]] = []
        for cluster in sorted(set(labels.values())):
            members = [m for m in frontier if labels[m.variant] == cluster]
            phi = np.mean([behaviour(m) for m in members], axis=0)
            for arm in ARMS:
                got = rewards.get((cluster, arm.name), [])
                mean = sum(got) / len(got) if got else 0.0
                psi = sigmoid(float(heads[arm.name] @ np.append(phi, 1.0)))
                live = any(arm.name not in m.exhausted for m in members)
                why = f"likely to pay: {psi:.2f}" if live else "exhausted: nothing left to propose"
                value = mean + sqrt(2 * log(total) / max(len(got), 1)) + ALPHA * psi
                out.append((Arm(cluster, arm.name, pulls=len(got), mean_reward=mean, weight=float(live), why=why), value))
        return out


def reward(parent: Member, child: Member | None) -> float:
    """1 - T'/T; -1 for what failed."""
    return FAILED if child is None else 1.0 - child.seconds / parent.seconds


def behaviour(member: Member) -> NDArray[np.float64]:
    """phi, shape (7,), each in [0, 1]: use of SM, DRAM and L2 (a half where unknown), occupancy, registers, shared memory, threads."""
    _, registers, shared, threads, occupancy = member.features
    use = [1.0 - member.headroom.get(name, 0.5) for name in ("sm", "dram", "l2")]
    return np.array([*use, occupancy / 100, registers / 255, min(shared / 228, 1.0), threads / 10])


def trained(seen: Sequence[tuple[NDArray[np.float64], bool]]) -> NDArray[np.float64]:
    """The weights of a logistic head, the last one its bias, shape (8,): a step of gradient descent for each pull, in order."""
    weights = np.zeros(8)
    for phi, paid in seen:
        x = np.append(phi, 1.0)
        weights += RATE * (float(paid) - sigmoid(float(weights @ x))) * x
    return weights


def sigmoid(x: float) -> float:
    """1 / (1 + e^-x)."""
    return 1 / (1 + exp(-max(-50.0, min(50.0, x))))


def grown(frontier: Sequence[Member]) -> dict[int, int]:
    """Labels: k-means++ of the first 2K members, one cluster before there are so many; each later one joins the nearest centroid and moves
    it. Distances are in z-scores of all members.
    """
    first = list(frontier[: 2 * K])
    if len(first) < 2 * K:
        return {m.variant: 0 for m in frontier}
    labels = kmeans(first)
    points = standardised(np.array([m.features for m in frontier], dtype=np.float64))
    count = max(labels.values()) + 1
    members = [[i for i, m in enumerate(first) if labels[m.variant] == c] for c in range(count)]
    centroids = [points[own].mean(axis=0) for own in members]
    sizes = [len(own) for own in members]
    for i, member in enumerate(frontier[2 * K :], 2 * K):
        at = int(np.argmin([((points[i] - c) ** 2).sum() for c in centroids]))
        labels[member.variant] = at
        sizes[at] += 1
        centroids[at] = centroids[at] + (points[i] - centroids[at]) / sizes[at]
    return labels
