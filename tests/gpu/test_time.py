"""Timing on a real GPU: what the simulated clock can't prove.

Run with the worker's Python: PYTHONPATH=server python -m pytest -s tests/gpu/test_time.py
"""

from __future__ import annotations

import time
from statistics import median

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a real GPU: torch finds none here"),
]

from kernelband_worker.measure.block import Wish, time_block  # noqa: E402
from kernelband_worker.measure.clocks import Snapshot, watch  # noqa: E402
from kernelband_worker.measure.device import Side  # noqa: E402


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, repeats, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    for _ in range(repeats):
        x = x * 1.0001 + 0.5
    tl.store(y_ptr + offsets, x, mask=mask)


def copier(n, repeats=1, block=1024):
    x, y = torch.randn(n, device="cuda"), torch.empty(n, device="cuda")

    def call():
        copy_kernel[(triton.cdiv(n, block),)](x, y, n, repeats, BLOCK=block)
        return y

    return Side(call, lambda: None)


@pytest.fixture(scope="module")
def device():
    from kernelband_worker.measure.cuda import CudaDevice

    return CudaDevice()


def timed(device, a, b, **wish):
    sides = {"A": a, "B": b}
    return time_block(device, lambda _: sides, Wish(**{"pairs": 15, "warmup_s": 0.025, "input_sets": 1, **wish}), device.calibrate)


def ratio(pairs):
    return median(p["original_us"] / p["variant_us"] for p in pairs)


def test_sleep_lasts_as_long_as_asked(device):
    timed(device, copier(1 << 20), copier(1 << 20), pairs=1)
    for us in (200.0, 2000.0):
        first = device.mark()
        device.sleep(us)
        last = device.mark()
        device.synchronize()
        assert device.elapsed_us(first, last) == pytest.approx(us, rel=0.25)


@pytest.mark.parametrize("n", [1 << 12, 1 << 20, 1 << 26])
def test_the_same_code_takes_the_same_time(device, n):
    side = copier(n)
    timing = timed(device, side, side)
    print(f"n={n} {timing.plan} device {median(p['original_us'] for p in timing.device):.2f} µs, ratio {ratio(timing.device):.4f}")
    assert timing.plan.method == "events"
    assert ratio(timing.device) == pytest.approx(1.0, abs=0.03)
    assert ratio(timing.call) == pytest.approx(1.0, abs=0.10)


def test_twice_the_bytes_take_twice_the_time(device):
    timing = timed(device, copier(1 << 27), copier(1 << 26))
    assert ratio(timing.device) == pytest.approx(2.0, rel=0.1)


def test_device_time_is_that_of_do_bench(device):
    side = copier(1 << 26)
    timing = timed(device, side, side)
    ours = median(p["original_us"] for p in timing.device)
    theirs = triton.testing.do_bench(side.call, return_mode="median") * 1e3
    assert ours == pytest.approx(theirs, rel=0.10)


def test_the_flush_makes_the_cache_cold(device):
    side = copier(1 << 21)  # 8 MB in, 8 MB out: fits L2
    timing = timed(device, side, side)
    cold = median(p["original_us"] for p in timing.device)
    warm = []
    for _ in range(20):
        side.call()
        device.sleep(200.0)
        first = device.mark()
        side.call()
        last = device.mark()
        device.synchronize()
        warm.append(device.elapsed_us(first, last))
    print(f"cold {cold:.2f} µs, warm {median(warm):.2f} µs")
    assert median(warm) < 0.95 * cold


def test_a_call_that_synchronises_is_timed_by_wall(device):
    inner = copier(1 << 22, repeats=2000)

    def call():
        return inner.call()[0].item()

    timing = timed(device, inner, Side(call, lambda: None))
    assert timing.plan.method == "wall"


def test_work_on_another_stream_does_not_escape(device):
    inner = copier(1 << 24, repeats=4000)
    stream = torch.cuda.Stream()

    def call():
        with torch.cuda.stream(stream):
            return inner.call()

    timing = timed(device, inner, Side(call, lambda: None))
    assert timing.plan.method == "wall"
    assert ratio(timing.device) == pytest.approx(1.0, abs=0.15)


def test_a_screening_block_is_cheap(device):
    """Five pairs on three cases of about 100 µs in well under half a second."""
    sides = [(copier(1 << 25), copier(1 << 25, block=2048)) for _ in range(3)]
    for a, b in sides:
        a.call(), b.call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for a, b in sides:
        print(timed(device, a, b, pairs=5).plan)
    spent = time.perf_counter() - start
    print(f"three blocks: {spent:.3f} s")
    assert spent < 0.5


def test_the_driver_tells_the_clocks():
    uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
    snapshot = watch(f"GPU-{uuid}" if uuid else None)()
    print(snapshot)
    if torch.version.hip is None and uuid:
        assert isinstance(snapshot, Snapshot)
        assert snapshot.sm_mhz is not None
        assert snapshot.reasons is not None
        assert watch(f"GPU-{uuid}")().memory_mhz == snapshot.memory_mhz


def test_the_profiler_tells_the_share():
    from kernelband_worker.measure.share import measured_share

    inner = copier(1 << 24)
    big = torch.randn(1 << 26, device="cuda")

    def call():
        inner.call()
        return big * 2.0

    case = {"launches": [{"kernel": {"qualname": "copy_kernel"}, "target": True}], "other_kernels": ["mul"]}
    call()
    share = measured_share(Side(call, lambda: None), case)
    print(f"share {share}")
    assert share is not None
    assert 0.05 < share < 0.5
