"""Calls until nothing compiles any more and the clocks are up."""

from __future__ import annotations

from typing import List, Sequence

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.device import Device, Side

QUIET_CALLS = 3
PATIENCE_S = 1.0  # of a long call one quiet call is enough
MOST_ROUNDS = 400  # 25 ms of calls that take 60 µs; a call that still compiles then compiles for ever


def warm_up(device: Device, sides: Sequence[Side], seconds: float) -> List[float]:
    """Calls the sides in turn until three rounds in a row compiled nothing and ``seconds`` went by.

    Returns:
        Wall time of each side's last call with a synchronisation after it, in microseconds.

    Raises:
        OperationFailed: it never stops compiling.
    """
    begin = device.now()
    quiet, rounds, seen = 0, 0, device.compilations()
    last = [0.0] * len(sides)
    while True:
        for i, side in enumerate(sides):
            side.restore()
            device.synchronize()
            start = device.now()
            side.call()
            device.synchronize()
            last[i] = (device.now() - start) * 1e6
        rounds += 1
        now_seen = device.compilations()
        quiet = quiet + 1 if now_seen == seen else 0
        seen = now_seen
        spent = device.now() - begin
        if quiet and ((quiet >= QUIET_CALLS and spent >= seconds) or spent >= max(PATIENCE_S, seconds)):
            return last
        if quiet == 0 and rounds >= MOST_ROUNDS:
            raise OperationFailed(
                f"It can't be timed: after {rounds} calls every call still compiles a kernel anew. "
                "Mark arguments that change with each call with do_not_specialize.",
                "unsupported",
            )
