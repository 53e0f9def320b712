"""Operation ``prepare``: what the first timed call of a process would wait for, done before anything is measured anywhere on the GPU.

While one process measures, the others must leave the GPU alone; so all of them prepare at once, and then take their turns.
"""

from __future__ import annotations

from typing import Any, Dict, cast

from kernelband_worker.cases.replay import open_case
from kernelband_worker.measure.gpu import memory, require_clock
from kernelband_worker.measure.inputs import input_sets
from kernelband_worker.measure.time import workbench
from kernelband_worker.state import State
from kernelband_worker.wire import PrepareParams


def prepare(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """PrepareParams -> {}. When it answers, the GPU is idle. Without cases it comes before any of the user's code: it binds the clock.

    Raises:
        OperationFailed: no GPU, out of memory, or the version fails, while it is imported or called.
    """
    require_clock(state)
    wanted = cast("PrepareParams", params)
    if wanted.get("release"):
        _release(state)
    with memory(state):
        if "share" in wanted:
            state.kept["share"] = wanted["share"]
            if state.role == "gpu":
                input_sets(state, wanted["share"])
        bench = workbench(state)
        if "open" in wanted:
            state.opened.resolve(None, open_case(state, wanted["open"]).case["function"])
        cases = wanted.get("cases", [])
        if cases:
            from kernelband_worker.measure.turn import call_once

            state.kept["timed"] = cases
            bench.device.flush()
            bench.device.calibrate()
            for case in cases:
                call_once(state, case, wanted.get("variant"))
        bench.device.synchronize()
    return {}


def _release(state: State) -> None:
    """Inputs fill up to a quarter of the GPU, which an executor that only waits shouldn't hold. Each is made again when it is asked for."""
    import torch

    from kernelband_worker.measure.contents import forget

    input_sets(state).clear()
    forget(state)
    torch.cuda.empty_cache()
