"""Operation ``time``: original against variant on each case, interleaved; see ``block`` for the order and ``plan`` for the method."""

from __future__ import annotations

import gc
import time as clock
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, cast

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.block import Wish, time_block
from kernelband_worker.measure.clocks import Snapshot, disturbed, watch
from kernelband_worker.measure.device import Side
from kernelband_worker.measure.gpu import memory, require_gpu
from kernelband_worker.measure.share import known_share, measured_share
from kernelband_worker.state import State
from kernelband_worker.wire import Case, CaseTime, TimeParams, TimeResult

PAIRS = 5
WARMUP_S = 0.025


@dataclass
class Workbench:
    """What the executor keeps between calls of ``time``."""

    device: Any
    snapshot: Callable[[], Snapshot]
    shares: Dict[str, Optional[float]] = field(default_factory=dict)


def time(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """TimeParams -> TimeResult.

    Raises:
        OperationFailed: no GPU, out of memory, or a case that never stops compiling.
    """
    require_gpu(state)
    wanted = cast("TimeParams", params)
    if wanted.get("pairs", PAIRS) < 1:
        raise OperationFailed("At least one pair is needed to time a case.", "bad_request")
    bench = workbench(state)
    start = clock.perf_counter()
    with memory(state):
        cases: List[CaseTime] = [_time_case(state, bench, case_id, wanted) for case_id in wanted.get("cases", [])]
    result: TimeResult = {"cases": cases, "seconds": clock.perf_counter() - start}
    return cast("Dict[str, Any]", result)


def _time_case(state: State, bench: Workbench, case_id: str, wanted: TimeParams) -> CaseTime:
    from kernelband_worker.cases.expected import kept_inputs
    from kernelband_worker.cases.replay import open_case
    from kernelband_worker.cases.tuned import settle
    from kernelband_worker.measure.replayed import of_the_program, repeatable, sides

    replay: Any = open_case(state, case_id)
    case: Case = replay.case
    variant = wanted.get("variant")

    def sides_of(input_set: int) -> Dict[str, Side]:
        prepared = kept_inputs(state, replay, input_set)
        return sides(replay, prepared, variant)

    wish = Wish(
        pairs=wanted.get("pairs", PAIRS),
        warmup_s=wanted.get("warmup_s", WARMUP_S),
        input_sets=max(1, case["input_sets"]),
        repeatable=repeatable(case),
    )
    snapshots: List[Snapshot] = []

    def ready() -> None:
        bench.device.calibrate()
        snapshots.append(bench.snapshot())

    try:
        for side in (None, variant):
            settle(state, side)  # nothing is tuned from here on
        with _no_collection():
            timing = time_block(bench.device, sides_of, wish, ready)
            snapshots.append(bench.snapshot())
    except Exception as error:
        known = of_the_program(error, "The original" if variant is None else "Original or variant")
        if known is None:
            raise
        raise known from error
    if case_id not in bench.shares or (bench.shares[case_id] is None and wanted.get("profile", False)):
        share = known_share(case)
        bench.shares[case_id] = measured_share(sides_of(0)["A"], case) if share is None and wanted.get("profile", False) else share
    return {
        "case": case_id,
        "method": timing.plan.method,
        "device": list(timing.device),
        "call": list(timing.call),
        "host_us": timing.original.host_us,
        "target_share": bench.shares[case_id],
        "disturbed": disturbed(snapshots[0], snapshots[-1]),
        "clocks": [s.as_json() for s in snapshots],
    }


def workbench(state: State) -> Workbench:
    """The executor's."""
    if "time" not in state.kept:
        import torch

        from kernelband_worker.measure.cuda import CudaDevice

        uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", None)
        named = None if uuid is None else str(uuid) if str(uuid).startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
        state.kept["time"] = Workbench(CudaDevice(), watch(named))
    return cast("Workbench", state.kept["time"])


@contextmanager
def _no_collection() -> Iterator[None]:
    """The collector's pauses of milliseconds would fall into one side's samples."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
