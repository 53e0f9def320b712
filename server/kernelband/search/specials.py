"""Variants that no arm would make, proposed from what the trials said when the budget is nearly over: two variants in one, fewer edits.

Not for policies that are to be as published. Each that is executed is a trial like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from attrs import define, field

from kernelband.search import complement, leaner
from kernelband.search.candidate import Candidate
from kernelband.search.events import Noted
from kernelband.search.session import Session

MOST = 20  # choices by size that are written down, one after the other, until one can be
NEAR = 1.03  # two kernels must be worth that much: more than one kernel with two sets of launch parameters, more than the leader
#: Writes and compiles a variant; None when there is none after all.
Prepare = Callable[[], Candidate | None]


@define
class Specials:
    """Of one run."""

    s: Session
    _leaned: set[int] = field(factory=set[int])  # leaders for which fewer edits were tried
    _told: bool = False  # why no choice by size is proposed

    def ideas(self, is_last: Callable[[int], bool]) -> Iterator[tuple[Prepare, str]]:
        """What to try next, and why. A choice by size first: what is as fast with fewer edits is known only after it.

        Args:
            is_last: whether the search is over after so many more trials.
        """
        if self.s.policy.failures_cost:
            return
        if is_last(2):
            yield from self._by_size()
        if is_last(1):
            yield from self._leaner()

    def _by_size(self) -> Iterator[tuple[Prepare, str]]:
        """Two variants that complement each other as one that chooses by a size."""
        found = complement.find(self.s)
        able = [plan for plan in found if None not in plan.cut.unseen][:MOST]
        if found and not able and not self._told:
            self._told = True
            self.s.journal.emit(Noted(complement.unable(found[0])))
        near = [plan for plan in able if plan.expected >= able[0].expected - math.log(NEAR)]
        for plan in near:
            yield self._choice(plan, both=False)
        for plan in able:
            if plan not in near:
                yield self._choice(plan, both=False)
            if plan.expected >= math.log(NEAR * self.s.speed(self.s.leader)):
                yield self._choice(plan, both=True)

    def _choice(self, plan: complement.Plan, *, both: bool) -> tuple[Prepare, str]:
        return partial(complement.prepare, self.s, plan, both=both), "two variants in one, by size"

    def _leaner(self) -> Iterator[tuple[Prepare, str]]:
        """The leader without the edits that gained nothing, once for each leader."""
        leader = self.s.leader
        if leader in self._leaned:
            return
        self._leaned.add(leader)
        planned = leaner.plan(self.s.trials, leader, self.s.speed)
        if planned is not None:
            yield partial(leaner.prepare, self.s, planned), f"variant {leader} with fewer edits"
