"""The user's own entry, run with each winner in the place of the original: its asserts have the last word."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from attrs import evolve, frozen

from kernelband.errors import KernelBandError
from kernelband.judge.entry import run_entry
from kernelband.judge.finalist import Finalist
from kernelband.judge.judge import Judge
from kernelband.judge.result import Result
from kernelband.judge.rooms import Crew


def must_prove(judge: Judge, finalist: Finalist) -> bool:
    """Whether there is an entry for it to pass."""
    return judge.task.entry is not None and finalist.candidate.files is not None


def _also(result: Result, sentence: str) -> Result:
    return evolve(result, reason=f"{result.reason} {sentence}".strip())


@frozen
class Proofs:
    """Those of one final."""

    judge: Judge
    finalists: Sequence[Finalist]

    def prove(self, crew: Crew, beside: Sequence[Callable[[], object]]) -> None:
        """What the entry refuses, and the original passes, isn't verified. ``beside``: what goes on meanwhile."""
        winners = [f for f in self.finalists if f.result is not None and f.result.performance == "faster" and must_prove(self.judge, f)]
        again: list[Finalist] = []
        crew.together([*beside, *(partial(self._prove, f, again) for f in winners)])
        for finalist in again:
            self._prove(finalist, None)
        refused = [f for f in winners if f.refused is not None]
        if refused:
            self._conclude(refused)

    def _conclude(self, refused: Sequence[Finalist]) -> None:
        """An entry that the original doesn't pass either says nothing of a variant: one that is too slow, or fails here anyway."""
        entry, room = self.judge.task.entry, refused[0].proof
        assert entry is not None
        try:
            passes = run_entry(room.enter(), None, self.judge.task, self.judge.settings, self.judge.gpu).passes
        except KernelBandError as error:
            self.judge.faulty(error, checked=True)  # raises what is nobody's
            passes = False
        finally:
            room.leave()
        for finalist in refused:
            assert finalist.result is not None
            told = _also(finalist.result, f"Not proven by {entry['name']}, which the original doesn't pass here either.")
            finalist.result = finalist.refused if passes else told

    def _prove(self, finalist: Finalist, again: list[Finalist] | None) -> None:
        """A winner that the user's own asserts refuse isn't one. Beside others it may run out of memory for their sake: ``again`` then."""
        assert finalist.result is not None
        start = time.monotonic()
        try:
            executor = finalist.proof.enter()
            variant = finalist.candidate.variant
            said = run_entry(executor, variant, self.judge.task, self.judge.settings, self.judge.gpu, shared=again is not None)
            if not said.passes:
                finalist.refused = evolve(finalist.result, correctness="wrong", reason=said.sentence)
            else:
                finalist.result = _also(finalist.result, said.sentence)
        except KernelBandError as error:
            fault = self.judge.faulty(error, checked=True).fault
            if fault == "oom" and again is not None:
                again.append(finalist)
            else:
                finalist.refused = evolve(finalist.result, fault=fault, reason=error.message)
        finally:
            finalist.proof.leave()
            finalist.seconds += time.monotonic() - start
