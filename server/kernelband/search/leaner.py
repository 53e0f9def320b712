"""The leader without the edits that gained nothing: what a reviewer would ask for.

A variant is a chain of edits. Each link was executed, so each edit's gain is known: the speed of the variant over that of its parent. The
last trial of a run goes to the leader's chain without the edits that showed no gain. Whether it is as fast is then measured, not assumed:
an edit that did nothing by itself may have made a later one possible.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from attrs import frozen

from kernelband.errors import KernelBandError
from kernelband.propose import Author, Rewriter
from kernelband.search.candidate import Candidate
from kernelband.search.session import Session, Trial
from kernelband.source import compose
from kernelband.source.model import Patch, Program
from kernelband.strategies import Facts, Numerics, Proposal

#: An edit that made its parent less than so many times faster in screening is noise to a reader of the patch.
GAIN = 1.01
STRICTEST_FIRST: tuple[Numerics, ...] = ("exact", "reassociates", "lowers_precision")


@frozen
class Plan:
    """``kept`` are to be made of variant ``start`` again, in that order, without ``dropped``."""

    start: int
    kept: tuple[Trial, ...]
    dropped: tuple[Trial, ...]


def plan(trials: Mapping[int, Trial], leader: int, speed: Callable[[int], float]) -> Plan | None:
    """What would be leaner than the leader, None when every edit gained or when it is a variant that exists.

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
    return Plan(dropped[0].parent, kept, tuple(dropped)) if kept else None


def chain_of(trials: Mapping[int, Trial], number: int) -> list[Trial]:
    """From the first edit of the original to that variant."""
    out: list[Trial] = []
    while number:
        out.insert(0, trials[number])
        number = trials[number].parent
    return out


def prepare(s: Session, planned: Plan) -> Candidate | None:
    """The plan's variant, compiled; None when it can't be written, doesn't compile, or was executed already.

    Raises:
        KernelBandError: the worker is gone.
    """
    start = planned.start
    author = s.preparer.author if s.preparer.author.free else Rewriter()  # a model isn't asked for what it wrote before
    proposal = rewrite(planned, author, s.programs.program(start), s.preparer.facts(start), s.programs.find)
    return s.preparer.special(start, proposal) if proposal is not None else None


def rewrite(planned: Plan, author: Author, program: Program, facts: Facts, find: Callable[[dict[str, str]], Program]) -> Proposal | None:
    """One proposal that makes all kept edits; None when one of them can't be made without those that are left out.

    Args:
        planned: what to make.
        author: writes the edits again.
        program: of the plan's start.
        facts: of the same.
        find: reads a program from the texts of its files.
    """
    base, at, patch = dict(program.texts), program, Patch()
    made: list[Proposal] = []
    for trial in planned.kept:
        every = author.write(at, trial.strategy, facts, frozenset(), sys.maxsize).proposals
        proposal = next((p for p in every if p.key == trial.key), None)
        if proposal is None:
            return None
        patch = compose(patch, proposal.patch, base)
        made.append(proposal)
        try:
            at = find(patch.apply(base))
        except KernelBandError:  # the kernel is out of sight
            return None
    last = made[-1]
    classes: list[Numerics] = [p.numerics for p in made]
    without = ", ".join(f"{t.strategy}.{t.move}" for t in planned.dropped)
    return Proposal(
        last.strategy,
        last.move,
        {**last.parameters, "after": [p.key for p in made[:-1]], "without": [t.number for t in planned.dropped]},
        patch,
        max(classes, key=STRICTEST_FIRST.index),
        "; ".join(p.what.rstrip(".") for p in made),
        f"the edits of {without} on the way to the fastest variant gained less than {100 * (GAIN - 1):.0f} %",
    )
