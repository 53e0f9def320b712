"""What programs ask of ``torch.cuda`` and of what lies around it."""

from __future__ import annotations

import gc

import pytest
import torch
import triton

from kernelband_worker.cpu import accelerator, cuda, device, streams
from kernelband_worker.cpu.generators import DefaultGenerator
from kernelband_worker.errors import OperationFailed

pytestmark = pytest.mark.usefixtures("shim")


def test_no_two_names_share_a_stand_in():
    told = cuda.Properties({"backend": "cuda", "arch": 90, "warp_size": 32}, {}, "a GPU")
    current = streams.Streams()
    in_cuda = cuda.replacements(told, {"backend": "cuda", "arch": 90, "warp_size": 32}, DefaultGenerator(), current)
    made = [*in_cuda.values(), *cuda.natives(current).values(), *accelerator.replacements(in_cuda, current).values()]
    assert len(set(made)) == len(made)


def test_guards_and_native_functions_know_one_device():
    with torch.cuda._DeviceGuard(0), torch.cuda.device(0), torch.cuda.device_of(torch.empty(1, device="cuda")):
        assert torch._C._cuda_getDevice() == torch.cuda.current_device() == 0
        assert torch._C._cuda_getCurrentRawStream(0) == torch.cuda.current_stream().cuda_stream
    assert torch.device(0) == torch.device("cuda", 0)
    assert not torch.cuda.is_current_stream_capturing()
    assert torch.cuda.get_device_capability(torch.device("cuda")) == torch.cuda.get_device_capability("cuda:0") == (9, 0)


def test_what_is_known_of_the_target():
    properties = torch.cuda.get_device_properties()
    assert (properties.major, properties.max_threads_per_block, properties.is_integrated) == (9, 1024, 0)
    assert properties.shared_memory_per_multiprocessor == 228 * 1024
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total == properties.total_memory
    assert torch.cuda.memory_stats()["allocated_bytes.all.peak"] == torch.cuda.memory.max_memory_allocated() == 0
    assert triton.runtime.driver.active.utils.get_device_properties(0)["multiprocessor_count"] == 132


def test_the_stream_that_is_set_is_the_current_one():
    default, other = torch.cuda.current_stream(), torch.cuda.Stream(priority=-1)
    x = torch.ones(3, device="cuda")
    with torch.cuda.stream(other):
        assert torch.cuda.current_stream() is other
        x.record_stream(other)
        done = torch.cuda.Event()
        done.record(other)
    assert torch.cuda.current_stream() is default is torch.cuda.default_stream()
    default.wait_event(done)
    default.wait_stream(other)
    assert other.device == torch.device("cuda", 0)
    assert isinstance(other, torch.cuda.Stream)
    assert isinstance(other, torch.Stream)


def test_random_numbers_by_seed_and_offset():
    torch.manual_seed(7)
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    assert (generator.initial_seed(), generator.get_offset()) == (7, 0)
    state = generator.get_state()
    seed, offset = state.view(torch.int64).tolist()
    assert (seed, offset) == (7, 0)
    state.view(torch.int64)[1] += 8
    generator.set_state(state)
    assert (generator.initial_seed(), generator.get_offset()) == (7, 8)
    first = torch.rand(3, device="cuda", generator=generator)
    generator.set_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda", generator=generator))
    assert torch.Generator(device="cuda").device == torch.device("cuda", 0)
    before = torch.cuda.get_rng_state_all()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state_all(before)
    assert torch.equal(first, torch.rand(3, device="cuda"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_narrows_what_is_computed(dtype):
    x = torch.ones(4, 4, device="cuda")
    region = torch.autocast("cuda", dtype=dtype)
    with region:
        assert (x @ x).dtype == dtype
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype == torch.float32
        with region:
            assert (x @ x).dtype == dtype
        assert (x @ x).dtype == dtype
    assert (x @ x).dtype == torch.float32
    assert not torch.is_autocast_enabled("cpu")


def test_a_function_under_autocast_gets_what_it_asks_for():
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
        def forward(ctx, x):
            seen.append((x.dtype, (x.float() @ x.float()).dtype))
            return x * 2

    with torch.autocast("cuda"):
        Double.apply(torch.ones(2, 2, device="cuda"))
    assert seen == [(torch.float16, torch.float32)]


@pytest.mark.skipif(accelerator.MODULE is None, reason="torch.accelerator came with torch 2.6")
def test_the_accelerator_is_the_device():
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator().type == "cuda"
    assert torch.accelerator.device_count() == 1
    torch.accelerator.synchronize()
    assert torch.accelerator.current_stream() is torch.cuda.current_stream()
    assert torch.empty(1, device=torch.accelerator.current_accelerator()).is_cuda


def test_graphs_are_refused_by_name_only_when_made():
    assert not isinstance(None, torch.cuda.CUDAGraph)
    with pytest.raises(OperationFailed, match="CUDA graphs need a GPU"):
        torch.cuda.graph(None)


def test_profilers_have_nothing_to_do():
    torch.cuda.cudart().cudaProfilerStart()
    torch.cuda.profiler.start()
    torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("here"))


def test_it_stands_though_nobody_holds_it():
    device.install({"backend": "cuda", "arch": 90, "warp_size": 32})
    try:
        run = triton.runtime.jit.JITFunction.run
        gc.collect()
        assert triton.runtime.jit.JITFunction.run is run
    finally:
        device._installed[-1].uninstall()
    assert triton.runtime.jit.JITFunction.run is not run
