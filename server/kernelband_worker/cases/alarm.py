"""When an entry is interrupted."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import Any, Callable, Iterator, Optional

from kernelband_worker import held
from kernelband_worker.cases.recording import StopCapture

_LOOK_S = 0.2  # how often it is asked whether something was seen


class Alarm:
    """Raises StopCapture in the main thread: ``seconds`` after it is set, those of ``importing`` left aside, but after ``at_most`` of any
    kind; from ``enough_s`` on as soon as something was ``seen``; and never while the recorder is ``busy`` or the language ``held``. On
    Windows and other threads the executor's deadline must do.
    """

    def __init__(
        self,
        seconds: float,
        *,
        at_most: Optional[float] = None,
        enough_s: Optional[float] = None,
        seen: Callable[[], bool] = lambda: True,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        now = time.monotonic()
        self._end, self._last = now + seconds, now + max(seconds, at_most or 0.0)
        self._first = min(seconds, seconds if enough_s is None else enough_s)
        self._seen, self._busy = seen, busy
        self._importing = False
        self.rang = False

    @contextlib.contextmanager
    def importing(self) -> Iterator[None]:
        """Around what the entry needs before it can be called."""
        if self._importing:
            yield
            return
        begin, self._importing = time.monotonic(), True
        try:
            yield
        finally:
            self._importing = False
            self._end = min(self._end + time.monotonic() - begin, self._last)

    @contextlib.contextmanager
    def set(self) -> Iterator[None]:
        """Inside it may ring."""
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, max(self._first, 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _ring(self, *_: Any) -> None:
        left = (self._last if self._importing else self._end) - time.monotonic()
        if not self._busy() and not held.language and (left <= 0 or self._seen()):
            self.rang = True
            raise StopCapture("time")
        signal.setitimer(signal.ITIMER_REAL, _LOOK_S if left <= 0 else min(left, _LOOK_S))
