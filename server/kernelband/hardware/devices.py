"""The GPUs that are known by name, with published numbers.

Sources. Per multiprocessor limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; for AMD the CDNA 3 and
CDNA 4 ISA reference guides. Rates: the data sheet or whitepaper named at each entry; dense, at boost clock, tensor rates with 32-bit
accumulators. Sparse figures of data sheets are halved. L2 rates are published for few GPUs: the A100 whitepaper's 5120 bytes per clock is
taken for the A100; for other NVIDIA GPUs 32 bytes per clock and multiprocessor, an estimate; AMD publishes 2 KiB per clock and die.
Special functions: 16 per clock and multiprocessor for compute capability 8.0 to 12.0 (CUDA C++ Programming Guide, "Throughput of Native
Arithmetic Instructions": reciprocal, reciprocal root, base-2 logarithm and exponential); on AMD they take four times as long as other
instructions of a SIMD (LLVM AMDGPU backend, SISchedule.td: WriteTrans32), which is 16 per clock and compute unit too. Instructions: half
the float32 rate, which counts multiply-adds; a quarter on AMD, whose data sheets count multiply-adds of two packed values.
Programs are started one after the other: 262,144 of four warps take 161.7 us on an H200, whether they move 68 or 138 MB, and 131,072 take
84.4 (rope and a softmax of short rows, docs/measured.md), so one in 1.1 clocks. That is taken for other NVIDIA GPUs; one a clock and die
for AMD's is a guess.
``launch_us`` is the shortest time between launch and end of a kernel that does nothing, an estimate too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from attrs import evolve

from kernelband.hardware.device import Device

GIB = 2**30
MIB = 2**20
KIB = 2**10
SPECIAL = 16  # special functions per clock and multiprocessor or compute unit
CLOCKS_PER_PROGRAM = 1.1


def _nvidia(
    key: str, name: str, arch: int, *, sms: int, ghz: float, gb: float, gbs: float, l2: int, fp32: float, **tensor: float
) -> Device:
    """A device of compute capability ``arch``. ``gb`` GiB of memory, ``gbs`` GB/s, ``l2`` MiB, rates in TFLOP/s."""
    shared, warps, programs = {
        80: (164, 64, 32),
        86: (100, 48, 16),
        89: (100, 48, 24),
        90: (228, 64, 32),
        100: (228, 64, 32),
        120: (100, 48, 24),
    }[arch]
    return Device(
        key=key,
        name=name,
        backend="cuda",
        arch=arch,
        warp_size=32,
        multiprocessors=sms,
        registers_per_sm=65536,
        max_registers_per_thread=255,
        shared_per_sm=shared * KIB,
        shared_per_program=(shared - 1) * KIB,  # 1 KiB per program is reserved by the system
        max_warps_per_sm=warps,
        max_programs_per_sm=programs,
        l2_bytes=l2 * MIB,
        memory_bytes=int(gb * GIB),
        dram_bytes_per_s=gbs * 1e9,
        l2_bytes_per_s=32 * sms * ghz * 1e9,
        fp32_flops=fp32 * 1e12,
        instructions_per_s=fp32 * 1e12 / 2,
        special_per_s=SPECIAL * sms * ghz * 1e9,
        programs_per_s=ghz * 1e9 / CLOCKS_PER_PROGRAM,
        tensor_flops={dtype: rate * 1e12 for dtype, rate in tensor.items()},
        launch_us=3.0,
    )


def _amd(
    key: str, name: str, arch: str, *, cus: int, lds: int, gb: float, gbs: float, dies: int, ghz: float, fp32: float, **matrix: float
) -> Device:
    """A CDNA device: four SIMDs per compute unit, each with 512 vector registers per lane of a 64-wide wave and room for eight waves."""
    return Device(
        key=key,
        name=name,
        backend="hip",
        arch=arch,
        warp_size=64,
        multiprocessors=cus,
        registers_per_sm=4 * 512 * 64,
        max_registers_per_thread=512,
        shared_per_sm=lds * KIB,
        shared_per_program=lds * KIB,
        max_warps_per_sm=32,
        max_programs_per_sm=16,  # LLVM AMDGPU backend, AMDGPUBaseInfo.cpp: barriers per compute unit
        l2_bytes=4 * dies * MIB,
        memory_bytes=int(gb * GIB),
        dram_bytes_per_s=gbs * 1e9,
        l2_bytes_per_s=2048 * dies * ghz * 1e9,
        fp32_flops=fp32 * 1e12,
        instructions_per_s=fp32 * 1e12 / 4,
        special_per_s=SPECIAL * cus * ghz * 1e9,
        programs_per_s=dies * ghz * 1e9,
        tensor_flops={dtype: rate * 1e12 for dtype, rate in matrix.items()},
        launch_us=5.0,
    )


def _a100() -> Device:
    # NVIDIA A100 Tensor Core GPU data sheet (80 GB SXM) and Ampere architecture whitepaper.
    base = _nvidia(
        "a100",
        "NVIDIA A100 SXM 80 GB",
        80,
        sms=108,
        ghz=1.41,
        gb=80,
        gbs=2039,
        l2=40,
        fp32=19.5,
        float16=312,
        bfloat16=312,
        tf32=156,
        int8=624,
    )
    return evolve(base, l2_bytes_per_s=5120 * 1.41e9)


@cache
def table() -> tuple[Device, ...]:
    """Every known device; made once, as every row of a history is shown with its own."""
    sxm: dict[str, Any] = {"sms": 132, "ghz": 1.83, "l2": 50, "fp32": 67, "float16": 989.4, "bfloat16": 989.4, "tf32": 494.7}
    sxm.update(int8=1978.9, float8=1978.9)
    return (
        _a100(),
        # NVIDIA A10 data sheet.
        _nvidia(
            "a10", "NVIDIA A10", 86, sms=72, ghz=1.695, gb=24, gbs=600, l2=6, fp32=31.2, float16=125, bfloat16=125, tf32=62.5, int8=250
        ),
        # NVIDIA RTX A6000 data sheet; GA102 whitepaper.
        _nvidia(
            "a6000",
            "NVIDIA RTX A6000",
            86,
            sms=84,
            ghz=1.8,
            gb=48,
            gbs=768,
            l2=6,
            fp32=38.7,
            float16=154.8,
            bfloat16=154.8,
            tf32=77.4,
            int8=309.7,
        ),
        # NVIDIA Ampere GA102 GPU architecture whitepaper, GeForce RTX 3090.
        _nvidia(
            "rtx3090",
            "NVIDIA GeForce RTX 3090",
            86,
            sms=82,
            ghz=1.695,
            gb=24,
            gbs=936.2,
            l2=6,
            fp32=35.6,
            float16=71,
            bfloat16=71,
            tf32=35.6,
            int8=284,
        ),
        # NVIDIA L4 Tensor Core GPU data sheet.
        _nvidia(
            "l4",
            "NVIDIA L4",
            89,
            sms=58,
            ghz=2.04,
            gb=24,
            gbs=300,
            l2=48,
            fp32=30.3,
            float16=121,
            bfloat16=121,
            tf32=60,
            int8=242.5,
            float8=242.5,
        ),
        # NVIDIA L40S data sheet.
        _nvidia(
            "l40s",
            "NVIDIA L40S",
            89,
            sms=142,
            ghz=2.52,
            gb=48,
            gbs=864,
            l2=96,
            fp32=91.6,
            float16=362,
            bfloat16=362,
            tf32=183,
            int8=733,
            float8=733,
        ),
        # NVIDIA Ada GPU architecture whitepaper, GeForce RTX 4090.
        _nvidia(
            "rtx4090",
            "NVIDIA GeForce RTX 4090",
            89,
            sms=128,
            ghz=2.52,
            gb=24,
            gbs=1008,
            l2=72,
            fp32=82.6,
            float16=165.2,
            bfloat16=165.2,
            tf32=82.6,
            int8=660.6,
            float8=330.3,
        ),
        # NVIDIA H100 Tensor Core GPU data sheet (SXM5) and Hopper architecture whitepaper.
        _nvidia("h100", "NVIDIA H100 SXM", 90, gb=80, gbs=3350, **sxm),
        # The same, PCIe.
        _nvidia(
            "h100-pcie",
            "NVIDIA H100 PCIe",
            90,
            sms=114,
            ghz=1.755,
            gb=80,
            gbs=2000,
            l2=50,
            fp32=51.2,
            float16=756.5,
            bfloat16=756.5,
            tf32=378,
            int8=1513,
            float8=1513,
        ),
        # NVIDIA H200 Tensor Core GPU data sheet (SXM).
        _nvidia("h200", "NVIDIA H200 SXM", 90, gb=141, gbs=4800, **sxm),
        # H20 product brief as published by resellers; NVIDIA has no public data sheet.
        _nvidia(
            "h20",
            "NVIDIA H20",
            90,
            sms=78,
            ghz=1.98,
            gb=96,
            gbs=4000,
            l2=60,
            fp32=44,
            float16=148,
            bfloat16=148,
            tf32=74,
            int8=296,
            float8=296,
        ),
        # NVIDIA HGX B200 data sheet, one of eight; L2 as the driver reports it.
        _nvidia(
            "b200",
            "NVIDIA B200",
            100,
            sms=148,
            ghz=1.965,
            gb=180,
            gbs=8000,
            l2=126,
            fp32=75,
            float16=2250,
            bfloat16=2250,
            tf32=1125,
            int8=4500,
            float8=4500,
        ),
        # NVIDIA RTX Blackwell GPU architecture whitepaper, GeForce RTX 5090.
        _nvidia(
            "rtx5090",
            "NVIDIA GeForce RTX 5090",
            120,
            sms=170,
            ghz=2.407,
            gb=32,
            gbs=1792,
            l2=96,
            fp32=104.8,
            float16=209.5,
            bfloat16=209.5,
            tf32=104.8,
            int8=838,
            float8=419,
        ),
        # AMD Instinct MI300X data sheet and CDNA 3 whitepaper.
        _amd(
            "mi300x",
            "AMD Instinct MI300X",
            "gfx942",
            cus=304,
            lds=64,
            gb=192,
            gbs=5300,
            dies=8,
            ghz=2.1,
            fp32=163.4,
            float16=1307.4,
            bfloat16=1307.4,
            tf32=653.7,
            int8=2614.9,
            float8=2614.9,
        ),
        # AMD Instinct MI355X data sheet and CDNA 4 whitepaper. TF32 is emulated there and left out.
        _amd(
            "mi355x",
            "AMD Instinct MI355X",
            "gfx950",
            cus=256,
            lds=160,
            gb=288,
            gbs=8000,
            dies=8,
            ghz=2.4,
            fp32=157.3,
            float16=2516.6,
            bfloat16=2516.6,
            int8=5033.2,
            float8=5033.2,
        ),
    )
