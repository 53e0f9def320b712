"""Which method, how many pairs, how many repeats in a pair: decided from two probes, the same for both sides.

The product promises about a second a trial, so a pair has a budget: short calls are repeated inside it, long ones get fewer pairs.

There are two methods: events, and wall time for calls that events don't see whole. JUDGING's first draft asked for CUPTI or graph replay
under 20 µs; that was measured and replaced. On a quiet H200, four runs of pairs of the same code: calls of 3.4 µs scatter from -4.5 to
+4.7 % by events and from -8.9 to +5.6 % by graph; calls of 5.5 µs from -2.0 to +2.1 % and from -2.5 to +6.5 %, with a bias, since the two
sides are captured at different addresses. With submission hidden behind a sleep, events leave no gap for a graph to close.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence, Tuple

from kernelband_worker.measure.probe import Probe

PAIR_BUDGET_US = 3_000.0
CASE_BUDGET_US = 3_000_000.0
MOST_QUADS = 12
FEWEST_PAIRS = 3
OVERHEAD_US = 40.0  # of a sample: events, synchronisation, Python
BATCH_US = 2_000.0  # a batch of calls for the call time lasts at least this long
MOST_IN_BATCH = 100


@dataclass(frozen=True)
class Plan:
    """``quads``: ABBA rounds in one pair; 0: a pair is one call of each side, AB and BA in turn.

    ``joint``: device and call time come from the same call. ``batch``: calls between two synchronisations for the call time.
    """

    method: str
    pairs: int
    quads: int
    joint: bool
    sleep_us: float
    batch: int


def choose_method(original: Probe, variant: Probe) -> str:
    """``wall`` if either side waits for the device or works where events don't see it, else ``events``."""
    if any(p.synchronises or p.hidden for p in (original, variant)):
        return "wall"
    return "events"


def make_plan(method: str, pairs: int, both: Tuple[Probe, Probe], *, flush_us: float, repeatable: bool) -> Plan:
    """The schedule of a case.

    Args:
        method: from ``choose_method``.
        pairs: how many were asked for.
        both: probes of original and variant.
        flush_us: device time of a flush.
        repeatable: calls may follow each other without their inputs being restored.
    """
    joint = any(p.long for p in both)
    sleep_us = 0.0 if method == "wall" or joint else 1.5 * max(p.host_us for p in both)
    wall = method == "wall" or joint
    call_us = sum(max(p.wall_us, p.device_us) if wall else p.device_us for p in both) / 2
    cost_us = max(p.restore_us for p in both) + flush_us + sleep_us + call_us + OVERHEAD_US
    if joint:
        fitting = max(FEWEST_PAIRS, int(CASE_BUDGET_US / (2 * cost_us)))
        return Plan(method, min(pairs, fitting), 0, True, sleep_us, 1)
    quads = min(MOST_QUADS, max(1, int(PAIR_BUDGET_US / (4 * cost_us))))
    batch = batch_size([max(p.host_us, min(p.device_us, p.wall_us)) for p in both]) if repeatable else 1
    return Plan(method, pairs, quads, False, sleep_us, batch)


def batch_size(call_us: Sequence[float]) -> int:
    """Calls that together last about 2 ms, the same number for both sides."""
    return min(MOST_IN_BATCH, max(1, math.ceil(BATCH_US / max(1.0, min(call_us)))))
