"""Whether the device waits for the compilers, and for how long it may."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from attrs import define

#: Seconds without news from the compilers after which the device gets what is ready.
STALL_S = 3.0
#: Seconds that the device waits at least for better than what is ready: about as long as a trial takes.
BRIEF_S = 1.0


@define
class Demand:
    """Told by the thread that has the device, asked by the one that compiles for it."""

    _until: float = float("inf")

    @contextmanager
    def waiting(self, patience: float) -> Generator[None, None, None]:
        """The device has nothing to do, and ``patience`` seconds to spare."""
        self._until = time.monotonic() + min(STALL_S, max(BRIEF_S, patience))
        try:
            yield
        finally:
            self._until = float("inf")

    @property
    def urgent(self) -> bool:
        """The device has waited long enough."""
        return time.monotonic() >= self._until
