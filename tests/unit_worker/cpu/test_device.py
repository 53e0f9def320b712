from __future__ import annotations

import io
import math
import subprocess
import sys

import pytest
import torch
import triton

from kernelband_worker.cpu import device as shim_module
from kernelband_worker.errors import OperationFailed

pytestmark = pytest.mark.usefixtures("shim")


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(3, device="cuda"),
        lambda: torch.zeros((2, 3), device=torch.device("cuda", 0), dtype=torch.float16),
        lambda: torch.randn(3, device="cuda:0"),
        lambda: torch.tensor([1, 2], device="cuda"),
        lambda: torch.arange(4, device=0),
        lambda: torch.rand(3).cuda(),
        lambda: torch.rand(3).to("cuda"),
        lambda: torch.rand(3).to(torch.float16).to(device="cuda", dtype=torch.float32),
        lambda: torch.rand(3).to(torch.rand(1, device="cuda")),
        lambda: torch.rand(3, device="cuda") + 1,
        lambda: torch.empty_like(torch.rand(3, device="cuda")).view(3, 1),
        lambda: torch.rand(3).cuda().new_zeros(2),
        lambda: torch.nn.Linear(3, 4).cuda().weight,
        lambda: torch.nn.Linear(3, 4, device="cuda").weight.data,
        lambda: torch.rand(3, device=torch.rand(1, device="cuda").device),
        lambda: torch.rand(2, 3, device="cuda").T,
        lambda: torch.randint(0, 9, (4,), device="cuda", generator=torch.Generator(device="cuda").manual_seed(1)),
        lambda: torch.empty(3, pin_memory=True).cuda(non_blocking=True),
    ],
)
def test_these_are_on_the_device(make):
    tensor = make()
    assert tensor.is_cuda
    assert tensor.device == torch.device("cuda", 0)
    assert tensor.get_device() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.rand(3),
        lambda: torch.rand(3, device="cuda").cpu(),
        lambda: torch.rand(3, device="cpu") * 2,
        lambda: torch.rand(3, 2, device="cpu").T,
    ],
)
def test_these_are_on_the_host(make):
    tensor = make()
    assert not tensor.is_cuda
    assert tensor.device.type == "cpu"


def test_a_copy_between_host_and_device_is_a_copy():
    host = torch.zeros(3)
    there = host.cuda()
    there += 1
    assert host.sum() == 0
    back = there.cpu()
    there += 1
    assert back.tolist() == [1.0, 1.0, 1.0]
    assert there.to("cuda") is there
    assert there.cuda() is there
    assert back.cpu() is back
    assert back.numpy().tolist() == [1.0, 1.0, 1.0]


def test_default_device():
    torch.set_default_device("cuda")
    try:
        assert torch.empty(3).is_cuda
        assert not torch.empty(3, device="cpu").is_cuda
    finally:
        torch.set_default_device(None)
    assert not torch.empty(3).is_cuda
    with torch.device("cuda"):
        assert torch.ones(3).is_cuda
    assert not torch.ones(3).is_cuda


def test_torch_cuda_answers_for_the_target():
    assert torch.cuda.is_available()
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.get_device_name(0) == "NVIDIA H100"
    properties = torch.cuda.get_device_properties("cuda")
    assert (properties.multi_processor_count, properties.warp_size) == (132, 32)
    assert properties.max_threads_per_multi_processor == 2048
    with pytest.raises(AttributeError, match="L2_cache_size of NVIDIA H100 is not known here"):
        properties.L2_cache_size  # noqa: B018
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()):
        start.record()
        end.record()
    torch.cuda.synchronize()
    assert math.isinf(start.elapsed_time(end))
    with pytest.raises(OperationFailed, match="CUDA graphs need a GPU"):
        torch.cuda.CUDAGraph()
    assert triton.runtime.driver.active.get_active_torch_device() == torch.device("cuda", 0)


def test_seeds_make_the_same_numbers():
    torch.cuda.manual_seed(3)
    first = torch.rand(4, device="cuda")
    torch.cuda.manual_seed_all(3)
    assert torch.equal(first, torch.rand(4, device="cuda"))
    generator = torch.Generator("cuda")
    assert isinstance(generator, torch.Generator)
    generator.manual_seed(5)
    first = torch.rand(4, device="cuda", generator=generator)
    assert torch.equal(first, torch.rand(4, device="cuda", generator=generator.manual_seed(5)))


def test_do_bench_calls_once_and_knows_no_time():
    calls = []
    assert math.isnan(triton.testing.do_bench(lambda: calls.append(1), warmup=25, rep=100))
    assert calls == [1]
    assert all(math.isnan(each) for each in triton.testing.do_bench(lambda: None, quantiles=[0.5, 0.2, 0.8]))


def test_autograd_and_modules_go_on_working():
    layer = torch.nn.Linear(4, 2).cuda()
    x = torch.randn(3, 4, device="cuda", requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.is_cuda
    assert layer.weight.grad.shape == (2, 4)
    torch.testing.assert_close(layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias))


def test_what_programs_call_around_their_kernels():
    x = torch.randn(4, 4, device="cuda", requires_grad=True)

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda")
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, gradient):
            return gradient * 2

    with torch.autocast("cuda", dtype=torch.float16), torch.cuda.nvtx.range("here"), torch.cuda.device(x.device), torch.cuda.device_of(x):
        Double.apply(x).sum().backward()
    assert torch.equal(x.grad, torch.full((4, 4), 2.0))
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.cuda.empty_cache()
    assert torch.cuda.max_memory_allocated() == 0
    assert torch.get_device_module("cuda") is torch.cuda
    assert x[0, 0].item() == x.detach().cpu().numpy()[0, 0]
    assert x.detach().pin_memory().is_cuda
    assert x.new_empty(3, device="cuda").is_cuda
    assert torch.from_numpy(x.detach().cpu().numpy()).device.type == "cpu"
    with io.BytesIO() as file:
        torch.save({"x": x.detach()}, file)
        for where, is_cuda in (("cuda", True), (torch.device("cuda:0"), True), ("cpu", False)):
            file.seek(0)
            assert torch.load(file, map_location=where)["x"].is_cuda is is_cuda
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda"))


def test_it_can_be_taken_away_again():
    available, empty = torch.cuda.is_available, torch.cuda.Stream
    shim = shim_module.install({"backend": "cuda", "arch": 80, "warp_size": 32}, None)
    shim.uninstall()
    assert (torch.cuda.is_available, torch.cuda.Stream) == (available, empty)


def test_amd():
    shim = shim_module.install({"backend": "hip", "arch": "gfx942", "warp_size": 64}, None)
    try:
        assert torch.cuda.get_device_properties(0).gcnArchName == "gfx942"
        assert torch.cuda.get_device_capability() == (9, 4)
        assert triton.runtime.driver.active.get_current_target().warp_size == 64
    finally:
        shim.uninstall()


def test_what_the_machine_cannot_hold_is_not_made(shim, monkeypatch):
    monkeypatch.setattr("kernelband_worker.cpu.room._free", lambda: 1_000_000_000)
    for make in (
        lambda: torch.randn(150_000_000, device="cuda", generator=torch.Generator(device="cuda")),
        lambda: torch.rand(size=(300, 1_000_000), dtype=torch.float16, device="cuda"),
        lambda: torch.randint(2, (75_000, 1000), device="cuda"),
        lambda: torch.randint(low=-5, high=5, size=(150_000_000,), dtype=torch.int32, device="cuda"),
    ):
        with pytest.raises(torch.cuda.OutOfMemoryError, match=r"1\.0 GB are free, and one of 0\.6 GB isn't made"):
            make()
    assert torch.randint(2, (7,), dtype=torch.int8, device="cuda").shape == (7,)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.zeros((30_000, 20_000), dtype=torch.uint8, device="cuda")
    assert torch.empty(300_000_000, dtype=torch.uint8, device="cuda").numel() == 300_000_000
    assert torch.empty_strided((100_000, 100_000), (0, 0), device="cuda").numel() == 10**10  # one element in memory
    assert torch.zeros(100_000, 100_000, layout=torch.sparse_coo, device="cuda").is_sparse


def test_to_ask_how_large_it_is_imports_nothing_large():
    asks = (
        "import sys, torch; from kernelband_worker.cpu.room import missing\n"
        "missing(torch.randn, (3, 4), {}); missing(torch.rand, (3,), {}); missing(torch.randint, (0, 5, (3,)), {})\n"
        "print(torch.__name__, 'sympy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.split() == ["torch", "False"]
