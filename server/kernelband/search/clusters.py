"""Which members of the frontier behave alike: k-means over five features, redone every ten iterations (the published rule).

Everything is recomputed from the frontier and the log, so that a resumed run sees the clusters that it would have seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from sklearn.cluster import KMeans  # pyright: ignore[reportMissingTypeStubs]

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


def kmeans(members: Sequence[Member], k: int = K, seed: int = SEED) -> dict[int, int]:
    """Labels of the members: k-means++ on z-scored features. Fewer clusters when fewer distinct points exist."""
    points = standardised(_matrix(members))
    k = min(k, len({tuple(row) for row in np.round(points, 12).tolist()}))
    kmeans_ = cast("Any", KMeans)(n_clusters=k, init="k-means++", n_init=10, random_state=seed)  # its own types are wrong
    labels = cast("list[int]", kmeans_.fit_predict(points).tolist())
    return {m.variant: label for m, label in zip(members, labels, strict=True)}


def replay(frontier: Sequence[Member], log: Sequence[Pull]) -> Clusters:
    """Walk through the log: a child inherits its parent's cluster; recluster when |P| >= 2K and TAU iterations are over.

    Only the step number of a pull counts as time, so free failures (compile errors, duplicates) of one step don't hurry the clock.
    """
    by_id = {m.variant: m for m in frontier}
    present: list[Member] = [m for m in frontier if m.variant == 0]
    labels = {m.variant: 0 for m in present}
    history: list[int] = []
    last: int | None = None

    def recluster(step: int) -> None:
        nonlocal labels, last
        if len(present) >= 2 * K and (last is None or step - last >= TAU):
            labels, last = kmeans(present), step

    for pull in log:
        recluster(pull.step)
        history.append(labels.get(pull.parent, 0))
        child = by_id.get(pull.variant) if pull.variant is not None else None
        if child is not None and child.variant not in labels:
            present.append(child)
            labels[child.variant] = labels.get(pull.parent, 0)
    recluster(log[-1].step + 1 if log else 0)
    for member in frontier:  # a member that no pull explains (a starting variant) counts with the original
        labels.setdefault(member.variant, 0)
    return Clusters(labels, tuple(history))


def representative(members: Sequence[Member], *, normalise: bool) -> Member:
    """The member nearest the centroid. ``normalise=False`` measures in the features' own units, as published; the earliest wins a tie."""
    points = _matrix(members)
    if normalise:
        points = standardised(points)
    distance = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    return members[int(distance.argmin())]


def _matrix(members: Sequence[Member]) -> NDArray[np.float64]:
    return np.array([m.features for m in members], dtype=np.float64)
