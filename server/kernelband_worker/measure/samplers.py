"""One sample: the device time of a call by events or the host clock, and its call time.

Restoring mutated inputs and flushing stand outside of what is timed, on both sides alike.
"""

from __future__ import annotations

from typing import Callable, Dict, Tuple

from kernelband_worker.measure.device import Device, Side

Sampler = Callable[[str], float]
MOST_TRIES = 3


class EventSampler:
    """Flush, sleep while the call is submitted, event, call, event.

    A submission that outlasted its sleep left gaps on the device: the sample is taken again with twice the sleep, which both sides keep.
    """

    def __init__(self, device: Device, sides: Dict[str, Side], sleep_us: float) -> None:
        self.device = device
        self.sides = sides
        self.sleep_us = sleep_us

    def __call__(self, letter: str) -> float:
        device, side = self.device, self.sides[letter]
        elapsed_us = 0.0
        for _ in range(MOST_TRIES):
            side.restore()
            device.flush()
            device.sleep(self.sleep_us)
            start = device.now()
            first = device.mark()
            kept = side.call()
            last = device.mark()
            submitted_us = (device.now() - start) * 1e6
            device.synchronize()
            del kept  # freed after the end was marked
            elapsed_us = device.elapsed_us(first, last)
            if submitted_us <= self.sleep_us:
                break
            self.sleep_us = 2.0 * submitted_us
        return elapsed_us


class WallSampler:
    """Host clock from an idle device to an idle device: for calls that wait for the device themselves."""

    def __init__(self, device: Device, sides: Dict[str, Side]) -> None:
        self.device = device
        self.sides = sides

    def __call__(self, letter: str) -> float:
        device, side = self.device, self.sides[letter]
        side.restore()
        device.flush()
        device.synchronize()
        start = device.now()
        side.call()
        device.synchronize()
        return (device.now() - start) * 1e6


class BatchSampler:
    """Call time: calls after each other without flush or synchronisation in between, over their number.

    With ``size`` 1 (inputs that must be restored before each call) it is one call from an idle device to an idle device.
    """

    def __init__(self, device: Device, sides: Dict[str, Side], size: int) -> None:
        self.device = device
        self.sides = sides
        self.size = size

    def __call__(self, letter: str) -> float:
        device, side = self.device, self.sides[letter]
        side.restore()
        device.synchronize()
        start = device.now()
        for _ in range(self.size):
            side.call()
        device.synchronize()
        return (device.now() - start) * 1e6 / self.size


class JointSampler:
    """Both times of a long call from one call, the device time between events unless ``wall``."""

    def __init__(self, device: Device, sides: Dict[str, Side], wall: bool) -> None:
        self.device = device
        self.sides = sides
        self.wall = wall

    def __call__(self, letter: str) -> Tuple[float, float]:
        device, side = self.device, self.sides[letter]
        side.restore()
        device.flush()
        device.synchronize()
        start = device.now()
        first = device.mark()
        kept = side.call()
        last = device.mark()
        device.synchronize()
        wall_us = (device.now() - start) * 1e6
        del kept
        return (wall_us if self.wall else device.elapsed_us(first, last)), wall_us
