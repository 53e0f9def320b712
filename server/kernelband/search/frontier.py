"""The frontier: the original and every correct variant, as policies see them, with what is known of their arms now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from math import exp, log, log1p, log2
from statistics import fmean

from attrs import define, evolve, field, frozen

from kernelband.search._base import ARMS, Member
from kernelband_worker.wire import CompileFacts


@define
class Frontier:
    """Members in the order of their making, with what is exhausted."""

    _members: dict[int, Member] = field(factory=dict[int, Member])
    _exhausted: dict[int, set[str]] = field(factory=dict[int, set[str]])
    _dropped: set[int] = field(factory=set[int])

    def drop(self, variant: int) -> None:
        """It was found wrong: nothing is made of it any more, and it doesn't lead. What it took is still known."""
        self._dropped.add(variant)

    def is_dropped(self, variant: int) -> bool:
        """Whether it is known to be wrong, or made of what is."""
        return variant in self._dropped

    def add(self, member: Member) -> None:
        """A correct variant."""
        self._members[member.variant] = member

    def exhaust(self, variant: int, strategy: str) -> None:
        """Nothing is left of this strategy for this parent."""
        self._exhausted.setdefault(variant, set()).add(strategy)

    @property
    def members(self) -> tuple[Member, ...]:
        """As ``Policy.ask`` takes them."""
        return tuple(evolve(m, exhausted=frozenset(self._exhausted.get(v, ()))) for v, m in self._members.items() if v not in self._dropped)

    @property
    def best(self) -> Member:
        """The fastest; the earliest of equals."""
        return min((m for v, m in self._members.items() if v not in self._dropped), key=lambda m: (m.seconds, m.variant))

    def __contains__(self, variant: int) -> bool:
        return variant in self._members

    def __getitem__(self, variant: int) -> Member:
        return self._members[variant]


@frozen
class Outlook:
    """By (parent, strategy): the best forecast of what is compiled and waits; arms that have nothing left to propose."""

    forecasts: dict[tuple[int, str], float] = field(factory=dict[tuple[int, str], float])
    empty: frozenset[tuple[int, str]] = frozenset()


def offered(
    members: Sequence[Member], outlook: Outlook, without: Set[tuple[int, str]] = frozenset(), *, only_ready: bool = False
) -> tuple[Member, ...]:
    """What a policy may choose from: the members with the forecasts of what is compiled.

    Args:
        members: the frontier.
        outlook: what waits for the device.
        without: arms that can't be chosen now.
        only_ready: of the others, only those of which something is compiled: the device waits.
    """
    out: list[Member] = []
    for m in members:
        found = {name: score for (parent, name), score in outlook.forecasts.items() if parent == m.variant}
        closed = {name for v, name in without if v == m.variant}
        if only_ready:
            closed |= {a.name for a in ARMS} - found.keys()
        out.append(evolve(m, forecasts=found or m.forecasts, exhausted=m.exhausted | closed))
    return tuple(out)


def reward_paper(parent: float, child: float) -> float:
    """As published: max(0, (T_parent - T_child) / T_parent), T = mean over cases of the median time."""
    return max(0.0, (parent - child) / parent) if parent > 0 else 0.0


def reward(best_before: float, child: float, *, counts: bool) -> float:
    """clip(log2(T_best_before / T_child), 0, 1); 0 while the child isn't surely faster than the original (JUDGING, section 4)."""
    return min(1.0, max(0.0, log2(best_before / child))) if counts and child > 0 and best_before > 0 else 0.0


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers.

    Raises:
        ValueError: there are none.
    """
    return exp(fmean(log(v) for v in values))


def features(seconds: float, facts: Sequence[CompileFacts], occupancy: float) -> tuple[float, ...]:
    """log1p(ms), registers/thread, shared KB, log2(threads/block), occupancy %: the mean over the launches of the target kernel."""
    if not facts:
        return (log1p(seconds * 1e3), 0.0, 0.0, 7.0, occupancy)
    return (
        log1p(seconds * 1e3),
        fmean(f["registers"] or 0 for f in facts),
        fmean(f["shared_bytes"] for f in facts) / 1024,
        log2(fmean(f["num_warps"] * f["target"]["warp_size"] for f in facts)),
        occupancy,
    )


def by_target(facts: Mapping[str, CompileFacts], kernel: str) -> tuple[CompileFacts, ...]:
    """The facts of the kernel that is optimized; all when its name changed."""
    own = tuple(f for f in facts.values() if f["kernel"]["qualname"].rpartition(".")[2] == kernel.rpartition(".")[2])
    return own or tuple(facts.values())
