"""Operation ``prepare``: what the first timed call of a process would wait for, done before anything is measured anywhere on the GPU.

While one process measures, the others must leave the GPU alone; so all of them prepare at once, and then take their turns.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, cast

from kernelband_worker.measure.gpu import memory, require_gpu
from kernelband_worker.measure.inputs import input_sets
from kernelband_worker.measure.time import Workbench, workbench
from kernelband_worker.state import State
from kernelband_worker.wire import PrepareParams


def prepare(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """PrepareParams -> {}. When it answers, the GPU is idle.

    Raises:
        OperationFailed: no GPU, out of memory, or original or variant fail.
    """
    require_gpu(state)
    import torch

    wanted = cast("PrepareParams", params)
    with memory(state):
        input_sets(state, wanted.get("share"))  # also makes the context
        cases = wanted.get("cases", [])
        if cases:
            bench = workbench(state)
            bench.device.flush()
            bench.device.calibrate()
            for case_id in cases:
                _prepare_case(state, bench, case_id, wanted.get("variant"))
        torch.cuda.synchronize()
    return {}


def _prepare_case(state: State, bench: Workbench, case_id: str, variant: Optional[str]) -> None:
    """Call both sides once on each input set that there is room to keep: other addresses can mean other specialisations."""
    from kernelband_worker.cases.expected import kept_inputs
    from kernelband_worker.cases.replay import open_case
    from kernelband_worker.cases.tuned import settle
    from kernelband_worker.measure.replayed import of_the_program, sides

    replay: Any = open_case(state, case_id)
    kept = input_sets(state)
    try:
        for side in (None, variant):
            settle(state, side)
        for input_set in range(max(1, replay.case["input_sets"])):
            if input_set and not kept.has_room(case_id, input_set, replay.case["memory_bytes"]):
                return
            for side in sides(replay, kept_inputs(state, replay, input_set), variant).values():
                side.restore()
                side.call()
                bench.device.synchronize()  # an error belongs to the side that made it
    except Exception as error:
        known = of_the_program(error, variant)
        if known is None:
            raise
        raise known from error
