"""Stress among timed calls: a finalist of others' making meets each hidden case once, in a turn and at a place of it that dice choose.

A variant that is right only where it is checked, because it notices the check or has patched the comparer there, is wrong here.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from typing import cast

from attrs import define, field

from kernelband.errors import KernelBandError
from kernelband.judge.check import STRESS_S, STRESSES
from kernelband.judge.protocol import Case, Settings, check_deadline
from kernelband.judge.rooms import Room
from kernelband_worker.wire import HiddenCase, HideParams, HideResult, TurnCase

TURN_S = 5.0  # at most that a hidden case adds to a turn: a specialisation that is new in this process


@define
class Hidden:
    """The hidden cases of a final. ``room`` knows the original only; ``turns``: that each finalist takes, so that it meets all cases."""

    room: Room
    turns: int
    dice: random.Random = field(factory=secrets.SystemRandom)
    threads: int = 0  # that the original has once it was called on all of them
    _cases: list[HiddenCase] | None = None  # not yet made
    _left: dict[str, list[HiddenCase]] = field(factory=dict[str, list[HiddenCase]])  # by finalist

    def make(self, cases: Sequence[Case], settings: Settings, lock: str | None, *, shared: bool, alone: bool) -> None:
        """Makes them, unless they are there, of what is checked. Beside others, not ``alone``, that may fail for their sake; an original
        that reads beside its tensors may not stand other sizes, so at last it is done without those.

        Raises:
            KernelBandError: as ``Executor.call``, where it is alone.
        """
        recorded = [c for c in cases if c.get("neighbour_of") is None]
        deadline = settings.start_s + STRESS_S + check_deadline(recorded, STRESSES, settings)
        for sizes in (True, False) if alone else (True,):
            if self._cases is not None:
                return
            params: HideParams = {"cases": [c["id"] for c in cases], "sizes": sizes}
            try:
                found = cast("HideResult", self.room.enter().call("hide", params, deadline, lock, shared=shared))
                self._cases, self.threads = found["cases"], found["threads"]
            except KernelBandError:
                self.room.leave()
                if alone and not sizes:
                    raise

    def deal(self, finalist: str) -> list[HiddenCase]:
        """The cases of its next turn."""
        cases = self._cases or []
        if finalist not in self._left:
            self._left[finalist] = self.dice.sample(cases, len(cases))
        left, count = self._left[finalist], -(-len(cases) // self.turns)
        self._left[finalist] = left[count:]
        return left[:count]

    def among(self, timed: Sequence[TurnCase], dealt: Sequence[HiddenCase]) -> list[TurnCase]:
        """Timed cases with hidden ones somewhere between them, each called once, by a method of theirs."""
        mixed = list(timed)
        how = self.dice.choice(timed)
        for case in dealt:
            hidden: TurnCase = {**how, "case": case["id"], "samples": 1, "batch": 0}
            mixed.insert(self.dice.randrange(len(mixed) + 1), hidden)
        return mixed
