"""Which members of the frontier behave alike: k-means over five features, redone every ten iterations (the published rule).

Everything is recomputed from the frontier and the log, so that a resumed run sees the clusters that it would have seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from kernelband.search._base import Member, Pull

K = 3
TAU = 10  # iterations between two clusterings
SEED = 42


@frozen
class Clusters:
    """``labels``: cluster by variant. ``history``: the label that a pull's parent had when it was pulled, by log position."""

    labels: dict[int, int]
    history: tuple[int, ...]

    def members(self, cluster: int, frontier: Sequence[Member]) -> tuple[Member, ...]:
        """The members of one cluster, in frontier order."""
        return tuple(m for m in frontier if self.labels[m.variant] == cluster)

    @property
    def count(self) -> int:
        """How many labels are in use, counted from 0."""
        return max(self.labels.values(), default=0) + 1


def standardised(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """z-scores per column, shape (members, features); a constant column becomes 0."""
    spread = features.std(axis=0)
    return (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def kmeans(members: Sequence[Member]) -> dict[int, int]:
    """Labels of the members: k-means++ on z-scored features. Fewer clusters when fewer distinct points exist."""
    points = standardised(_matrix(members))
    labels = _labels(tuple(tuple(row) for row in np.round(points, 12).tolist()))
    return {m.variant: label for m, label in zip(members, labels, strict=True)}


@lru_cache(maxsize=64)  # a policy without state asks for the same clustering again at every step
def _labels(points: tuple[tuple[float, ...], ...]) -> tuple[int, ...]:
    from sklearn.cluster import KMeans  # a second to import, and not needed before the sixth variant # pyright: ignore[reportMissingTypeStubs]
    from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

    k = min(K, len(set(points)))
    kmeans_ = cast("Any", KMeans)(n_clusters=k, init="k-means++", n_init="auto", random_state=SEED)  # its own types are wrong
    with threadpool_limits(1):  # a few dozen points: threads would only wait for each other
        return tuple(cast("list[int]", kmeans_.fit_predict(np.array(points)).tolist()))


def replay(frontier: Sequence[Member], log: Sequence[Pull], *, duplicates: bool = False) -> Clusters:
    """Walk through the log: a child inherits its parent's cluster; recluster when |P| >= 2K and TAU iterations are over.

    Iterations are pulls that were executed or paid for, so free failures don't hurry the clock; ``duplicates``: they are paid for, too.
    """
    by_id = {m.variant: m for m in frontier}
    present: list[Member] = [m for m in frontier if m.variant == 0]
    known = {m.variant for m in present}
    sizes: list[int] = []  # of the frontier before each pull, and at the end
    for pull in log:
        sizes.append(len(present))
        if pull.variant in by_id and pull.variant not in known:
            present.append(by_id[pull.variant])
            known.add(pull.variant)
    sizes.append(len(present))
    due = _due(sizes, log, duplicates=duplicates)
    labels = dict.fromkeys((m.variant for m in present[: sizes[0]]), 0)
    past: list[int] = []
    for position, size in enumerate(sizes):
        if position in due:
            labels = kmeans(present[:size])
        if position < len(log):
            pull = log[position]
            past.append(labels.get(pull.parent, 0))
            if sizes[position + 1] > size:
                labels[present[size].variant] = labels.get(pull.parent, 0)
    for member in frontier:  # a member that no pull explains (a starting variant) counts with the original
        labels.setdefault(member.variant, 0)
    return Clusters(labels, tuple(past))


def _due(sizes: Sequence[int], log: Sequence[Pull], *, duplicates: bool) -> set[int]:
    """The positions in the log before which a clustering is due."""
    out: set[int] = set()
    iteration, last = 0, None
    for position, size in enumerate(sizes):
        if size >= 2 * K and (last is None or iteration - last >= TAU):
            out.add(position)
            last = iteration
        if position < len(log):
            outcome = log[position].outcome
            iteration += log[position].executed or outcome == "compile_error" or (duplicates and outcome == "duplicate")
    return out


def together(frontier: Sequence[Member], log: Sequence[Pull]) -> Clusters:
    """All members as one cluster."""
    return Clusters({m.variant: 0 for m in frontier}, (0,) * len(log))


def representative(members: Sequence[Member]) -> Member:
    """The member nearest the centroid, in the features' own units as published; the earliest wins a tie."""
    points = _matrix(members)
    distance = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    return members[int(distance.argmin())]


def _matrix(members: Sequence[Member]) -> NDArray[np.float64]:
    return np.array([m.features for m in members], dtype=np.float64)
