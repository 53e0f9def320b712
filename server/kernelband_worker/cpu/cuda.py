"""``torch.cuda`` for a GPU that isn't there: what programs call around their kernels, answered for the target.

Nothing here says how long anything takes: elapsed times are infinite, and ``do_bench`` is not a number.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any, Callable, Dict, Mapping, Tuple

import torch

from kernelband_worker.cpu import streams
from kernelband_worker.cpu.generators import DefaultGenerator
from kernelband_worker.errors import OperationFailed
from kernelband_worker.wire import Target


def _capability(arch: Any) -> Tuple[int, int]:
    if isinstance(arch, int):
        return arch // 10, arch % 10
    return int(arch[3:-2]), int(arch[-2], 16)  # gfx942: 9.4


#: Threads of a multiprocessor where they aren't 2048 (CUDA C++ Programming Guide, compute capabilities).
_THREADS = {(7, 5): 1024, (8, 6): 1536, (8, 7): 1536, (8, 9): 1536, (12, 0): 1536, (12, 1): 1536}
#: Bytes of a multiprocessor's shared memory that the system keeps for itself, per block, from 8.0 on (the same guide).
_SHARED_KEPT = 1024
#: torch's name of a property: the driver's.
_FROM_DRIVER = {
    "multi_processor_count": "multiprocessor_count",
    "regs_per_multiprocessor": "max_num_regs",
    "shared_memory_per_block_optin": "max_shared_mem",
    "total_memory": "total_memory",
    "L2_cache_size": "l2_cache_size",
    "clock_rate": "sm_clock_rate",
    "memory_clock_rate": "mem_clock_rate",
    "memory_bus_width": "mem_bus_width",
}


class Properties:
    """``torch.cuda.get_device_properties``: what is known of the target. What isn't is no attribute: no number is made up.

    Tensors of the device lie in this machine's memory: where the driver's answer isn't known, that is how much there is.
    """

    def __init__(self, target: Target, properties: Mapping[str, int], name: str) -> None:
        self.name = name
        self.major, self.minor = _capability(target["arch"])
        self.warp_size = target["warp_size"]
        self.max_threads_per_block = 1024
        self.is_integrated = self.is_multi_gpu_board = 0
        for ours, driver in _FROM_DRIVER.items():
            if driver in properties:
                setattr(self, ours, properties[driver])
        if target["backend"] == "cuda":
            self.max_threads_per_multi_processor = _THREADS.get((self.major, self.minor), 2048)
            self.shared_memory_per_block = 49152
            if "max_shared_mem" in properties:
                kept = _SHARED_KEPT if self.major >= 8 else 0
                self.shared_memory_per_multiprocessor = properties["max_shared_mem"] + kept
        else:
            self.gcnArchName = target["arch"]
        if "total_memory" not in properties and _memory("SC_PHYS_PAGES"):
            self.total_memory = _memory("SC_PHYS_PAGES")

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(f"{attribute} of {self.__dict__.get('name')} is not known here: there is no GPU to ask")


def _memory(pages: str) -> int:
    """Bytes of this machine's memory that the system counts under that name; 0 where it doesn't say."""
    if pages not in getattr(os, "sysconf_names", {}):
        return 0
    return max(0, os.sysconf(pages)) * os.sysconf("SC_PAGE_SIZE")


def nothing() -> Callable[..., None]:
    """A function that does nothing, a new one each time.

    torch's compiler keeps rules by object and refuses one that is found under two names, so no two names may share a stand-in.
    """
    return lambda *args, **kwargs: None  # noqa: ARG005


def always(value: Any) -> Callable[..., Any]:
    """A function that answers the same whatever it is asked, a new one each time."""
    return lambda *args, **kwargs: value  # noqa: ARG005


def _needs_gpu(what: str) -> type:
    """A class, and so a function, that nothing can be made of."""

    class Refused:
        def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
            raise OperationFailed(f"{what} need a GPU: without one this program can't be run as it is.", "unsupported")

    return Refused


#: Nothing to do on a CPU.
_QUIET = (
    "synchronize set_device empty_cache init _lazy_init ipc_collect _sleep set_sync_debug_mode set_per_process_memory_fraction "
    "reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats"
)
#: Bytes of device memory in use: none.
_COUNTS = "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached"


def replacements(told: Properties, target: Target, generator: DefaultGenerator, current: streams.Streams) -> Dict[str, Any]:
    """What stands under which name of ``torch.cuda``: an object of its own for each name (see ``nothing``)."""
    arch = target["arch"]
    capability = _capability(arch)
    arches = [f"sm_{arch}" if isinstance(arch, int) else arch]
    return {
        **{name: nothing() for name in _QUIET.split()},
        **{name: always(0) for name in _COUNTS.split()},
        **_stream_names(current),
        **_random(generator),
        "is_available": always(True),
        "is_initialized": always(True),
        "device_count": always(1),
        "current_device": always(0),
        "_exchange_device": always(0),
        "_maybe_exchange_device": always(0),
        "get_device_name": always(told.name),
        "get_device_capability": always(capability),
        "get_device_properties": always(told),
        "is_bf16_supported": always(capability >= (8, 0)),
        "is_tf32_supported": always(capability >= (8, 0)),
        "mem_get_info": lambda device=None: (_memory("SC_AVPHYS_PAGES") or told.total_memory, told.total_memory),  # noqa: ARG005
        "memory_stats": lambda device=None: defaultdict(int),  # noqa: ARG005
        "get_arch_list": lambda: list(arches),
        "can_device_access_peer": always(False),
        "cudart": always(_Runtime()),
        "check_error": nothing(),
        "CUDAGraph": _needs_gpu("CUDA graphs"),
        "graph": _needs_gpu("CUDA graphs"),
        "graph_pool_handle": _needs_gpu("CUDA graphs"),
        "make_graphed_callables": _needs_gpu("CUDA graphs"),
        "is_current_stream_capturing": always(False),
    }


def _stream_names(current: streams.Streams) -> Dict[str, Any]:
    return {
        "device": streams.Device,
        "device_of": streams.DeviceOf,
        "_DeviceGuard": streams.DeviceGuard,
        "Stream": streams.CudaStream,
        "ExternalStream": streams.ExternalStream,
        "Event": streams.CudaEvent,
        "stream": current.context("stream"),
        "StreamContext": current.context("StreamContext"),
        "set_stream": lambda stream: current.set(stream),  # noqa: PLW0108 - one method of one object is one key
        "current_stream": lambda device=None: current.current(device),
        "default_stream": always(current.default),
        "get_stream_from_external": lambda data_ptr=0, device=None: streams.ExternalStream(),  # noqa: ARG005
    }


def _random(generator: DefaultGenerator) -> Dict[str, Any]:
    """Seeds and states of torch's generator, which makes the device's numbers too. Not torch.manual_seed, which calls these."""

    def seeding() -> Callable[[int], None]:
        def manual_seed(seed: int) -> None:
            torch.default_generator.manual_seed(int(seed))
            generator.manual_seed(int(seed))

        return manual_seed

    def set_rng_state(new_state: Any, device: Any = None) -> None:  # noqa: ARG001 - torch's signature
        torch.set_rng_state(new_state)

    def set_rng_state_all(new_states: Any) -> None:
        torch.set_rng_state(new_states[0])

    return {
        "manual_seed": seeding(),
        "manual_seed_all": seeding(),
        "seed": lambda: seeding()(torch.default_generator.seed()),
        "seed_all": lambda: seeding()(torch.default_generator.seed()),
        "initial_seed": lambda: torch.default_generator.initial_seed(),  # noqa: PLW0108 - not torch.initial_seed, which is that
        "get_rng_state": lambda device=None: torch.get_rng_state(),  # noqa: ARG005
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state": set_rng_state,
        "set_rng_state_all": set_rng_state_all,
        "default_generators": (generator,),
    }


class _Runtime:
    """``torch.cuda.cudart()``: every call of the runtime succeeds and does nothing."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        return always(0)


def natives(current: streams.Streams) -> Dict[str, Callable[..., Any]]:
    """What stands under which name of ``torch._C``, in builds without CUDA too: programs and torch.cuda's own functions call it."""
    return {
        "_cuda_getDevice": always(0),
        "_cuda_setDevice": nothing(),
        "_cuda_exchangeDevice": always(0),
        "_cuda_maybeExchangeDevice": always(0),
        "_cuda_synchronize": nothing(),
        "_cuda_getCurrentRawStream": lambda device=0: current.current(device).cuda_stream,
        "_cuda_isCurrentStreamCapturing": always(False),
    }


def benchmarking() -> Callable[..., Any]:
    """A function like ``triton.testing.do_bench``, where nothing can be timed: it calls once and answers that it doesn't know."""

    def do_bench(fn: Callable[[], Any], *args: Any, quantiles: Any = None, return_mode: str = "mean", **kwargs: Any) -> Any:  # noqa: ARG001
        fn()
        unknown = float("nan")
        if quantiles is not None:
            return [unknown] * len(quantiles) if len(quantiles) > 1 else unknown
        return [unknown] if return_mode == "all" else unknown

    return do_bench
