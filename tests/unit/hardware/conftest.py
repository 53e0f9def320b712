"""Facts of compiled launches by hand."""

from __future__ import annotations

import pytest

from kernelband.hardware.work import Work


def make_work(
    *,
    registers=32,
    shared=0,
    warps=4,
    programs=4096,
    width=128,
    loads=2,
    spills=0,
    tensor_core=None,
    serialized=False,
    unusable=None,
    code="code",
    case="c",
    **more,
) -> Work:
    warnings = [{"code": "wgmma-serialized", "path": "k.py", "line": 3, "message": "waits"}] if serialized else []
    facts = {
        "kernel": {"module": "k", "path": "k.py", "qualname": "kernel"},
        "key": code,
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
        "code_hash": code,
        "registers": registers,
        "stack_bytes": 0,
        "spill_store_bytes": spills,
        "spill_load_bytes": spills,
        "shared_bytes": shared,
        "num_warps": warps,
        "num_stages": 3,
        "num_ctas": 1,
        "tensor_core": tensor_core,
        "opcodes": {},
        "accesses": [
            {"opcode": "LDG", "space": "global", "store": False, "bits": width, "count": loads, "path": "k.py", "line": 5},
            {"opcode": "STG", "space": "global", "store": True, "bits": width, "count": 1, "path": "k.py", "line": 7},
        ],
        "warnings": warnings,
        "unusable": unusable,
        "seconds": 0.1,
        "cache_hit": False,
    }
    return Work(case=case, kernel="kernel", facts=facts, programs=programs, **more)


@pytest.fixture
def work():
    """``work(registers=26, width=128, ...)``: one launch."""
    return make_work
