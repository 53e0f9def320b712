"""The host's clock in the place of a GPU, so that turns can be rehearsed with real programs: bound as a GPU's is. For tests only."""

from __future__ import annotations

from kernelband_worker.measure import bound
from kernelband_worker.measure.clocks import Snapshot
from kernelband_worker.measure.time import Workbench


class HostDevice:
    """Everything is done when it is called."""

    def now(self):
        return bound.now()

    def synchronize(self):
        pass

    def flush(self):
        pass

    def sleep(self, us):
        pass

    def calibrate(self):
        pass

    def mark(self):
        return bound.now()

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
