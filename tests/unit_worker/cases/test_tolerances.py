from __future__ import annotations

import pytest
import torch

from kernelband_worker import tolerances
from kernelband_worker.cases import effects
from kernelband_worker.tolerances import ERROR_RATIO, ULPS, measure, tolerance


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


def one_by_one(a, b):
    """A product summed term after term: the same on every machine, whatever its library's matrix product does."""
    total = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[1]):
        total += a[:, i : i + 1] * b[i : i + 1]
    return total


def pairwise(a, b):
    """The same product by halves: as exact as float32 sums get, so its own error allows nothing to others."""
    terms = a[:, :, None] * b[None]
    while terms.shape[1] > 1:
        terms = terms[:, 0::2] + terms[:, 1::2]
    return terms[:, 0]


def test_another_order_of_a_sum_is_not(operands):
    one, other = pairwise(*operands), one_by_one(*operands)
    assert not torch.equal(one, other)
    assert verdict(one, other, "reassociates").wrong == 0


@pytest.mark.parametrize("best", [pairwise, lambda a, b: (a.double() @ b.double()).float()], ids=["pairwise", "rounded once"])
@pytest.mark.parametrize("positive", [False, True])
def test_a_sum_in_a_row_is_no_loss_of_precision_however_exact_the_original_is_and_ten_bits_are(operands, best, positive):
    a, b = (x.abs() for x in operands) if positive else operands
    original, exact = best(a, b), a.double() @ b.double()

    def errs(mine):
        """(its error against float64, what that may be)."""
        found = measure(original, mine, torch.zeros(mine.shape, dtype=torch.bool), tolerance(mine.dtype, "reassociates", 1.0, 0.0), exact)
        length = tolerances.longest_sum([a.shape, b.shape], mine.shape)
        return found.error, tolerances.allowed_error(mine.dtype, found.original_error, effects.rms(original), length)

    error, allowed = errs(one_by_one(a, b))
    assert allowed > ERROR_RATIO * errs(original)[0]  # the theory allows it, not the original
    assert error <= allowed
    for wrong in (tf32(a) @ tf32(b), one_by_one(a, b) + 1e-3 * effects.rms(original)):
        error, allowed = errs(wrong)
        assert error > 3 * allowed


def test_what_may_be_erred_grows_with_the_root_of_the_length_and_with_the_size():
    def allowed(dtype=torch.float32, original=0.0, rms=1.0, length=1):
        return tolerances.allowed_error(dtype, original, rms, length) - ULPS * torch.finfo(dtype).eps * rms

    assert allowed(length=400) == pytest.approx(10 * allowed(length=4))
    assert allowed(rms=3.0, length=4) == pytest.approx(3 * allowed(length=4))
    assert allowed(torch.float16, length=4) == pytest.approx(allowed(length=4))  # summed in float32 all the same
    assert allowed(torch.float64, length=4) < 1e-8 * allowed(length=4)
    assert allowed(original=1.0, length=4) == ERROR_RATIO


@pytest.mark.parametrize(
    ("inputs", "output", "length"),
    [
        ([[64, 512], [512, 32]], [64, 32], 512),
        ([[64, 64], [64, 64]], [64, 64], 64),  # a square product: nothing is seen to go
        ([[16, 300]], [16, 300], 300),  # a softmax
        ([[16, 300]], [300], 300),  # the longest axis, though 16 terms are summed: more is allowed, not less
        ([[4, 8, 16, 32]], [8], 4 * 16 * 32),
        ([[5000]], [], 5000),
        ([[5000], [5000]], [5000], 1),  # element by element
        ([], [8], 1),
    ],
)
def test_the_longest_sum_is_over_what_the_output_lacks(inputs, output, length):
    assert tolerances.longest_sum(inputs, output) == length


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
