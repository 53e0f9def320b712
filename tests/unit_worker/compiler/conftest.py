"""A session of one executor without engine: the sample kernels under their own module name, and hand-made launches."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelband_worker.compiler import settings
from kernelband_worker.compiler.compile import compile_launch
from kernelband_worker.state import State

settings.settle(os.environ)
SAMPLE = Path(__file__).with_name("sample_kernels.py")

CUDA90 = {"backend": "cuda", "arch": 90, "warp_size": 32}


def cuda(arch: int) -> dict:
    return {"backend": "cuda", "arch": arch, "warp_size": 32}


def hip(arch: str) -> dict:
    return {"backend": "hip", "arch": arch, "warp_size": 64}


class FileLoader:
    """Resolves functions of one file."""

    def __init__(self, path: Path) -> None:
        spec = importlib.util.spec_from_file_location("sample_kernels", path)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules["sample_kernels"] = self.module
        spec.loader.exec_module(self.module)

    def resolve(self, variant, function):
        return getattr(self.module, function["qualname"])


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("triton-cache")
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def state(cache) -> State:
    loader = FileLoader(SAMPLE)
    return State(role="compile", ask=None, tell=None, session={"cache": str(cache)}, loader=loader)


def launch(name: str, signature: dict, constants: dict, aligned=(), scalars=None, *, target=CUDA90, **options) -> dict:
    """A LaunchSpec as ``specialise`` would make it. ``signature`` leaves constants out; order is that of the kernel's parameters."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    kernel = getattr(sys.modules["sample_kernels"], name)
    names = kernel.arg_names
    full = {n: signature.get(n, "constexpr") for n in names}
    resolved = make_backend(GPUTarget(target["backend"], target["arch"], target["warp_size"])).parse_options(options)
    data = {
        "name": name,
        "signature": full,
        "constant_keys": [[names.index(n)] for n in names if n in constants],
        "constant_vals": [constants[n] for n in names if n in constants],
        "attrs_keys": [[names.index(n)] for n in names if n in aligned],
        "attrs_vals": [[["tt.divisibility", 16]] for n in names if n in aligned],
        "options": resolved.__dict__,
    }
    text = json.dumps(data, default=list)
    return {
        "kernel": {"module": "sample_kernels", "path": str(SAMPLE), "qualname": name},
        "key": hashlib.sha256(text.encode()).hexdigest(),
        "specialization_data": text,
        "signature": full,
        "constants": {k: str(v) if isinstance(v, dict) else v for k, v in constants.items()},
        "attributes": [],
        "options": options,
        "grid": [1, 1, 1],
        "scalars": scalars or {},
        "case": "c",
        "target": target,
        "aligned": list(aligned),
        "small": [n for n, kind in full.items() if kind.startswith("*")],
    }


def add_launch(n: int = 4096, **options) -> dict:
    aligned = ["x", "y", "out", *(["n"] if n % 16 == 0 else [])]
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    return launch("add", signature, {"BLOCK": 1024}, aligned, {"n": n}, **options)


def matmul_launch(bm: int, bn: int, bk: int, activation=None, **options) -> dict:
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32", "sam": "i32", "sbk": "i32", "scm": "i32"}
    constants = {"sak": 1, "sbn": 1, "scn": 1, "BM": bm, "BN": bn, "BK": bk, "ACTIVATION": activation}
    return launch("matmul", signature, constants, list(signature), {"M": 512, "N": 512, "K": 512}, **options)


@pytest.fixture(scope="session")
def compiled(state):
    """``compiled(launch, target, instructions)``: the facts."""

    def call(spec: dict, target: dict = CUDA90, instructions: bool = True) -> dict:
        return compile_launch(state, {"variant": None, "launch": spec, "target": target, "instructions": instructions})

    return call


@pytest.fixture
def make() -> SimpleNamespace:
    return SimpleNamespace(launch=launch, add=add_launch, matmul=matmul_launch, cuda=cuda, hip=hip)
