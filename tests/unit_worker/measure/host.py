"""The host's clock in the place of a GPU, so that turns can be rehearsed with real programs. Its times mean nothing. For tests only."""

from __future__ import annotations

import time

from kernelband_worker.measure.clocks import Snapshot
from kernelband_worker.measure.time import Workbench


class HostDevice:
    """Everything is done when it is called."""

    def now(self):
        return time.perf_counter()

    def synchronize(self):
        pass

    def flush(self):
        pass

    def sleep(self, us):
        pass

    def calibrate(self):
        pass

    def mark(self):
        return time.perf_counter()

    def wait(self, mark):
        pass

    def elapsed_us(self, start, end):
        return (end - start) * 1e6

    def compilations(self):
        return 0

    def tunings(self):
        return 0


def bench():
    return Workbench(HostDevice(), Snapshot)
