from __future__ import annotations

import pytest
import torch

from kernelband_worker import tolerances
from kernelband_worker.cases import effects
from kernelband_worker.tolerances import measure, tolerance


def verdict(original, mine, numerics="exact", noise=0.0):
    allowed = tolerance(original.dtype, numerics, effects.rms(original), noise)
    return measure(original, mine, torch.zeros(original.shape, dtype=torch.bool), allowed, None)


def tf32(x):
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)  # ten bits of mantissa


@pytest.fixture
def operands():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(96, 512, generator=generator), torch.randn(512, 64, generator=generator)


@pytest.mark.parametrize(("numerics", "passes"), [("exact", False), ("reassociates", False), ("lowers_precision", True)])
def test_tf32_is_a_loss_of_precision(operands, numerics, passes):
    a, b = operands
    assert (verdict(a @ b, tf32(a) @ tf32(b), numerics).wrong == 0) == passes


def test_another_order_of_a_sum_is_not(operands):
    a, b = operands
    other = sum(a[:, i : i + 64] @ b[i : i + 64] for i in range(0, 512, 64))
    assert not torch.equal(a @ b, other)
    assert verdict(a @ b, other, "reassociates").wrong == 0


def errors(a, b, mine):
    """(the variant's error against float64, what it may be) of a product."""
    exact = a.double() @ b.double()
    found = measure(a @ b, mine, torch.zeros(mine.shape, dtype=torch.bool), tolerance(mine.dtype, "reassociates", 1.0, 0.0), exact)
    close = not found.wrong
    return found.error, tolerances.allowed_error(mine.dtype, found.original_error, float(exact.square().mean().sqrt()), close=close)


def test_more_sums_in_a_row_are_no_loss_of_precision_and_ten_bits_are(operands):
    a, b = operands
    one_by_one = torch.zeros(96, 64)
    for i in range(512):
        one_by_one += a[:, i : i + 1] * b[i : i + 1]
    error, allowed = errors(a, b, one_by_one)
    assert error <= allowed
    error, allowed = errors(a, b, tf32(a) @ tf32(b))
    assert error > 10 * allowed


def test_half_types_keep_to_twice_the_originals_error():
    assert tolerances.allowed_error(torch.float16, 1.0, 0.0, close=True) == 2.0
    assert tolerances.allowed_error(torch.float32, 1.0, 0.0, close=False) == 2.0
    assert tolerances.allowed_error(torch.float32, 1.0, 0.0, close=True) == 8.0


@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.bool, torch.int64])
def test_integers_are_exact(dtype):
    a = torch.ones(10, dtype=dtype)
    b = a.clone()
    assert verdict(a, b, "lowers_precision").wrong == 0
    b[3] = 0
    assert verdict(a, b, "lowers_precision").wrong == 1


def test_nan_and_infinities_count():
    a = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    assert verdict(a, a.clone()).wrong == 0
    for index, value in ((0, float("nan")), (1, 1.0), (2, 1.0), (2, -float("inf")), (3, float("nan"))):
        b = a.clone()
        b[index] = value
        found = verdict(a, b, "lowers_precision")
        assert found.wrong == 1
        assert found.odd


def test_small_outputs_are_held_to_their_own_size():
    a = torch.randn(1000, generator=torch.Generator().manual_seed(1)) * 1e-6
    assert verdict(a, a + 1e-8).wrong > 900  # assert_close would let this pass


def test_noise_widens():
    a = torch.randn(100, generator=torch.Generator().manual_seed(1))
    b = a + 1e-3
    assert verdict(a, b).wrong > 0
    assert verdict(a, b, noise=1e-2).wrong == 0


def test_chunks_give_what_the_whole_gives(monkeypatch):
    generator = torch.Generator().manual_seed(2)
    a = torch.randn(37, 11, generator=generator)
    b = a + 1e-4 * torch.randn(37, 11, generator=generator)
    whole = measure(a, b, a > 1, tolerance(a.dtype, "exact", effects.rms(a), 0.0), a.double())
    monkeypatch.setattr(tolerances, "CHUNK", 16)
    assert measure(a, b, a > 1, tolerance(a.dtype, "exact", effects.rms(a), 0.0), a.double()) == whole


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.int32, torch.int8, torch.bool]
)
def test_poison_shows_what_nobody_wrote(dtype):
    runs = []
    for first in (True, False):
        with effects.Poison(first):
            made = torch.empty(8, dtype=dtype)
            made[:5] = torch.ones(5).to(dtype)
        runs.append(made)
    assert effects.unwritten(*runs).tolist() == [False] * 5 + [True] * 3
