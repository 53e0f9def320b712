"""A Triton driver for a GPU that isn't there: specialisation, ``warmup`` and compiling work as for the target, launching doesn't.

The numbers that a program may ask for (registers, shared memory, multiprocessors) are the target's own, from the session; registers and
spills of a kernel are read from its real binary.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Mapping, Optional, Tuple, cast

from triton.backends.compiler import GPUTarget
from triton.compiler import CompiledKernel
from triton.runtime.driver import driver

from kernelband_worker.errors import OperationFailed
from kernelband_worker.wire import Target

#: Seconds that reading a binary's resources may take; 2 ms is usual.
_TOOL_SECONDS = 20


def install(target: Target, properties: Optional[Mapping[str, int]] = None) -> None:
    """Make the target the active driver of Triton.

    Args:
        target: what is compiled for.
        properties: what the real driver reports: ``max_shared_mem``, ``max_num_regs``, ``multiprocessor_count``, ``warpSize``,
            ``sm_clock_rate``, ``mem_clock_rate``, ``mem_bus_width``.
    """
    # Not of Triton's base class: what that wants differs from version to version.
    driver.set_active(cast("Any", TargetDriver(target, properties or {})))


class TargetDriver:
    """What Triton and programs ask ``triton.runtime.driver.active``."""

    def __init__(self, target: Target, properties: Mapping[str, int]) -> None:
        self._target = GPUTarget(target["backend"], target["arch"], target["warp_size"])
        self._properties = dict(properties)
        self.machine: Any = None  # runs launches, in role cpu
        self.utils = SimpleNamespace(
            get_device_properties=lambda device=0: dict(self._properties),  # noqa: ARG005 - the driver's signature
            load_binary=self._load_binary,
            unload_module=lambda module: None,  # noqa: ARG005
            set_printf_fifo_size=lambda size: None,  # noqa: ARG005
        )
        self.launcher_cls = _Launcher

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        """There is one."""

    def get_current_stream(self, device: int = 0) -> int:  # noqa: ARG002
        return 0

    def get_device_capability(self, device: int = 0) -> Tuple[int, int]:  # noqa: ARG002
        arch = self._target.arch
        return (arch // 10, arch % 10) if isinstance(arch, int) else (int(arch[3:-2]), int(arch[-2], 16))

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Any:
        from triton.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(0)

    def clear_cache(self, cache: Any) -> None:
        """Nothing is timed here."""

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:  # noqa: ARG002
        return args

    def _load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> Tuple[Any, ...]:  # noqa: ARG002
        found = (object(), object(), *resources(kernel, self._target.backend))
        threads = 1024  # a program can have at most, on every target; Triton asks for it from 3.5 on
        return (*found, threads) if "n_max_threads" in CompiledKernel._init_handles.__code__.co_names else found


class _Launcher:
    def __init__(self, src: Any, metadata: Any) -> None:
        """The signature of every launcher of Triton's."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - nothing can be launched
        raise OperationFailed("A compiled kernel was launched directly, and there is no GPU here to run it on.", "no_gpu")


def resources(binary: bytes, backend: str) -> Tuple[int, int]:
    """Registers per thread and spilled registers (4 bytes each) of a cubin or hsaco."""
    if backend == "hip":
        return _message_pack_number(binary, b".vgpr_count"), _message_pack_number(binary, b".vgpr_spill_count")
    from kernelband_worker.compiler.tools import tool_path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(binary)
        command: List[str] = [tool_path("cuobjdump"), "--dump-resource-usage", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_SECONDS, check=True).stdout
    found: Dict[str, int] = {key: int(value) for key, value in re.findall(r"\b(REG|STACK|LOCAL):(\d+)", said)}
    return found["REG"], (found.get("STACK", 0) + found.get("LOCAL", 0)) // 4


def _message_pack_number(binary: bytes, key: bytes) -> int:
    """An unsigned number of AMD's kernel metadata (a note in MessagePack): a byte, or a prefix and 1, 2 or 4 bytes."""
    at = binary.find(key)
    if at < 0:
        return 0
    at += len(key)
    size = {0xCC: 1, 0xCD: 2, 0xCE: 4}.get(binary[at])
    return binary[at] if size is None else int.from_bytes(binary[at + 1 : at + 1 + size], "big")
