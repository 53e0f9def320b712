"""``torch.cuda`` for a GPU that isn't there: what programs call around their kernels, answered for the target.

Nothing here says how long anything takes: elapsed times and ``do_bench`` are not a number.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

import torch

from kernelband_worker.state import OperationFailed
from kernelband_worker.wire import Target


class Stream:
    """A stream on which everything is done at once."""

    cuda_stream = 0
    device_index = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The arguments of torch.cuda.Stream."""

    def synchronize(self) -> None:
        """Everything is done."""

    def query(self) -> bool:
        return True

    def wait_stream(self, stream: Any) -> None:
        """Everything is done."""

    def wait_event(self, event: Any) -> None:
        """Everything is done."""

    def record_event(self, event: Optional[Event] = None) -> Event:
        return event or Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing to leave."""


class Event:
    """An event that has happened; when is not known."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The arguments of torch.cuda.Event."""

    def record(self, stream: Any = None) -> None:
        """It has happened."""

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def synchronize(self) -> None:
        """It has happened."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:  # noqa: ARG002 - torch's signature
        return float("nan")


class Device:
    """``with torch.cuda.device(n)``: there is one."""

    def __init__(self, device: Any = None) -> None:  # noqa: ARG002 - torch's signature
        self.idx = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing to leave."""


class Generator(torch.Generator):
    """``torch.Generator(device="cuda")`` on the CPU. A subclass: ``isinstance`` goes on working."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        kind = torch.device(device).type
        where = "cpu" if kind == "cuda" else device
        return super().__new__(cls, device=where)  # pyright: ignore[reportCallIssue] - torch's stub declares __init__ only


def _capability(arch: Any) -> Tuple[int, int]:
    if isinstance(arch, int):
        return arch // 10, arch % 10
    return int(arch[3:-2]), int(arch[-2], 16)  # gfx942: 9.4


#: Threads of a multiprocessor where they aren't 2048 (CUDA C++ Programming Guide, compute capabilities).
_THREADS = {(7, 5): 1024, (8, 6): 1536, (8, 7): 1536, (8, 9): 1536, (12, 0): 1536, (12, 1): 1536}
#: torch's name of a property: the driver's.
_FROM_DRIVER = {
    "multi_processor_count": "multiprocessor_count",
    "regs_per_multiprocessor": "max_num_regs",
    "shared_memory_per_block_optin": "max_shared_mem",
    "total_memory": "total_memory",
    "L2_cache_size": "l2_cache_size",
}


class Properties:
    """``torch.cuda.get_device_properties``: what is known of the target. What isn't is no attribute: no number is made up."""

    def __init__(self, target: Target, properties: Mapping[str, int], name: str) -> None:
        self.name = name
        self.major, self.minor = _capability(target["arch"])
        self.warp_size = target["warp_size"]
        if target["backend"] == "cuda":
            self.max_threads_per_multi_processor = _THREADS.get((self.major, self.minor), 2048)
            self.shared_memory_per_block = 49152
        else:
            self.gcnArchName = target["arch"]
        for ours, driver in _FROM_DRIVER.items():
            if driver in properties:
                setattr(self, ours, properties[driver])

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(f"{attribute} of {self.__dict__.get('name')} is not known here: there is no GPU to ask")


def replacements(target: Target, properties: Mapping[str, int], name: str) -> Dict[str, Any]:
    """What stands under which name of ``torch.cuda``."""
    arch = target["arch"]
    capability = _capability(arch)
    told = Properties(target, properties, name)
    stream = Stream()

    @contextlib.contextmanager
    def use(stream: Any) -> Iterator[None]:  # noqa: ARG001 - torch's signature
        yield

    def seed(number: int) -> None:
        torch.default_generator.manual_seed(int(number))

    def nothing(*args: Any, **kwargs: Any) -> None:
        """Nothing to do on a CPU."""

    def always(value: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: value  # noqa: ARG005

    def needs_gpu(what: str) -> Callable[..., Any]:
        def refuse(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
            raise OperationFailed(f"{what} need a GPU: without one this program can't be run as it is.", "unsupported")

        return refuse

    quiet = "synchronize set_device set_stream empty_cache init _lazy_init ipc_collect reset_peak_memory_stats reset_max_memory_allocated"
    counts = "memory_allocated max_memory_allocated memory_reserved max_memory_reserved"
    return {
        **dict.fromkeys(quiet.split(), nothing),
        **{each: always(0) for each in counts.split()},  # of device memory none is used
        "is_available": always(True),
        "is_initialized": always(True),
        "device_count": always(1),
        "current_device": always(0),
        "get_device_name": always(name),
        "get_device_capability": always(capability),
        "get_device_properties": always(told),
        "is_bf16_supported": always(capability >= (8, 0)),
        "mem_get_info": lambda device=None: (told.total_memory, told.total_memory),  # noqa: ARG005
        "get_arch_list": always([f"sm_{arch}" if isinstance(arch, int) else arch]),
        "device": Device,
        "device_of": Device,
        "Stream": Stream,
        "Event": Event,
        "stream": use,
        "current_stream": always(stream),
        "default_stream": always(stream),
        # Not torch.manual_seed, which calls these.
        "manual_seed": seed,
        "manual_seed_all": seed,
        "seed": torch.default_generator.seed,
        "initial_seed": torch.initial_seed,
        "get_rng_state": lambda device=None: torch.get_rng_state(),  # noqa: ARG005
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),  # noqa: ARG005
        "CUDAGraph": needs_gpu("CUDA graphs"),
        "graph": needs_gpu("CUDA graphs"),
        "make_graphed_callables": needs_gpu("CUDA graphs"),
    }


def benchmark(fn: Callable[[], Any], *args: Any, quantiles: Any = None, return_mode: str = "mean", **kwargs: Any) -> Any:  # noqa: ARG001
    """``triton.testing.do_bench`` where nothing can be timed: calls once, answers that it doesn't know."""
    fn()
    unknown = float("nan")
    if quantiles is not None:
        return [unknown] * len(quantiles) if len(quantiles) > 1 else unknown
    return [unknown] if return_mode == "all" else unknown
