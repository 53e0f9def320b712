"""What ``kernelband`` does differently from the published policy, each thing switchable: an ablation is the same policy without one."""

from __future__ import annotations

import attrs
from attrs import evolve, frozen

from kernelband.errors import UsageError

WITHOUT = "kernelband-without-"


@frozen
class Mends:
    """The numbers are those of the weak points in the notes on the algorithm; the last three go beyond them.

    Off means as published. ``low_exploration`` (1): c = 0.2 and a prior of 0.15, not 2 and 0.5, which is close to round-robin at 20 trials.
    ``near_best`` (3): headroom is scaled to [0, 1] and speed decides with it, so that parents are near the best. ``soft_mask`` (5): a
    saturated resource lowers the weight of a strategy that only raises its rate, and leaves one that needs less of it alone; no mask.
    ``batch`` (8): many proposals for each choice, all compiled, the forecast's best executed, failures to compile free. ``sharing``: what a
    strategy showed in other clusters counts. ``forecast``: what is expected of an arm is what the forecast says of its best proposal that
    is compiled and waits, corrected by what the strategy's earlier forecasts were worth. ``barren``: an arm of which nothing is compiled
    yet weighs less when its strategy had nothing to propose for other parents.

    ``clusters`` and ``exploration`` are the published policy's own: without them all variants are one cluster, and an arm that was pulled
    seldom gets nothing for that (c = 0).

    Statistics that are computed anew after a reclustering (2) and distances to centroids in z-scores (7) were tried and made no difference
    (docs/search.md), so both are as published.
    """

    low_exploration: bool = True
    near_best: bool = True
    soft_mask: bool = True
    batch: bool = True
    sharing: bool = True
    forecast: bool = True
    barren: bool = True
    clusters: bool = True
    exploration: bool = True


MENDS: tuple[str, ...] = tuple(a.name.replace("_", "-") for a in attrs.fields(Mends))


def without(name: str) -> Mends:
    """All mends but one, by its name in ``kernelband-without-NAME``.

    Raises:
        UsageError: there is no such mend.
    """
    if name not in MENDS:
        raise UsageError(f"There is no part {name!r} to leave out: choose one of {', '.join(MENDS)}.")
    return evolve(Mends(), **{name.replace("-", "_"): False})
