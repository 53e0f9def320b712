"""Rules that policies are compared with on recorded landscapes, and that no search offers."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from attrs import evolve, frozen

from kernelband.search._base import ARMS, Arm, Choice, Member, Policy, Pull
from kernelband.search.policies import make_policy
from kernelband.search.policies.kernelband import KernelBand
from kernelband.search.policies.mends import Mends

UNPROFILED = "-unprofiled"
BELIEFS = (0.25, 0.5, 0.75, 1.0, 1.5)  # that a tuned greedy is chosen from
TUNED = "greedy-tuned"
LEAN = "kernelband-lean"
#: What is left of the default where neither clusters nor exploration, nor what limits a variant, nor two of its own parts decide.
LEFT = Mends(sharing=False, barren=False, clusters=False, exploration=False)


@frozen
class RoundRobin:
    """Strategies in turns, whatever came of them: the parent and the proposal that the forecast likes most."""

    name: str = "round-robin"
    proposals: int = 16
    failures_cost: bool = False

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:  # noqa: ARG002 - no draws
        """The open strategy that was executed least often, the earliest of equals."""
        executed = [p.strategy for p in log if p.executed]
        able = {a.name: [m for m in frontier if a.name not in m.exhausted] for a in ARMS}
        open_ = [a.name for a in ARMS if able[a.name]]
        if not open_:
            return None
        strategy = min(open_, key=executed.count)
        parent = max(able[strategy], key=lambda m: promise(m, strategy, 1.0))
        return Choice(parent.variant, strategy, reason="its turn")

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - nothing to show
        return ()


@frozen
class Believer:
    """``greedy`` with a number: how much of what a forecast promises is believed."""

    belief: float
    proposals: int = 16
    failures_cost: bool = False

    @property
    def name(self) -> str:
        return f"greedy-{self.belief:g}"

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:  # noqa: ARG002 - no memory
        """The arm that promises most; ties go to the earliest parent and arm."""
        open_ = [(m, a.name) for m in frontier for a in ARMS if a.name not in m.exhausted]
        if not open_:
            return None
        parent, strategy = max(open_, key=lambda arm: promise(*arm, self.belief))
        return Choice(parent.variant, strategy, reason="what the forecast promises, in part")

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:  # noqa: ARG002 - nothing to show
        return ()


@frozen
class Unprofiled:
    """A policy that is told nothing of what limits a variant."""

    policy: Policy

    @property
    def name(self) -> str:
        return self.policy.name + UNPROFILED

    @property
    def proposals(self) -> int:
        return self.policy.proposals

    @property
    def failures_cost(self) -> bool:
        return self.policy.failures_cost

    def ask(self, step: int, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> Choice | None:
        return self.policy.ask(step, blind(frontier), log, seed)

    def arms(self, frontier: tuple[Member, ...], log: tuple[Pull, ...], seed: int) -> tuple[Arm, ...]:
        return self.policy.arms(blind(frontier), log, seed)


def blind(frontier: Sequence[Member]) -> tuple[Member, ...]:
    """The members without headroom."""
    return tuple(evolve(m, headroom={}) for m in frontier)


def promise(member: Member, strategy: str, belief: float) -> float:
    """Log2 of the speed that is expected of the member's best waiting proposal, up to a constant; an arm of which nothing is compiled is
    taken to change nothing.
    """
    score = member.forecasts.get(strategy, member.forecast)
    hope = log2(score / member.forecast) if score > 0 and member.forecast > 0 else -10.0
    return belief * hope - log2(member.seconds)


def opponent(name: str) -> Policy:
    """A policy of the search's by its name, ``round-robin``, ``greedy-BELIEF``, ``kernelband-lean``, or any with ``-unprofiled`` behind it.

    Raises:
        UsageError: there is none of that name.
    """
    if name.endswith(UNPROFILED):
        return Unprofiled(opponent(name.removesuffix(UNPROFILED)))
    if name == LEAN:
        return Unprofiled(KernelBand(LEFT, LEAN))
    if name == "round-robin":
        return RoundRobin()
    belief = next((b for b in BELIEFS if name == f"greedy-{b:g}"), None)
    return make_policy(name) if belief is None else Believer(belief)
