"""Profiles on a real GPU: a launch repeated in a process without torch, and what Nsight Compute or torch's profiler says of it.

Run with the worker's Python: PYTHONPATH=server python -m pytest -s tests/gpu/test_profile.py
"""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a real GPU: torch finds none here"),
]

from kernelband_worker.environment import environment  # noqa: E402
from kernelband_worker.launches import observe  # noqa: E402
from kernelband_worker.measure import profile_ncu  # noqa: E402
from kernelband_worker.measure.device import Side  # noqa: E402
from kernelband_worker.measure.profile import _by_ncu, _by_torch, replaying, watched  # noqa: E402
from kernelband_worker.measure.profile_launch import binaries, record  # noqa: E402
from kernelband_worker.state import State  # noqa: E402


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * scale, mask=mask)


@triton.jit
def gather_kernel(ids_ptr, x_ptr, y_ptr, width, BLOCK: tl.constexpr):
    row = tl.load(ids_ptr + tl.program_id(0))
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x_ptr + row * width + offsets, mask=offsets < width)
    tl.store(y_ptr + tl.program_id(0) * width + offsets, values, mask=offsets < width)


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):  # noqa: PLR0917
    """One row of tiles: many stages of large tiles need more than 48 KiB of shared memory."""
    rows, inner = tl.arange(0, BLOCK), tl.arange(0, BLOCK_K)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + k + inner[None, :])
        b = tl.load(b_ptr + columns[:, None] * K + k + inner[None, :])
        total = tl.dot(a, b.T, total)
    tl.store(c_ptr + rows[:, None] * (tl.num_programs(0) * BLOCK) + columns[None, :], total)


def copying(n=1 << 26):
    x, y = torch.randn(n, device="cuda"), torch.empty(n, device="cuda")
    return lambda: copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, 0.5, BLOCK=1024)


def gathering():
    ids = torch.randint(0, 30000, (4096,), device="cuda")
    x, y = torch.randn(30000, 1000, device="cuda"), torch.empty(4096, 1000, device="cuda")
    return lambda: gather_kernel[(4096,)](ids, x, y, 1000, BLOCK=1024)


def multiplying():
    a, b = (torch.randn(n, 1024, device="cuda", dtype=torch.float16) for n in (128, 4096))
    c = torch.empty(128, 4096, device="cuda")
    return lambda: product_kernel[(32,)](a, b, c, 1024, BLOCK=128, BLOCK_K=64, num_stages=3, num_warps=8)


def state():
    return State(role="gpu", ask=lambda method, params: None, tell=lambda method, params: None)


def recorded(call, folder):
    """The call's last launch, written down."""
    call()
    seen = []
    with binaries() as found, observe(state(), lambda event: seen.append((event, found.of(event.kernel)))):
        call()
        torch.cuda.synchronize()
    event, compiled = seen[-1]
    assert compiled is not None
    record(event, compiled, folder)
    return event


@pytest.mark.parametrize("make", [copying, gathering, multiplying])
def test_a_launch_is_repeated_without_torch(make, tmp_path):
    recorded(make(), tmp_path)
    start = time.perf_counter()
    ran, text = watched(replaying(tmp_path), tmp_path, 20.0)
    print(f"{make.__name__}: {time.perf_counter() - start:.2f} s {text}")
    assert ran
    assert text == ""


@pytest.fixture(scope="module")
def ncu():
    path = environment(state(), {})["tools"]["ncu"]
    if path is None:
        pytest.skip("there is no Nsight Compute on this machine")
    return path


@pytest.mark.parametrize("make", [copying, gathering, multiplying])
def test_nsight_compute_counts_it(make, tmp_path, ncu):
    event = recorded(make(), tmp_path)
    start = time.perf_counter()
    found, why = _by_ncu(ncu, {event.function["qualname"]: tmp_path}, 20.0)
    print(f"{make.__name__}: {time.perf_counter() - start:.2f} s {found} {why}")
    if not found and ("ERR_NVGPUCTRPERM" in why or "LibraryNotLoaded" in why):
        pytest.skip(f"Nsight Compute is not permitted here: {why}")
    (profile,) = found
    assert profile["source"] == "ncu"
    assert {"sm", "dram", "l2", "occupancy", "us", "dram_bytes"} <= profile.keys()
    assert profile["stalls"]
    if make is copying:
        assert profile["dram"] > 0.6
        assert profile["sm"] < 0.6
        assert profile["dram_bytes"] == pytest.approx(8 * (1 << 26), rel=0.2)
        assert profile["sectors"]["load"] == pytest.approx(16, rel=0.05)  # 16 bytes a thread: 512 bytes a warp


def test_an_unknown_metric_is_an_answer_not_a_crash(tmp_path, ncu):
    recorded(copying(1 << 20), tmp_path)
    ran, text = watched(profile_ncu.command(ncu, ["sm__no_such_metric.sum"], replaying(tmp_path)), tmp_path, 20.0)
    assert ran
    print(profile_ncu.failure(text) if not profile_ncu.read(text) else profile_ncu.read(text))
    assert not {"sm", "dram", "us"} & profile_ncu.facts(profile_ncu.read(text)).keys()


def test_torchs_profiler_leaves_its_compiler_alone():
    """Which takes seconds to import, in each process that watches."""
    program = (
        "import sys, torch; from kernelband_worker.measure.activity import device_profile\n"
        "x = torch.ones(9, device='cuda')\n"
        "with device_profile() as profile: x.mul_(2); torch.cuda.synchronize()\n"
        "print(len(profile.function_events), 'torch._inductor' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    seen, imported = done.stdout.split()[-2:]
    assert int(seen) >= 1
    assert imported == "False"


def test_torchs_profiler_times_the_kernel_alone(tmp_path):
    call = copying()
    other = torch.randn(1 << 26, device="cuda")

    def both():
        call()
        return other * 2.0

    case = {"launches": [{"kernel": {"qualname": "copy_kernel"}, "target": True}], "other_kernels": ["mul"]}
    both()
    (profile,) = _by_torch(state(), Side(both, lambda: None), case)
    print(profile)
    assert profile["source"] == "profiler"
    assert 60 < profile["us"] < 400  # 512 MiB on anything from 1.5 to 8 TB/s
