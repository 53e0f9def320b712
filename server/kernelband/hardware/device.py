"""What is known of a GPU: published limits and rates, or what the driver says."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from kernelband_worker.wire import Target


@frozen
class Device:
    """A GPU to measure on or to predict for. Rates are peaks of the data sheet unless ``measured``.

    Units: bytes, bytes/s, FLOP/s, operations/s, microseconds. ``fp32_flops`` counts a multiply-add as two; ``instructions_per_s`` are
    float32 instructions of one lane, ``special_per_s`` exponentials, reciprocals and roots of one lane, ``programs_per_s`` those that the
    whole GPU can start.
    """

    key: str  # "h100", as in --gpu
    name: str  # "NVIDIA H100 SXM"
    backend: str  # "cuda" | "hip"
    arch: Any  # 90 | "gfx942"
    warp_size: int
    multiprocessors: int
    registers_per_sm: int
    max_registers_per_thread: int
    shared_per_sm: int
    shared_per_program: int
    max_warps_per_sm: int
    max_programs_per_sm: int
    l2_bytes: int
    memory_bytes: int
    dram_bytes_per_s: float
    l2_bytes_per_s: float
    fp32_flops: float
    instructions_per_s: float
    special_per_s: float
    programs_per_s: float
    tensor_flops: dict[str, float]  # by operand dtype: "float16", "bfloat16", "tf32", "int8", "float8"
    launch_us: float
    measured: bool = False

    @property
    def target(self) -> Target:
        return {"backend": self.backend, "arch": self.arch, "warp_size": self.warp_size}
