"""A final before the search is over, of a leader that is worth it: a person has something verified while better is looked for.

It is a final like any other, of one finalist. It goes on beside the search, and takes turns with the trials on the GPU: they wait for some
seconds while it is checked and while its entry runs, compilers don't. There is one in a run. Who is verified in it is in the last final
too, with the others, unless there are no others; the last word counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from attrs import define

from kernelband.errors import KernelBandError
from kernelband.judge.final import final
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import FinalReport, can_work_together
from kernelband.search import finish
from kernelband.search.events import Noted
from kernelband.search.session import Session

STRONG = 1.1  # screening figure of a leader that nobody waits for in vain
SETTLED = 3  # trials before: the forecast's best come first, and one of them may be better still
ROOM = 2.0  # finals that the rest of the search must be longer than
LEAST_BYTES = 30 << 30  # of the GPU's memory: a dozen processes take half a gigabyte each before they have any data (H200)


@define
class EarlyFinal:
    """Of one run. ``expected_s``: what a final of one takes, as far as is known."""

    s: Session
    expected_s: Callable[[], float]
    _number: int | None = None  # of the variant that is in it
    _report: Future[FinalReport] | None = None
    _began: float = 0.0

    def look(self) -> None:
        """Between trials: begin it if there is someone, or write down what it said.

        Raises:
            KernelBandError: the history can't be written.
        """
        if self._report is None:
            if self._number is None and self._worth():
                self._begin()
        elif self._report.done():
            self.conclude()

    def conclude(self) -> None:
        """Write down what it said, once it is over."""
        report, self._report = self._report, None
        if report is None or self._number is None:
            return
        journal = self.s.journal
        try:
            with journal.during("final") if not report.done() else journal.clock.span("commit"):
                found = report.result()
        except KernelBandError as error:
            journal.emit(Noted(f"Variant {self._number} could not be verified while the search went on: {error.message}"))
            return
        finally:
            self.s.builder.seconds["final"] = time.monotonic() - self._began
        finish.conclude(self.s, [self._number], found, early=True)

    def _worth(self) -> bool:
        s = self.s
        leader = s.trials.get(s.leader)
        able = s.lab.measured and not s.policy.failures_cost and not s.finals and len(s.trials) >= SETTLED
        if not able or leader is None or leader.outcome != "faster" or (leader.score or 0.0) < STRONG:
            return False
        # Its processes are there beside the one that measures: a trial must not run out of memory for their sake.
        room = s.lab.device.memory_bytes >= LEAST_BYTES and can_work_together(s.judge.task, s.judge.device, s.judge.settings, 3)
        return room and self._left() > ROOM * self.expected_s()

    def _left(self) -> float:
        """Seconds of search, about."""
        budget = self.s.journal.budget
        trials_s = math.inf if budget.trials is None else (budget.trials - self.s.spent) * self.s.pace
        return min(budget.left, trials_s)

    def _begin(self) -> None:
        s = self.s
        leader = s.trials[s.leader]
        self._number, self._began = leader.number, time.monotonic()
        judge = Judge(s.judge.task, gpu=s.judge.gpu, device=s.judge.device, settings=s.judge.settings)
        judge.shares = dict(s.judge.shares)
        candidate = finish.candidate(s, leader)
        thread = ThreadPoolExecutor(1, thread_name_prefix="early final")
        self._report = thread.submit(final, judge, lambda name: s.lab.fresh(f"early-{name}"), [candidate])
        thread.shutdown(wait=False)  # ends with its work; when the run is cut off, with the worker
