"""What must be known of a call before it is timed: submission, rough device time, whether it waits for the device."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import List

from kernelband_worker.measure.device import Device, Side

LONG_US = 25_000.0  # from here on a call is so long that submission and cache no longer show
SHORTEST_SLEEP_US = 1_000.0  # to detect synchronisation: long against the noise of a host clock


@dataclass(frozen=True)
class Probe:
    """``hidden``: some of the work ran where the events of the current stream don't see it. ``restore_us``: wall time of a restore."""

    host_us: float
    device_us: float
    wall_us: float
    synchronises: bool
    hidden: bool = False
    restore_us: float = 0.0

    @property
    def long(self) -> bool:
        return self.wall_us >= LONG_US


def probe(device: Device, side: Side, wall_us: float) -> Probe:
    """A look at a warmed-up call. ``wall_us`` is its time so far, which decides how often it can be called here."""
    if wall_us >= LONG_US:
        return _probe_long(device, side)
    restore_us = min(_restore_us(device, side) for _ in range(3))
    hosts: List[float] = []
    walls: List[float] = []
    for _ in range(5):
        host, wall = _submission(device, side, 0.0)
        hosts.append(host)
        walls.append(wall)
    host_us = median(hosts)
    # A call that waits for the device takes at least as long as what is in front of it. A hiccup of the host can look so once, not thrice.
    ahead = max(SHORTEST_SLEEP_US, 2.0 * host_us)
    synchronises = all(_submission(device, side, ahead)[0] >= 0.8 * ahead for _ in range(3))
    if synchronises:
        return Probe(host_us, median(walls), median(walls), synchronises=True, restore_us=restore_us)
    device_us = median(_between_events(device, side, 1.5 * max(hosts)) for _ in range(3))
    hidden = min(walls) > 1.5 * (host_us + device_us) + 200.0
    return Probe(host_us, device_us, median(walls), synchronises=False, hidden=hidden, restore_us=restore_us)


def _probe_long(device: Device, side: Side) -> Probe:
    """One call. Submission that takes half of a long call either waits for the device or is what takes the time: wall time both."""
    host_us, wall_us = _submission(device, side, 0.0)
    return Probe(host_us, wall_us, wall_us, synchronises=host_us >= 0.5 * wall_us)


def _restore_us(device: Device, side: Side) -> float:
    device.synchronize()
    start = device.now()
    side.restore()
    device.synchronize()
    return (device.now() - start) * 1e6


def _submission(device: Device, side: Side, ahead_us: float) -> tuple[float, float]:
    side.restore()
    device.synchronize()
    if ahead_us:
        device.sleep(ahead_us)
    start = device.now()
    side.call()
    submitted = device.now()
    device.synchronize()
    return (submitted - start) * 1e6, (device.now() - start) * 1e6


def _between_events(device: Device, side: Side, sleep_us: float) -> float:
    side.restore()
    device.flush()
    device.sleep(sleep_us)
    first = device.mark()
    kept = side.call()
    last = device.mark()
    device.synchronize()
    del kept  # freed after the end was marked
    return device.elapsed_us(first, last)
