"""How much of a call's device time is spent in the kernel that is optimized."""

from __future__ import annotations

from typing import Iterable, Optional, Tuple

from kernelband_worker.measure.activity import device_profile
from kernelband_worker.measure.device import Side
from kernelband_worker.wire import Case


def known_share(case: Case) -> Optional[float]:
    """1 when the call launches nothing else, 0 when it never launches it; None when it has to be measured."""
    launches = case["launches"]
    if not any(x["target"] for x in launches):
        return 0.0 if launches else None
    return 1.0 if all(x["target"] for x in launches) and not case["other_kernels"] else None


def share_of(events: Iterable[Tuple[str, float]], case: Case) -> Optional[float]:
    """Share of the target in device activities, given as name and microseconds; None when there are none.

    Triton names a kernel after its function, before 3.0 with a suffix: a longer name of another kernel of the case is that other kernel.
    """
    targets = {x["kernel"]["qualname"].rpartition(".")[2] for x in case["launches"] if x["target"]}
    others = {x["kernel"]["qualname"].rpartition(".")[2] for x in case["launches"] if not x["target"]} - targets
    total = inside = 0.0
    for name, us in events:
        total += us
        if name in targets or (name not in others and any(name.startswith(t + "_") for t in targets)):
            inside += us
    return inside / total if total > 0 else None


def measured_share(side: Side, case: Case) -> Optional[float]:
    """By torch's profiler over one warm call."""
    import torch
    from torch.autograd import DeviceType

    side.restore()
    torch.cuda.synchronize()
    with device_profile() as profiler:
        side.call()
        torch.cuda.synchronize()
    events = profiler.function_events or []
    return share_of(((e.name, e.time_range.elapsed_us()) for e in events if e.device_type == DeviceType.CUDA), case)
