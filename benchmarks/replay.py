"""Runs a policy on a recorded landscape: no GPU, no compiler, some milliseconds. Frontier, log, duplicates and order are the loop's.

What a policy is told is drawn anew: each case's log-ratio from a normal distribution around the recorded one, as wide as its recorded
interval says, and the verdict follows from what was drawn. What a run is worth is the recorded ratio of the variant that it would return,
the one that looked fastest to it.

A policy of one proposal for each choice meets an arm's children in the author's order. One that compiles many at once meets those of a
batch in the order of the forecast, knows beforehand what the forecast says of the arms of every new leader, and pays nothing for what
doesn't compile or is known already. A parent whose children were not recorded counts as exhausted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from statistics import fmean

import numpy as np
from attrs import define, evolve, field
from recorded import CORRECT, UNMEASURED, Landscape, Node

from kernelband.search._base import ARMS, Choice, Member, Policy, Pull
from kernelband.search.frontier import reward, reward_paper
from kernelband.search.preparer import Ordering

MARGIN = log(1.02)  # a difference below 2 % is not called one (judge.statistics)
NORMAL = 1.96  # half-widths of 95 % intervals over standard errors
ENOUGH = 4  # as the preparer: new proposals while fewer wait
AHEAD = 4  # proposals that are compiled for each arm of a new leader; of the original's, a whole batch
MOST_STEPS = 40  # choices for each trial: a policy that asks for nothing but empty arms is stopped

Arm = tuple[int, str]


@define
class Replay:
    """One run. ``curve``: recorded log-ratio of what would be returned after each trial."""

    landscape: Landscape
    policy: Policy
    seed: int
    trials: int = 20
    log: list[Pull] = field(factory=list[Pull])
    curve: list[float] = field(factory=list[float])
    _frontier: dict[int, Member] = field(factory=dict[int, Member])
    _means: dict[int, float] = field(factory=dict[int, float])
    _exhausted: set[Arm] = field(factory=set[Arm])
    _left: dict[Arm, list[Node]] = field(factory=dict[Arm, list[Node]])
    _waiting: dict[Arm, list[Node]] = field(factory=dict[Arm, list[Node]])
    _known: set[int] = field(factory=lambda: {0})
    _ordering: Ordering = field(factory=Ordering)
    _faster: dict[int, float] = field(factory=dict[int, float])  # observed log-ratio of what was called faster

    def run(self) -> tuple[float, ...]:
        """Until the trials are used up or nothing is left; the curve, filled up to its full length."""
        self._left = {arm: list(found) for arm, found in self.landscape.children.items()}
        self._start()
        step = 0
        while len(self.curve) < self.trials and step < MOST_STEPS * self.trials:
            choice = self.policy.ask(step, self._members(), tuple(self.log), self.seed)
            if choice is None:
                break
            self._pull(step, choice)
            step += 1
        self.curve += [self._value()] * (self.trials - len(self.curve))
        return tuple(self.curve)

    # ------------------------------------------------------------ one choice

    def _pull(self, step: int, choice: Choice) -> None:
        arm = choice.parent, choice.strategy
        node = self._one(step, choice) if self.policy.proposals == 1 else self._best_of_many(step, choice)
        if node is None:
            if not self._left.get(arm) and not self._waiting.get(arm):
                self._exhausted.add(arm)
                self._tell(step, choice, None, "nothing_left")
            return
        self._execute(step, choice, node)

    def _one(self, step: int, choice: Choice) -> Node | None:
        """The author's next. A failure to compile is told, and paid for if the policy pays for such things."""
        left = self._left.get((choice.parent, choice.strategy), [])
        if not left:
            return None
        node = left.pop(0)
        free = self._free(node)
        if not free:
            self._known.add(self._actual(node).id)
            return node
        self._tell(step, choice, node, free)
        if self.policy.failures_cost:
            self.curve.append(self._value())
        return None

    def _best_of_many(self, step: int, choice: Choice) -> Node | None:
        arm = choice.parent, choice.strategy
        waiting = self._waiting.setdefault(arm, [])
        while len(waiting) < ENOUGH and self._left.get(arm):
            for node, outcome in self._compile(arm, self.policy.proposals):
                self._tell(step, choice, node, outcome)
        if not waiting:
            return None
        node = min(waiting, key=lambda n: self._ordering.rank(n.strategy, n.move, n.key, self._actual(n).forecast))
        waiting.remove(node)
        return node

    def _compile(self, arm: Arm, limit: int) -> list[tuple[Node, str]]:
        """The next proposals of an arm; what failed for free comes back."""
        left = self._left.get(arm, [])
        batch, self._left[arm] = left[:limit], left[limit:]
        dropped: list[tuple[Node, str]] = []
        for node in batch:
            free = self._free(node)
            if free:
                dropped.append((node, free))
            else:
                self._known.add(self._actual(node).id)
                self._waiting.setdefault(arm, []).append(node)
        return dropped

    def _actual(self, node: Node) -> Node:
        """The node that carries the figures of this program."""
        return node if node.same_as is None else self.landscape.nodes[node.same_as]

    def _free(self, node: Node) -> str:
        actual = self._actual(node)
        if actual.outcome == "compile_error" or (actual.outcome == "oom" and not actual.identity):
            return "compile_error"
        return "duplicate" if actual.id in self._known or actual.outcome == UNMEASURED else ""

    # ------------------------------------------------------------ execute

    def _execute(self, step: int, choice: Choice, node: Node) -> None:
        actual = self._actual(node)
        before = min(self._frontier.values(), key=lambda m: (m.seconds, m.variant))
        outcome, logs = self._judge(actual)
        gain = paper = 0.0
        if outcome in CORRECT and logs:
            observed = fmean(logs.values())
            member = self._member(actual, observed)
            mean = self._mean(actual, logs)
            gain = reward(before.seconds, member.seconds, counts=outcome == "faster")
            paper = reward_paper(self._means[choice.parent], mean)
            self._frontier[actual.id], self._means[actual.id] = member, mean
            if outcome == "faster":
                self._faster[actual.id] = observed
        self._tell(step, choice, node, outcome, executed=True, reward=gain, paper=paper, variant=actual.id)
        self.curve.append(self._value())
        if actual.id in self._frontier and self._leader() == actual.id:
            self._look_ahead(actual.id, AHEAD)

    def _judge(self, node: Node) -> tuple[str, dict[str, float]]:
        """What screening says this time, and the log-ratio that it saw for each case."""
        if node.outcome not in CORRECT or not node.cases:
            return node.outcome, {}
        rng = np.random.default_rng([self.seed, node.id, 77])
        logs: dict[str, float] = {}
        errors: list[float] = []
        for case, recorded in node.cases.items():
            centre, reach, _ = recorded.of(self.landscape.objective)
            error = (reach or 0.0) / NORMAL
            errors.append(error)
            logs[case] = float(rng.normal(centre, error))
        observed, reach = fmean(logs.values()), NORMAL * sum(e * e for e in errors) ** 0.5 / len(errors)
        if observed + reach < -MARGIN:
            return "slower", logs
        if observed - reach <= MARGIN:
            return "inconclusive", logs
        lost = node.outcome == "inconclusive" and self.landscape.log(node) - reach > MARGIN  # for its call time: that would not change
        return "inconclusive" if lost else "faster", logs

    def _mean(self, node: Node, logs: Mapping[str, float]) -> float:
        """Arithmetic mean over cases of the time that was drawn, in microseconds."""
        recorded = {case: node.cases[case].of(self.landscape.objective) for case in logs}
        return fmean(us * exp(centre - logs[case]) for case, (centre, _, us) in recorded.items())

    # ------------------------------------------------------------ what the policy sees

    def _start(self) -> None:
        original = self.landscape.nodes[0]
        times = self.landscape.original_us
        seconds = exp(fmean(log(t) for t in times.values())) * 1e-6
        self._frontier[0] = Member(0, seconds, original.features, original.headroom)
        self._means[0] = fmean(times.values())
        self._look_ahead(0, self.policy.proposals)

    def _member(self, node: Node, observed: float) -> Member:
        seconds = self._frontier[0].seconds / exp(observed)
        return Member(node.id, seconds, node.features, node.headroom, forecast=node.forecast if node.forecast else 1.0)

    def _members(self) -> tuple[Member, ...]:
        out: list[Member] = []
        for member in self._frontier.values():
            arms = [(member.variant, a.name) for a in ARMS]
            gone = frozenset(arm[1] for arm in arms if arm in self._exhausted)
            forecasts = {arm[1]: self._forecast(arm) for arm in arms if self._waiting.get(arm)}
            out.append(evolve(member, exhausted=gone, forecasts=forecasts))
        return tuple(out)

    def _forecast(self, arm: Arm) -> float:
        return max(f if (f := self._actual(n).forecast) is not None else 1.0 for n in self._waiting[arm])

    def _look_ahead(self, parent: int, limit: int) -> None:
        """Compile for every arm of a new leader, and let those that are empty leave the game."""
        if self.policy.proposals == 1:
            return
        for spec in ARMS:
            arm = parent, spec.name
            if not self._waiting.get(arm):
                for node, outcome in self._compile(arm, limit):
                    self._ordering.learn(node.strategy, node.move, node.key, outcome)
            if not self._left.get(arm) and not self._waiting.get(arm):
                self._exhausted.add(arm)

    def _leader(self) -> int:
        return min(self._frontier.values(), key=lambda m: (m.seconds, m.variant)).variant

    def _value(self) -> float:
        """Recorded log-ratio of what looked fastest; 0, the original, while nothing was called faster."""
        if not self._faster:
            return 0.0
        best = max(self._faster, key=lambda v: self._faster[v])
        return self.landscape.log(self.landscape.nodes[best])

    def _tell(
        self,
        step: int,
        choice: Choice,
        node: Node | None,
        outcome: str,
        *,
        executed: bool = False,
        reward: float = 0.0,
        paper: float = 0.0,
        variant: int | None = None,
    ) -> None:
        move = node.move if node is not None else ""
        self.log.append(
            Pull(step, choice.parent, choice.strategy, variant, executed, paper, reward, outcome, move, self._leader(), choice.propensity)
        )
        if node is not None:
            self._ordering.learn(node.strategy, node.move, node.key, outcome)


def curves(landscape: Landscape, policy: Policy, seeds: Sequence[int], trials: int = 20) -> list[tuple[float, ...]]:
    """Recorded log-ratio after each trial, for each seed."""
    return [Replay(landscape, policy, seed, trials).run() for seed in seeds]
