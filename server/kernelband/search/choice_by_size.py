"""Two variants that complement each other: each is clearly the faster one on its side of a size, so that host code could choose.

Here is the decision, from what trials said, case by case; the code is written in ``strategies.tiling.by_size``, and whether the choice is
worth its branches is judged in ``judge.dispatch``, on figures of the final. Only a threshold of a size is ever asked for: no equality, no
value, no address; two branches; and every timing case lies on the side that its figures speak for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from attrs import frozen

from kernelband.history.values import loosest
from kernelband.judge.protocol import ORIGINAL, Dispatch, Rival, Side
from kernelband.judge.result import Ratio
from kernelband.judge.statistics import MARGIN
from kernelband.search.session import Session
from kernelband.search.trial import Trial, chain_of
from kernelband.strategies import Numerics
from kernelband.strategies.code import View
from kernelband.strategies.code.sizes import sizes
from kernelband.strategies.tiling.by_size import MOVE, Sides, by_size
from kernelband.strategies.tiling.parameters import Parameters
from kernelband.strategies.tiling.two_ways import two_ways

GAIN = 1.05  # of each side on its cases
WORTH = 1.01  # expected of the choice over the best so far: less is the same to a reader of the patch


@frozen
class Version:
    """A variant that makes no choice by size, with screening's ratio against the original for every timing case; 0 is the original."""

    number: int
    ratios: Mapping[str, Ratio]

    @property
    def score(self) -> float:
        """Mean log-ratio."""
        return fmean(math.log(r.value) for r in self.ratios.values())

    def over(self, other: Version, cases: Sequence[str]) -> float:
        """Mean log of the other's time over its own."""
        return fmean(math.log(self.ratios[c].value / other.ratios[c].value) for c in cases)

    def beats(self, other: Version, cases: Sequence[str]) -> bool:
        """By 5 % on average, beyond what scatter can do, and on no case slower."""
        spread = math.sqrt(sum(_reach(v.ratios[c]) ** 2 for c in cases for v in (self, other))) / len(cases)
        gain, least = self.over(other, cases), min(self.over(other, (c,)) for c in cases)
        return gain >= math.log(GAIN) and gain > spread and least > -math.log1p(MARGIN)


@frozen
class Axis:
    """A size by its code, with its value on the timing cases, and on cases of other values that can be timed."""

    code: str
    timed: Mapping[str, int]
    unseen: Mapping[str, int]


@frozen
class Cut:
    """A threshold, the timing cases on either side, and on either side the unseen case that is nearest to it."""

    code: str
    up_to: int
    small: tuple[str, ...]
    large: tuple[str, ...]
    unseen: tuple[str | None, str | None]


@frozen
class Plan:
    """``expected``: log-ratio against the original. ``gains``: what each side's variant gains there over ``rivals``, as ratios."""

    cut: Cut
    sides: Sides
    expected: float
    rivals: tuple[int, int]
    gains: tuple[float, float]

    @property
    def why(self) -> str:
        """The facts, from screening."""
        each = zip(conditions(self.sides), (self.sides.small, self.sides.large), self.gains, self.rivals, strict=True)
        return "; ".join(f"where {says}, {name(v)} was {100 * (gain - 1):.0f} % faster than {name(rival)}" for says, v, gain, rival in each)


# ---------------------------------------------------------------- the decision


def plans(versions: Sequence[Version], axes: Sequence[Axis], best: float) -> list[Plan]:
    """Every choice between two versions that is worth a trial, the most promising first.

    Args:
        versions: all that may be chosen from.
        axes: the sizes, those that a reader would ask for first.
        best: log-ratio of the best variant so far, whatever it does.
    """
    if not versions:
        return []
    single = min(versions, key=lambda v: (-v.score, v.number))
    found: list[Plan] = []
    for cut in cuts(axes):
        first = [v for v in versions if v is single or v.beats(single, cut.small)]
        second = [v for v in versions if v is single or v.beats(single, cut.large)]
        for small, large in ((a, b) for a in first for b in second if a.beats(b, cut.small) and b.beats(a, cut.large)):
            logs = [math.log(v.ratios[c].value) for v, cases in ((small, cut.small), (large, cut.large)) for c in cases]
            rivals = (large if small is single else single, small if large is single else single)
            gains = math.exp(small.over(rivals[0], cut.small)), math.exp(large.over(rivals[1], cut.large))
            sides = Sides(cut.code, cut.up_to, small.number, large.number)
            if fmean(logs) >= best + math.log(WORTH):
                found.append(Plan(cut, sides, fmean(logs), (rivals[0].number, rivals[1].number), gains))
    return sorted(found, key=lambda p: (-p.expected, p.sides.small, p.sides.large))  # equal ones stay in the order of the axes


def cuts(axes: Sequence[Axis]) -> Iterator[Cut]:
    """Each way to part the timing cases by a size, once: by the first size for which both sides can be timed at sizes that nobody has."""
    ways: dict[frozenset[tuple[str, ...]], Cut] = {}  # by the two parts, whichever is the small one
    for axis in axes:
        values = sorted(set(axis.timed.values()))
        for low, high in pairwise(values):
            at = threshold(low, high)
            small, large = (tuple(c for c, v in axis.timed.items() if (v <= at) is below) for below in (True, False))
            cut = Cut(axis.code, at, small, large, (_nearest(axis, at, below=True), _nearest(axis, at, below=False)))
            parts = frozenset({small, large})
            if parts not in ways or (None in ways[parts].unseen and None not in cut.unseen):
                ways[parts] = cut
    yield from ways.values()


def threshold(low: int, high: int) -> int:
    """The last size of the small side: a round number between the largest size that speaks for it and the smallest against it.

    Nothing is known in between, so the middle, by ratio, errs least. Blocks and everyday sizes are powers of two, so one of those near the
    middle reads best, then three halves of one; where neither is strictly in between, the larger small size itself.
    """
    if low < 1:
        return low
    middle = math.sqrt(low) * math.sqrt(high)
    for odd in (1, 3):
        round_ = [odd << k for k in range(high.bit_length()) if low < odd << k < high]
        if round_:
            return min(round_, key=lambda n: (abs(math.log(n / middle)), n))
    return low


def _nearest(axis: Axis, at: int, *, below: bool) -> str | None:
    found = {c: v for c, v in axis.unseen.items() if (v <= at) is below and v > 0}
    return min(found, key=lambda c: (abs(math.log(found[c] / max(at, 1))), c), default=None)


def _reach(ratio: Ratio) -> float:
    return (math.log(ratio.high) - math.log(ratio.low)) / 2


# ---------------------------------------------------------------- of a run


def find(s: Session) -> list[Plan]:
    """The choices that are worth a trial now. One that was tried is not tried again with variants that were there already."""
    versions = _versions(s)
    last = max((t.number for t in s.trials.values() if t.proposal.move == MOVE), default=0)
    if max((v.number for v in versions), default=0) <= last:
        return []
    return [p for p in plans(versions, _axes(s), math.log(s.speed(s.leader))) if max(p.sides.small, p.sides.large) > last]


def prepare(s: Session, plan: Plan, *, both: bool) -> Trial | None:
    """The variant that chooses, compiled; None when it can't be written, was proposed before, or doesn't compile.

    Args:
        s: the run.
        plan: what to choose.
        both: keep both kernels and both ways to launch; else one, with two sets of launch parameters.

    Raises:
        KernelBandError: the worker is gone.
    """
    sides = plan.sides
    # A child of what a model wrote is run apart from the original; so is this, if either is one.
    parent, other = sorted((sides.small, sides.large), key=lambda n: (not n or not s.trials[n].isolated, -s.speed(n), n))
    programs, facts = (s.programs.program(parent), s.programs.program(other)), (s.builder.facts(parent), s.builder.facts(other))
    looser: Numerics = loosest(s.trials[n].proposal.numerics for n in (parent, other) if n)  # at least one of the two isn't the original
    why, small = f"{plan.why[0].upper()}{plan.why[1:]}.", parent == sides.small
    if both:
        proposal = two_ways(programs, facts, sides, looser, why, small=small)
    else:
        own, theirs = (Parameters.read(p, f) for p, f in zip(programs, facts, strict=True))
        proposal = by_size(own, theirs, sides, looser, why, small=small) if own is not None and theirs is not None else None
    seen = s.builder.seen.setdefault(parent, set())
    if proposal is None or proposal.key in seen:
        return None
    seen.add(proposal.key)
    return s.preparer.special(parent, proposal)


def chooser(s: Session, number: int) -> Trial | None:
    """The trial that brought a choice by size into a variant: its own, or one of an ancestor; None where it makes none."""
    return next((t for t in chain_of(s.trials, number) if t.proposal.move == MOVE), None)


def rivals(s: Session, choice: Trial) -> tuple[int, int, int]:
    """What a choice must beat: the best single version, and what would run on either side without the choice."""
    single = min(_versions(s), key=lambda v: (-v.score, v.number)).number
    small, large = int(choice.proposal.parameters["small"]), int(choice.proposal.parameters["large"])
    return single, large if small == single else single, small if large == single else single


def dispatch(s: Session, choice: Trial, ids: Mapping[int, str]) -> Dispatch:
    """How the judge is told of a choice; ``ids``: candidates of the final by variant."""

    def rival(number: int) -> Rival:
        return Rival(ids[number] if number else ORIGINAL, name(number))

    p = choice.proposal.parameters
    sides = Sides(str(p["size"]), int(p["up_to"]), int(p["small"]), int(p["large"]))
    axis = next((a for a in _axes(s) if a.code == sides.size), Axis(sides.size, {}, {}))
    single, *others = rivals(s, choice)
    made: list[Side] = []
    for below, says, other in zip((True, False), conditions(sides), others, strict=True):
        timed = tuple(c for c, v in axis.timed.items() if (v <= sides.up_to) is below)
        made.append(Side(says, timed, _nearest(axis, sides.up_to, below=below), rival(other)))
    return Dispatch(tuple(made), rival(single))


def in_final(s: Session, able: list[Trial]) -> list[Trial]:
    """Finalists, the best first, with the rule for choices by size: one that doesn't lead isn't worth its branches and stays out; one that
    leads brings what it must beat along.
    """
    choices = {t.number: c for t in able if (c := chooser(s, t.number)) is not None}
    singles = [t for t in able if t.number not in choices]
    if not able or able[0].number not in choices:
        return singles
    needed = [s.trials[n] for n in dict.fromkeys(rivals(s, choices[able[0].number])) if n]
    return [able[0], *needed, *(t for t in singles if t not in needed)]


def unable(plan: Plan) -> str:
    """Why a plan isn't proposed that can't be verified."""
    says = next(says for says, case in zip(conditions(plan.sides), plan.cut.unseen, strict=True) if case is None)
    return (
        f"{plan.why[0].upper()}{plan.why[1:]}; but no variant that chooses is proposed: where {says} there is no other size to time it at. "
        "An entry with more sizes would give one."
    )


def conditions(sides: Sides) -> tuple[str, str]:
    """Of the small and of the large sizes."""
    return f"{sides.size} <= {sides.up_to}", f"{sides.size} > {sides.up_to}"


def name(number: int) -> str:
    """For sentences."""
    return f"variant {number}" if number else "the original"


def _versions(s: Session) -> list[Version]:
    timed = [c["id"] for c in s.judge.task.of_role("time")]
    original = Version(0, dict.fromkeys(timed, Ratio(1.0, 1.0, 1.0)))
    others = [t for t in s.trials.values() if t.number in s.frontier and set(timed) <= t.cases.keys() and chooser(s, t.number) is None]
    return [original, *(Version(t.number, {c: t.cases[c] for c in timed}) for t in others)] if timed else []


def _axes(s: Session) -> list[Axis]:
    """The sizes that the original's host function has at hand, with their values in its own launches."""
    program = s.programs.program(0)
    view = View.read(program, s.builder.facts(0))
    if view is None or len(view.launches) != 1 or not view.whole:
        return []
    own = [x for x in s.launches if x["kernel"]["qualname"] == program.kernel.place.qualname]
    timing = {c["id"] for c in s.judge.task.of_role("time")}
    out: list[Axis] = []
    for size in sizes(view, view.launches[0]):
        values = {c["id"]: size.of([x for x in own if x["case"] == c["id"]]) for c in s.judge.task.of_role("check", "time", "held_out")}
        timed = {c: v for c, v in values.items() if v is not None and c in timing}
        unseen = {c: v for c, v in values.items() if v is not None and c not in timing and v not in timed.values()}
        if len(timed) == len(timing):
            out.append(Axis(size.code, timed, unseen))
    return out
