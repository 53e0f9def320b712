"""``kernelband``: our default. The published policy with its weak points mended (``mends.Mends`` lists them; each can be switched off).

An arm's expected gain is what the forecast makes of its best compiled proposal, half believed, on top of the measured speed of its parent
and against the best so far; how far the strategy's executed pulls fell short of their forecasts (or went beyond) is added. Where nothing is
compiled ahead it is the mean reward of the strategy, those of other clusters for a part: at 20 trials and 18 arms most would never be
known. Compile errors and duplicates are free, and lower what is expected of such an arm. An arm that is exhausted leaves the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log2, sqrt

import numpy as np
from attrs import field, frozen

from kernelband.search._base import ARMS, Arm, ArmSpec, Choice, Member, Pull
from kernelband.search.clusters import Clusters, replay, representative, together
from kernelband.search.policies import paper
from kernelband.search.policies.mends import Mends

C = 0.2
MU = 0.15  # reward expected of a strategy before its first pull, worth one pull: a speedup of 1.11
SHARED = 0.75  # how much a pull of the strategy in another cluster counts
SATURATED = 0.25  # headroom below which more rate stops being possible
FLOOR = 0.3  # weight of a rate-raising strategy on a resource that is full
TEMPERATURE = 0.05
CLIP = 3.0  # of an expected gain, log2
FAILED = -0.5  # what a wrong or crashed variant counts as, log2 of a speedup
TRUST = 0.5  # of a forecast's log-ratio: it is more often too bold than too shy


@frozen
class KernelBand:
    """Many proposals for each choice, all compiled, the forecast's best executed; failures to compile are free."""

    mends: Mends = field(factory=Mends)
    name: str = "kernelband"

    @property
    def proposals(self) -> int:
        """Compiled for each choice."""
        return 16 if self.mends.batch else 1

    @property
    def failures_cost(self) -> bool:
        """Whether a compile error costs a trial."""
        return not self.mends.batch

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:
        """The arm of the highest weighted score, and a parent by softmax of headroom, speed and forecast."""
        clusters = self._clusters(frontier, log)
        rows = [r for r in self._rows(clusters, frontier, log) if r.arm.weight > 0]
        if not rows:
            return None
        pulls = sum(p.executed for p in log)
        best = max(rows, key=lambda r: r.score(pulls))  # max keeps the first of equals
        arm, spec = best.arm, next(a for a in ARMS if a.name == best.arm.strategy)
        members = [m for m in clusters.members(arm.cluster, frontier) if spec.name not in m.exhausted]
        rng = np.random.default_rng([seed, step])
        if self.mends.near_best:
            parent, propensity = pick_parent(members, spec, rng, forecast=self.mends.forecast)
        else:
            parent, propensity = paper.pick_parent(members, spec, rng)
        value = best.score(pulls)
        reason = f"{spec.name}: expected gain {arm.mean_reward:.2f} after {arm.pulls} trials, score {value:.2f}; {arm.why}"
        return Choice(parent.variant, spec.name, arm.cluster, value, propensity=propensity, reason=reason)

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - deterministic
        """Every arm of every cluster in use."""
        return tuple(r.arm for r in self._rows(self._clusters(frontier, log), frontier, log))

    def _clusters(self, frontier: Sequence[Member], log: Sequence[Pull]) -> Clusters:
        return replay(frontier, log) if self.mends.clusters else together(frontier, log)

    def _rows(self, clusters: Clusters, frontier: Sequence[Member], log: Sequence[Pull]) -> list[_Row]:
        seen = _Seen.of(clusters, log, self.mends)
        surprise = surprises(frontier, log)
        worth = fruitfulness(frontier, log) if self.mends.barren else {}
        fastest = min(m.seconds for m in frontier)
        rows: list[_Row] = []
        for cluster in range(clusters.count):
            members = clusters.members(cluster, frontier)
            if not members:
                continue
            weights = self._weights(members)
            for spec in ARMS:
                factor, why = weights[spec.name]
                able = [m for m in members if spec.name not in m.exhausted]
                prior = self._prior(able, spec.name, fastest, surprise.get(spec.name, 0.0))
                if prior is not None:
                    why = f"{why}; forecast {prior:+.2f}"
                elif able and worth.get(spec.name, 1.0) < 1:
                    factor *= worth[spec.name]
                    why = f"{why}; it had nothing to propose for other parents"
                elif not able:
                    factor, why = 0.0, "exhausted: nothing left to propose"
                behind = log2(min(m.seconds for m in able) / fastest) if able and self.mends.near_best else 0.0
                rows.append(seen.row(cluster, spec.name, prior, factor, why, behind=behind))
        return rows

    def _prior(self, able: Sequence[Member], strategy: str, fastest: float, surprise: float) -> float | None:
        """Expected gain over the best so far by the forecast, log2; None where nothing is compiled."""
        if not self.mends.forecast:
            return None
        gains = [log2(fastest / m.seconds) + TRUST * hope for m in able if (hope := expected(m, strategy)) is not None]
        return max(-CLIP, min(CLIP, max(gains) + surprise)) if gains else None

    def _weights(self, members: Sequence[Member]) -> dict[str, tuple[float, str]]:
        headroom = representative(members).headroom
        if self.mends.soft_mask:
            return {spec.name: weight(spec, headroom) for spec in ARMS}
        return paper.mask(members, headroom)


@frozen
class _Row:
    """An arm, and how often its strategy was seen, in pulls."""

    arm: Arm
    seen: float
    c: float

    def score(self, pulls: int) -> float:
        """weight·(mu + c·sqrt(ln(t + 1) / (n + 1))), an expected loss divided by the weight instead; n counts executed variants, those of
        the strategy in other clusters for a part.
        """
        gain, weight = self.arm.mean_reward, self.arm.weight
        return (gain * weight if gain > 0 else gain / weight) + weight * self.c * sqrt(log(pulls + 1) / (self.seen + 1))


@frozen
class _Seen:
    """Rewards by arm and by strategy, and free failures by strategy."""

    mends: Mends
    own: dict[tuple[int, str], list[float]] = field(factory=dict[tuple[int, str], list[float]])
    pooled: dict[str, list[float]] = field(factory=dict[str, list[float]])
    free: dict[str, int] = field(factory=dict[str, int])

    @classmethod
    def of(cls, clusters: Clusters, pulls: Sequence[Pull], mends: Mends) -> _Seen:
        out = cls(mends)
        for label, pull in zip(clusters.history, pulls, strict=True):
            failed = pull.outcome in ("compile_error", "duplicate")
            if pull.executed or (failed and not mends.batch):
                out.own.setdefault((label, pull.strategy), []).append(pull.reward)
                out.pooled.setdefault(pull.strategy, []).append(pull.reward)
            elif failed:
                out.free[pull.strategy] = out.free.get(pull.strategy, 0) + 1
        return out

    def row(self, cluster: int, strategy: str, prior: float | None, factor: float, why: str, *, behind: float) -> _Row:
        """What the forecast says, where it says something; else a prior and the pulls as one mean, the prior worth one pull, less what the
        cluster is behind the best.
        """
        got, everywhere = self.own.get((cluster, strategy), []), self.pooled.get(strategy, [])
        shared = SHARED if self.mends.sharing else 0.0
        elsewhere = shared * (len(everywhere) - len(got))
        if prior is None:
            good = 1 + len(everywhere)
            start = MU if self.mends.low_exploration else paper.MU
            start *= good / (good + self.free.get(strategy, 0) / 4)  # four free failures weigh as much as one trial
            prior = (start + sum(got) + shared * (sum(everywhere) - sum(got))) / (1 + len(got) + elsewhere) - behind
        arm = Arm(cluster, strategy, pulls=len(got), mean_reward=prior, weight=factor, why=why)
        c = (C if self.mends.low_exploration else paper.C) if self.mends.exploration else 0.0
        return _Row(arm, len(got) + elsewhere, c)


def surprises(frontier: Sequence[Member], log: Sequence[Pull]) -> dict[str, float]:
    """By strategy: how much more was gained than the forecast promised (log2), on average; two pulls as promised are added."""
    by_id = {m.variant: m for m in frontier}
    found: dict[str, list[float]] = {}
    for pull in log:
        if not pull.executed or pull.outcome == "pending" or pull.parent not in by_id:
            continue
        parent, child = by_id[pull.parent], by_id.get(pull.variant) if pull.variant is not None else None
        if child is None or child.forecast <= 0 or parent.forecast <= 0:
            found.setdefault(pull.strategy, []).append(FAILED)
        else:
            promised = TRUST * log2(child.forecast / parent.forecast)
            found.setdefault(pull.strategy, []).append(log2(parent.seconds / child.seconds) - promised)
    return {name: sum(values) / (len(values) + 2) for name, values in found.items()}


def fruitfulness(frontier: Sequence[Member], log: Sequence[Pull]) -> dict[str, float]:
    """By strategy: (1 + f) / (1 + f + b), of f members for which it had something to propose and b for which it had nothing."""
    proposed = {(p.parent, p.strategy) for p in log if p.move}
    out: dict[str, float] = {}
    for spec in ARMS:
        had = sum((m.variant, spec.name) in proposed or spec.name in m.forecasts for m in frontier)
        had_not = sum(spec.name in m.exhausted and (m.variant, spec.name) not in proposed for m in frontier)
        out[spec.name] = (1 + had) / (1 + had + had_not)
    return out


def expected(member: Member, strategy: str) -> float | None:
    """Log2 of what the forecast makes of the parent's speed with its best waiting proposal; None where nothing is compiled."""
    score = member.forecasts.get(strategy)
    return log2(score / member.forecast) if score and score > 0 and member.forecast > 0 else None


def pick_parent(members: Sequence[Member], spec: ArmSpec, rng: np.random.Generator, *, forecast: bool = True) -> tuple[Member, float]:
    """A parent by softmax of headroom/2 + log2(fastest/own time) + what the forecast promises, temperature 0.05: half the speed costs as
    much as all headroom twice.
    """
    fastest = min(m.seconds for m in members)
    hopes = [(expected(m, spec.name) or 0.0) if forecast else 0.0 for m in members]
    pairs = zip(members, hopes, strict=True)
    value = np.array([0.5 * m.headroom.get(spec.target, 0.5) + log2(fastest / m.seconds) + TRUST * hope for m, hope in pairs])
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
