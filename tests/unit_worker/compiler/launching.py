"""Launches of the sample kernels without a GPU, by ``warmup``: what they specialise to, and whether they have to compile anything.

``python launching.py FILE`` stands for an executor with a GPU: it prints for each kernel whether its launch was found in the cache.
"""

import importlib.util
import json
import os
import sys
from types import ModuleType

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver


class Device:
    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)


def load(path: str) -> ModuleType:
    loaded = importlib.util.spec_from_file_location("user_module", path)
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    return module


def warm(module: ModuleType, kernel: str) -> None:
    if kernel == "add":
        x = torch.zeros(5000)
        module.add.warmup(x, x, x, 5000, BLOCK=1024, grid=(5,), num_warps=8)
    else:
        half = torch.zeros(256, 256, dtype=torch.float16)
        sizes = {"BM": 64, "BN": 64, "BK": 32, "ACTIVATION": None}
        module.matmul.warmup(half, half, half, 256, 256, 256, 256, 1, 256, 1, 256, 1, grid=(16,), num_stages=2, **sizes)


def specialised(path: str, kernel: str) -> str:
    """What a launch specialises to, in a process that has made ``Device`` the driver's; nothing is compiled."""
    found = []

    def seen(**kw):
        found.append(kw["compile"]["specialization_data"])
        return True

    triton.knobs.runtime.jit_cache_hook = seen
    try:
        warm(load(path), kernel)
    finally:
        triton.knobs.runtime.jit_cache_hook = None
    return found[-1]


def main(path: str) -> None:
    driver.set_active(Device())
    module, hits = load(path), []
    triton.knobs.compilation.listener = lambda **kw: hits.append(kw["cache_hit"])
    for kernel in ("add", "matmul"):
        warm(module, kernel)
    print(json.dumps(hits))


if __name__ == "__main__":
    main(*sys.argv[1:])
