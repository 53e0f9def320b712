"""The kernel of the laboratory without processes, its one case and its GPU.

It has a launch parameter BLOCK; its time is |log2(BLOCK) - 8| + 1 units, so 256 is best; the comment "aside" makes it 0.5 % faster. A
marker comment makes a variant wrong, crash, hang, run out of memory, fail to compile or hang the compiler.
"""

from __future__ import annotations

import math
import re
from typing import Any

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def copy(x):
    y = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
    return y


def test_copy():
    assert copy(torch.ones(100, device="cuda")).sum() == 100
"""

CASE: dict[str, Any] = {
    "id": "c" * 8,
    "boundary": "host_call",
    "function": {"module": "k", "path": "/k.py", "qualname": "copy"},
    "source_hash": "",
    "call_index": 0,
    "role": "time",
    "neighbour_of": None,
    "arguments": "x: float32[100]",
    "tensors": [],
    "constants": {},
    "outputs": ["return"],
    "launches": [],
    "other_kernels": [],
    "calls": 1,
    "share": 1.0,
    "compulsory_bytes": 800,
    "memory_bytes": 1600,
    "reads_rng": False,
    "input_sets": 3,
    "noise": 0.0,
    "device_us": 100.0,
    "replayable": True,
    "reason": None,
}
GPU: dict[str, Any] = {
    "index": 0,
    "uuid": "GPU-fake",
    "name": "NVIDIA H200",
    "capability": [9, 0],
    "multiprocessors": 132,
    "memory_bytes": 1 << 37,
    "free_bytes": 1 << 37,
    "l2_bytes": 50 << 20,
    "shared_limit_bytes": 232448,
    "registers": 65536,
    "clock_khz": 1,
    "memory_clock_khz": 1,
    "processes": [],
}


def microseconds(text: str) -> float:
    block = int(re.findall(r"BLOCK=(\d+)", text)[-1])
    return 100.0 * (abs(math.log2(block) - 8) + 1) * (0.995 if "# aside" in text else 1.0)


def trouble(text: str) -> str:
    found = re.search(r"# MAKE (\w+)", text)
    return found[1] if found else ""
