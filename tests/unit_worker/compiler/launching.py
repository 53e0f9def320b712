"""Stands for an executor with a GPU: ``spec`` prints the specialisation of a launch, ``launch`` says whether that launch compiles anything.

python launching.py spec|launch KERNEL FILE
"""

import importlib.util
import json
import os
import sys

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


def main(mode: str, kernel: str, path: str) -> None:
    driver.set_active(Device())
    loaded = importlib.util.spec_from_file_location("user_module", path)
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    out: dict = {"hits": []}

    def seen(**kw):
        out["spec"] = kw["compile"]["specialization_data"]
        return True

    if mode == "spec":
        triton.knobs.runtime.jit_cache_hook = seen
    else:
        triton.knobs.compilation.listener = lambda **kw: out["hits"].append(kw["cache_hit"])
    x = torch.zeros(5000)
    half = torch.zeros(256, 256, dtype=torch.float16)
    if kernel == "add":
        module.add.warmup(x, x, x, 5000, BLOCK=1024, grid=(5,), num_warps=8)
    else:
        sizes = {"BM": 64, "BN": 64, "BK": 32, "ACTIVATION": None}
        module.matmul.warmup(half, half, half, 256, 256, 256, 256, 1, 256, 1, 256, 1, grid=(16,), num_stages=2, **sizes)
    print(json.dumps(out))


main(*sys.argv[1:])
