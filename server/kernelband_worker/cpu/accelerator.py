"""``torch.accelerator`` for a GPU that isn't there (from torch 2.6 on)."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable, Dict, Optional

import torch

from kernelband_worker.cpu import streams
from kernelband_worker.cpu.cuda import always, nothing

#: Where torch has it.
MODULE: Optional[ModuleType] = getattr(torch, "accelerator", None)
_QUIET = "synchronize set_device_index set_device_idx empty_cache empty_host_cache reset_peak_memory_stats reset_accumulated_memory_stats"
#: As ``torch.cuda`` answers.
_SAME = {
    "get_memory_info": "mem_get_info",
    **{name: name for name in ["memory_stats", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"]},
}


def replacements(cuda: Dict[str, Any], current: streams.Streams) -> Dict[str, Callable[..., Any]]:
    """What stands under which name of ``torch.accelerator``, each in an object of its own; ``cuda`` is what stands in ``torch.cuda``."""
    device = torch.device("cuda")
    return {
        **{name: nothing() for name in _QUIET.split()},
        **{name: _as_cuda(cuda[other]) for name, other in _SAME.items()},
        "is_available": always(True),
        "device_count": always(1),
        "current_accelerator": always(device),
        "current_device_index": always(0),
        "current_device_idx": always(0),
        "current_stream": lambda device=None: current.current(device),
        "set_stream": lambda stream: current.set(stream),  # noqa: PLW0108 - one method of one object is one key
        "device_index": streams.DeviceIndex,
    }


def _as_cuda(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda device_index=None: function(device_index)
