"""How much may still be spent, and a clock that says on what it went."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager

from attrs import define, field

from kernelband.errors import UsageError

DEFAULT_SECONDS = 60.0  # a person's patience

#: Where seconds go; what no span claims is ``other``.
SPANS = (
    "start",
    "capture",
    "baseline",
    "propose",
    "specialise",
    "compile",
    "check",
    "time",
    "profile",
    "commit",
    "final",
    "waiting",
    "other",
)

#: Spans until the first trial could run: seconds are counted from there.
PREPARATION = ("start", "capture", "baseline")


@define
class Budget:
    """By trials or seconds, whichever ends first; both None is not allowed. Seconds are those of the search: what ``clock`` counts as
    preparation isn't part of them.

    Args:
        trials: at most so many.
        seconds: at most so many; infinity is no limit.
        used: the seconds of earlier processes of the run, and those that the command took before.
        clock: of the run.
        now: the time, in seconds.

    Raises:
        UsageError: nothing could be done with it.
    """

    trials: int | None
    seconds: float | None
    used: float = 0.0
    clock: PhaseClock | None = field(default=None, repr=False)
    now: Callable[[], float] = time.monotonic
    _start: float = field(init=False, default=0.0)

    def __attrs_post_init__(self) -> None:
        if self.trials is not None and self.trials < 1:
            raise UsageError(f"A budget of {self.trials} trials allows nothing to be tried: give --trials 1 or more.")
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError(f"A budget of {self.seconds:g} seconds allows nothing to be tried: give --seconds more than 0.")
        if self.seconds is not None and self.seconds == float("inf"):
            self.seconds = None
        if self.trials is None and self.seconds is None:
            self.seconds = DEFAULT_SECONDS
        self._start = self.now()

    @property
    def elapsed(self) -> float:
        """Seconds spent on the run, those before a resume included."""
        return self.used + self.now() - self._start

    @property
    def left(self) -> float:
        """Seconds left for the search; infinite when only trials are counted."""
        prepared = self.clock.spent(PREPARATION) if self.clock is not None else 0.0
        return float("inf") if self.seconds is None else self.seconds - (self.elapsed - prepared)

    def allows(self, trials_done: int, reserve: float = 0.0) -> bool:
        """Whether another trial may begin; ``reserve`` are the seconds that the final needs."""
        return (self.trials is None or trials_done < self.trials) and self.left > reserve

    def spare(self, trials_done: int, per_trial: float, reserve: float = 0.0) -> float:
        """Seconds by which each trial that is left could take longer; 0 where the clock ends the run, infinite where only trials do."""
        if self.trials is None:
            return 0.0
        count = max(self.trials - trials_done, 1)
        return max(0.0, (self.left - reserve) / count - per_trial)


@define
class PhaseClock:
    """Seconds of wall time by what the run waited for; nested spans count for the inner one only."""

    seconds: dict[str, float] = field(factory=dict[str, float])
    now: Callable[[], float] = time.monotonic
    _stack: list[str] = field(init=False, factory=list[str])
    _since: float = field(init=False, default=0.0)

    def __attrs_post_init__(self) -> None:
        self._since = self.now()

    @contextmanager
    def span(self, name: str) -> Generator[None, None, None]:
        """Count what happens inside under ``name``."""
        self._settle()
        self._stack.append(name)
        try:
            yield
        finally:
            self._settle()
            self._stack.pop()

    def spent(self, names: Collection[str]) -> float:
        """Seconds on spans of these names up to now; for any thread."""
        running = self.now() - self._since if self._stack and self._stack[-1] in names else 0.0
        return sum(self.seconds.get(name, 0.0) for name in names) + running

    def snapshot(self) -> dict[str, float]:
        """Seconds by span up to now, rounded to milliseconds, in a fixed order."""
        self._settle()
        return {k: round(self.seconds[k], 3) for k in (*SPANS, *sorted(set(self.seconds) - set(SPANS))) if self.seconds.get(k)}

    def _settle(self) -> None:
        now = self.now()
        name = self._stack[-1] if self._stack else "other"
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now
