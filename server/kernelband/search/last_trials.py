"""Variants that no arm would make, proposed from what the trials said when the budget is nearly over: two variants in one, fewer edits.

Not for policies that are to be as published. Each that is executed is a trial like any other.

Fewer edits: the leader without those that gained nothing is what a reviewer would ask for. A variant is a chain of edits. Each link was
executed, so each edit's gain is known: the speed of the variant over that of its parent. Whether it is as fast without those that showed
none is then measured, not assumed: an edit that did nothing by itself may have made a later one possible.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from attrs import define, evolve, field, frozen

from kernelband.errors import KernelBandError
from kernelband.history.values import loosest
from kernelband.propose import Author, Rewriter
from kernelband.search import choice_by_size
from kernelband.search.events import Noted
from kernelband.search.programs import Finder, FindOthers
from kernelband.search.session import Session
from kernelband.search.trial import Trial, chain_of
from kernelband.source import compose
from kernelband.source.model import Patch, Program
from kernelband.strategies import Facts, Proposal

MOST = 20  # choices by size that are written down, one after the other, until one can be
NEAR = 1.03  # two kernels must be worth that much: more than one kernel with two sets of launch parameters, more than the leader
#: An edit that made its parent less than so many times faster in screening is noise to a reader of the patch.
GAIN = 1.01
#: Writes and compiles a variant; None when there is none after all.
Prepare = Callable[[], Trial | None]


@define
class LastTrials:
    """Of one run."""

    s: Session
    _thinned: set[int] = field(factory=set[int])  # leaders for which fewer edits were tried
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
            yield from self._fewer_edits()

    def _by_size(self) -> Iterator[tuple[Prepare, str]]:
        """Two variants that complement each other as one that chooses by a size."""
        found = choice_by_size.find(self.s)
        able = [plan for plan in found if None not in plan.cut.unseen][:MOST]
        if found and not able and not self._told:
            self._told = True
            self.s.journal.emit(Noted(choice_by_size.unable(found[0])))
        near = [plan for plan in able if plan.expected >= able[0].expected - math.log(NEAR)]
        for plan in near:
            yield self._choice(plan, both=False)
        for plan in able:
            if plan not in near:
                yield self._choice(plan, both=False)
            if plan.expected >= math.log(NEAR * self.s.speed(self.s.leader)):
                yield self._choice(plan, both=True)

    def _choice(self, plan: choice_by_size.Plan, *, both: bool) -> tuple[Prepare, str]:
        return partial(choice_by_size.prepare, self.s, plan, both=both), "two variants in one, by size"

    def _fewer_edits(self) -> Iterator[tuple[Prepare, str]]:
        """The leader without the edits that gained nothing, once for each leader."""
        leader = self.s.leader
        if leader in self._thinned:
            return
        self._thinned.add(leader)
        found = fewer_edits(self.s.trials, leader, self.s.speed)
        if found is not None:
            yield partial(self._prepare, found), f"variant {leader} with fewer edits"

    def _prepare(self, plan: FewerEdits) -> Trial | None:
        s, start = self.s, plan.start
        author = s.builder.author if s.builder.author.free else Rewriter()  # a model isn't asked for what it wrote before
        programs = s.programs
        proposal = plan.rewrite(author, programs.program(start), s.builder.facts(start), programs.find, programs.find_others)
        return s.preparer.special(start, proposal) if proposal is not None else None


@frozen
class FewerEdits:
    """``kept`` are to be made of variant ``start`` again, in that order, without ``dropped``."""

    start: int
    kept: tuple[Trial, ...]
    dropped: tuple[Trial, ...]

    def rewrite(self, author: Author, program: Program, facts: Facts, find: Finder, find_others: FindOthers) -> Proposal | None:
        """One proposal that makes all kept edits; None when one of them can't be made without those that are left out.

        Args:
            author: writes the edits again.
            program: of ``start``.
            facts: of the same.
            find: reads a program from the texts of its files.
            find_others: the same of other kernels that its host functions launch.
        """
        base, at, patch = dict(program.texts), program, Patch()
        made: list[Proposal] = []
        for old in (trial.proposal for trial in self.kept):
            beside = {p.kernel.place: p for p in find_others(at)} if facts.others else {}
            others = (evolve(o, program=beside[place]) for o in facts.others if (place := o.program.kernel.place) in beside)
            known = evolve(facts, others=tuple(others))
            every = author.write(at, old.strategy, known, frozenset(), sys.maxsize).proposals
            proposal = next((p for p in every if p.key == old.key), None)
            if proposal is None:
                return None
            patch = compose(patch, proposal.patch, base)
            made.append(proposal)
            try:
                at = find(patch.apply(base))
            except KernelBandError:  # the kernel is out of sight
                return None
        last, kernels = made[-1], [p.parameters.get("kernel", "") for p in made]
        mixed = {"kernels": kernels} if len(set(kernels)) > 1 else {}
        own = {name: value for name, value in last.parameters.items() if not mixed or name != "kernel"}
        without = ", ".join(f"{t.proposal.strategy}.{t.proposal.move}" for t in self.dropped)
        return Proposal(
            last.strategy,
            last.move,
            parameters={**own, **mixed, "after": [p.key for p in made[:-1]], "without": [t.number for t in self.dropped]},
            patch=patch,
            numerics=loosest(p.numerics for p in made),
            what="; ".join(p.what.rstrip(".") for p in made),
            why=f"the edits of {without} on the way to the fastest variant gained less than {100 * (GAIN - 1):.0f} %",
        )


def fewer_edits(trials: Mapping[int, Trial], leader: int, speed: Callable[[int], float]) -> FewerEdits | None:
    """What would have fewer edits than the leader, None when every edit gained or when it is a variant that exists.

    Args:
        trials: of the run, by number; a variant has the number of its trial.
        leader: the variant in question; 0 is the original.
        speed: of a variant on the frontier, 0 included, over the original's.
    """
    chain = chain_of(trials, leader)
    dropped = [t for t in chain if speed(t.number) < GAIN * speed(t.parent)]
    if not dropped:
        return None
    first = chain.index(dropped[0])
    kept = tuple(t for t in chain[first:] if t not in dropped)
    return FewerEdits(dropped[0].parent, kept, tuple(dropped)) if kept else None
