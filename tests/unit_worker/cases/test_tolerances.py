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


# ---------------------------------------------------------------------- the mean square of narrow types


def in_half(values, chunk):
    """Sums along rows whose accumulators are of the values' own half type."""
    total = torch.zeros(values.shape[0], chunk, dtype=values.dtype)
    for start in range(0, values.shape[1], chunk):
        total = total + values[:, start : start + chunk]
    return total.float().sum(1).to(values.dtype)


def rough(original, mine, exact, length):
    """How many times as large as allowed the mean square error is."""
    found = measure(original, mine, torch.zeros(mine.shape, dtype=torch.bool), tolerance(mine.dtype, "reassociates", 1.0, 0.0), exact)
    square = found.square if exact is None else found.error_square
    return square / tolerances.allowed_square(found, rms=effects.rms(original), noise=0.0, length=length)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rows", [8, 128, 1024])
@pytest.mark.parametrize("seed", range(3))
def test_sums_in_half_precision_show_in_the_mean_and_other_orders_do_not(dtype, rows, seed):
    values = torch.randn(rows, 4096, generator=torch.Generator().manual_seed(seed)).to(dtype)
    exact = values.double().sum(1)
    original = values.float().sum(1).to(dtype)
    other = values.float().flip(1).reshape(rows, 64, 64).sum(1).sum(1).to(dtype)
    for reference in (exact, None):
        assert rows == 8 or rough(original, in_half(values, 64), reference, 4096) > 1  # of so few elements the mean says little
        assert rough(original, other, reference, 4096) < 1
        assert rough(original, exact.to(dtype), reference, 4096) < 1


def test_who_sums_in_half_precision_itself_is_compared_with_by_its_own_errors():
    values = torch.randn(512, 4096, generator=torch.Generator().manual_seed(1)).to(torch.float16)
    assert rough(in_half(values, 64), in_half(values.flip(1), 64), values.double().sum(1), 4096) < 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn])
@pytest.mark.parametrize("count", [1, 2, 10, 10_000])
def test_rounding_once_is_never_rough_however_few_elements_there_are(dtype, count):
    generator = torch.Generator().manual_seed(3)
    for _ in range(200 if count < 100 else 3):
        exact = torch.randn(count, generator=generator, dtype=torch.float64)
        original = (exact * (1 + 1e-7)).to(dtype)
        assert rough(original, exact.to(dtype), exact, 1) < 1


@pytest.mark.parametrize("outlier", [1.0, 1e3])
def test_an_eighth_of_the_terms_left_out_shows_in_the_mean(outlier):
    x = torch.rand(16, 2048, generator=torch.Generator().manual_seed(5)).to(torch.bfloat16)
    x[0] *= outlier  # one row alone makes up the mean square
    wide = x.double()
    exact = wide * wide.square().mean(1, keepdim=True).rsqrt()
    less = (wide * wide[:, :1792].square().mean(1, keepdim=True).rsqrt()).to(torch.bfloat16)
    original = exact.to(torch.bfloat16)
    assert verdict(original, less, "reassociates").wrong == 0  # each element by itself is near enough
    assert rough(original, less, exact, 2048) > 1
    assert rough(original, less, None, 2048) > 1
