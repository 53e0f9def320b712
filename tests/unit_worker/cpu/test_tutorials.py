"""Programs as people write them run to the end without a GPU, and their own asserts hold."""

from __future__ import annotations

import math

import pytest
import torch


def test_fused_softmax_with_warmup_and_device_properties(program):
    softmax = program("softmax_tutorial")
    with softmax.observe(programs=0):
        softmax.module.test_softmax()
    (event,) = softmax.events
    assert event.grid == (23, 1, 1)
    assert event.arguments["BLOCK_SIZE"] == 1024
    assert event.options["num_warps"] == 8
    assert [frame["qualname"] for frame in event.frames] == ["softmax", "test_softmax"]
    assert event.traffic.loads_bytes == event.traffic.unique_loads_bytes == 23 * 781 * 4
    # n - 1 for the maximum, n for subtraction, exponential and division, n - 1 for the sum
    assert event.traffic.flops == 23 * (3 * 1024 + 2 * 1023)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("activation", ["", "leaky_relu"])
def test_autotuned_matmul(program, dtype, activation):
    matmul = program("matmul_tutorial")
    with matmul.observe(programs=0):
        matmul.module.test_matmul(dtype, activation)
    (event,) = matmul.events
    assert event.config["BLOCK_SIZE_M"] == 32
    assert (event.config["num_warps"], event.config["num_stages"]) == (8, 3)
    assert event.grid == (4 * 2, 1, 1)
    assert event.traffic.dot_flops == 8 * 3 * 2 * 32 * 64 * 32
    # the recorded choice is taken where there is one
    with matmul.observe(programs=0, configs={"matmul_tutorial:matmul_kernel": [{"BLOCK_SIZE_M": 64, "num_warps": 4}]}):
        matmul.module.test_matmul(dtype, activation)
    assert matmul.events[-1].config["BLOCK_SIZE_M"] == 64


@pytest.mark.parametrize("dtype", [torch.float32])
def test_layer_norm_forward_and_backward_under_a_lock(program, dtype):
    norm = program("layernorm_tutorial")
    with norm.observe(programs=8):  # fewer than rows: the backward kernel's atomics ask for all of them
        norm.module.LayerNorm.apply  # noqa: B018 - the class is there
        torch.manual_seed(0)
        x = torch.randn(20, 100, device="cuda", requires_grad=True)
        weight, bias = (torch.rand(100, device="cuda", requires_grad=True) for _ in range(2))
        norm.module.layer_norm(x, (100,), weight, bias, 1e-5).sum().backward()
    forward, backward, last = norm.events
    assert (forward.traffic.programs, backward.traffic.programs, last.traffic.programs) == (8, 20, 1)
    assert backward.traffic.atomics
    assert backward.frames[0]["qualname"] == "LayerNorm.backward"
    with norm.observe(programs=0):
        norm.module.test_layer_norm()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [True, False])
def test_flash_attention(program, dtype, causal):
    attention = program("attention")
    with attention.observe(programs=0):
        attention.module.test_attention(dtype, causal)
    (event,) = attention.events
    assert event.grid == (2, 2, 1)
    assert event.traffic.sectors_per_request == 1.0


def test_dropout_with_random_numbers(program):
    mixed = program("mixed")
    x = torch.ones(1000, device="cuda")
    with mixed.observe(programs=0):
        out, again, other = (mixed.module.run_dropout(x, 0.25, seed) for seed in (1, 1, 2))
    assert torch.equal(out, again)
    assert not torch.equal(out, other)
    assert math.isclose((out != 0).float().mean().item(), 0.75, abs_tol=0.06)


def test_functions_of_libdevice_and_a_string_annotation(program):
    mixed = program("mixed")
    x = torch.linspace(0.1, 2, 64, device="cuda")
    expected = torch.tanh(x) + torch.log1p(x) + torch.erf(x) + x * x
    torch.testing.assert_close(mixed.module.run_functions(x), expected, atol=1e-5, rtol=1e-5)


def test_bfloat16_arithmetic_is_not_integer_arithmetic(program):
    mixed = program("mixed")
    torch.manual_seed(0)
    x, y = (torch.randn(64, device="cuda").to(torch.bfloat16) for _ in range(2))
    i = torch.arange(64, device="cuda", dtype=torch.int32)
    out, sums = mixed.module.run_narrow(x, y, i)
    a, b = x.float(), y.float()
    z = torch.where(a > b, a * b, -a) + b.abs() * 2 - 0.5 + i
    expected = torch.maximum(z, b) + (a * b + a)
    torch.testing.assert_close(out.float(), expected, atol=0.6, rtol=2e-2)
    assert abs(sums[0].item() - a.sum().item()) < 0.1
    assert sums[1].item() == a.max().item()
    torch.testing.assert_close(sums[2:].float(), torch.stack([a[0::2].sum(), a[1::2].sum()]), atol=0.2, rtol=2e-2)


def test_a_table_of_pointers(program):
    mixed = program("mixed")
    tensors = [torch.full((16,), float(value), device="cuda") for value in range(3)]
    out = mixed.module.run_gather_pointers(tensors)
    assert out.tolist() == [0.0] * 16 + [1.0] * 16 + [2.0] * 16
    assert mixed.machine.out_of_bounds == []


def test_arguments_that_triton_takes_for_pointers(program):
    mixed = program("mixed")
    x, y = torch.arange(6.0, device="cuda"), torch.arange(10.0, 16.0, device="cuda")
    assert mixed.module.run_add_behind_pointers(x, y).tolist() == [11.0, 13.0, 15.0, 17.0, 19.0, 0.0]
    assert mixed.module.run_add_behind_pointers_in_a_tuple(x, y).tolist() == [11.0, 13.0, 15.0, 17.0, 19.0, 0.0]
    assert mixed.machine.out_of_bounds == []


@pytest.mark.parametrize("flag", [True, False])
def test_a_kernel_made_in_a_function_with_captured_values_and_defaults(program, flag):
    mixed = program("mixed")
    x = torch.arange(32.0, device="cuda")
    assert torch.equal(mixed.module.run_scaled(x, flag), x * 3 + flag)


def test_scans_and_reductions(program):
    mixed = program("mixed")
    x = torch.tensor([1.0, 5.0, 2.0, 4.0] * 4, device="cuda")
    out, index = torch.empty(32, device="cuda"), torch.empty(2, dtype=torch.int32, device="cuda")
    mixed.module.scans[(1,)](x, out, index, BLOCK=16)
    assert torch.equal(out, torch.cat([x.cumsum(0)] * 2))
    assert index.tolist() == [1, 48]


def test_interpreting_leaves_the_process_able_to_compile(program):
    mixed = program("mixed")
    x = torch.ones(64, device="cuda")
    mixed.module.run_add(x, x)
    compiled = mixed.module.add.warmup(x, x, x, 64, BLOCK=64, grid=(1,))
    assert compiled.metadata.num_warps == 4
    assert compiled.n_regs > 0
