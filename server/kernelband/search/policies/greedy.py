"""``greedy``: no bandit. The parent and strategy whose best compiled proposal the forecast likes most; what learning from rewards adds
shows against it.
"""

from __future__ import annotations

from math import log2

from attrs import frozen

from kernelband.search._base import ARMS, Arm, Choice, Member, Pull


@frozen
class Greedy:
    """All proposals compiled, the forecast's best executed. An arm of which nothing is compiled yet is taken to change nothing."""

    name: str = "greedy"
    proposals: int = 16
    failures_cost: bool = False

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:  # noqa: ARG002 - no memory
        """The highest product of the parent's measured speed and what the forecast makes of it; ties go to the earliest parent and arm."""
        open_ = [(m, a.name) for m in frontier for a in ARMS if a.name not in m.exhausted]
        if not open_:
            return None
        fastest = min(m.seconds for m in frontier)
        parent, strategy = max(open_, key=lambda arm: promise(*arm, fastest))
        value = promise(parent, strategy, fastest)
        known = "by the forecast" if strategy in parent.forecasts else "nothing compiled yet"
        return Choice(parent.variant, strategy, score=value, reason=f"{strategy}: {2**value:.2f}× of the best so far, {known}")

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - no memory
        """Pulls and mean rewards of the strategies, and the forecast of each."""
        fastest = min(m.seconds for m in frontier)
        rows: list[Arm] = []
        for arm in ARMS:
            rewards = [p.reward for p in log if p.strategy == arm.name and p.executed]
            able = [m for m in frontier if arm.name not in m.exhausted]
            mean = sum(rewards) / len(rewards) if rewards else 0.0
            best = max((promise(m, arm.name, fastest) for m in able), default=0.0)
            why = f"{2**best:.2f}× of the best so far by the forecast" if able else "exhausted: nothing left to propose"
            rows.append(Arm(0, arm.name, pulls=len(rewards), mean_reward=mean, weight=float(bool(able)), why=why))
        return tuple(rows)


def promise(member: Member, strategy: str, fastest: float) -> float:
    """Log2 of the speed that the forecast expects, over that of the best so far."""
    score = member.forecasts.get(strategy, member.forecast)
    hope = log2(score / member.forecast) if score > 0 and member.forecast > 0 else -10.0
    return log2(fastest / member.seconds) + hope
