"""The values that finalists are stressed with: what each makes of a tensor, and that it may be made of overlapping views twice."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.cases import values

X = torch.randn(6, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def generator():
    return torch.Generator().manual_seed(1)


def made(name, x=X, dtype=torch.float32):
    change = {n: c for n, c, *_ in (*values.FINITE, *values.NOT_FINITE)}[name]
    return change(x, dtype, generator())


@pytest.mark.parametrize("name", [n for n, *_ in (*values.FINITE, *values.NOT_FINITE)])
def test_twice_is_once(name):
    once = made(name)
    if name not in dict(values.NOT_FINITE):  # places are drawn anew there, in other rows perhaps
        assert torch.allclose(made(name, once), once, rtol=0.05, atol=1e-9)


def test_large_values_overflow_an_exponential_and_tiny_ones_are_as_small_as_an_epsilon():
    assert not torch.exp(made("large values").float()).isfinite().all()
    assert not torch.exp(made("large values", dtype=torch.float64)).isfinite().all()
    assert made("tiny values").square().mean().item() == pytest.approx(2.0**-20)
    assert made("values that are tinier yet").square().mean().item() == pytest.approx(2.0**-40)
    assert made("values that are tinier yet", dtype=torch.float16) is None
    assert made("large values", torch.zeros(4, 4, dtype=torch.float64)) is None


def test_far_from_zero_keeps_the_spread():
    far = made("values far from zero")
    assert far.std().item() == pytest.approx(X.std().item())
    assert far.mean().item() == pytest.approx(64 * X.std().item())
    assert made("values far from zero", torch.ones(4, 4, dtype=torch.float64)) is None


@pytest.mark.parametrize(("name", "first"), [("one outlier per row", False), ("an outlier in the first element", True)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_each_row_has_one_outlier(name, first, dtype):
    other = made(name, dtype=dtype)
    moved = other != X
    assert moved.sum(1).tolist() == [1] * 6
    assert (moved[:, 0] == first).all()
    assert other.to(dtype).isfinite().all()
    assert (other.abs().amax(1) > 100 * X.abs().median()).all()


@pytest.mark.parametrize("name", [n for n, _ in values.NOT_FINITE])
def test_what_is_not_finite_stands_in_few_rows(name):
    other = made(name)
    assert 0 < (~other.isfinite()).any(1).sum() <= 2


@pytest.mark.parametrize("number", [1.0, 0.0, -2.0])
def test_constants_are_drawn_around_what_they_were(number):
    plain = torch.full((50,), number, dtype=torch.float64)
    assert values.looks_constant(plain)
    assert not values.looks_constant(X)
    drawn = values.drawn(plain, torch.float32, generator())
    assert len(drawn.unique()) == 50
    assert ((drawn / number > 0.4).all() and (drawn / number < 1.6).all()) if number else drawn.abs().max() <= 0.5


@pytest.mark.parametrize(("before", "after"), [(1e-5, 0.1), (1.0, 0.75), (0.0, 0.25), (-1e-3, -0.1), (-2.0, -1.5)])
def test_other_numbers_are_no_special_ones(before, after):
    assert values.other_number(before) == after


# ---------------------------------------------------------------------- tables

CUMULATED = torch.tensor([0, 3, 7, 7, 12], dtype=torch.int32)
ARANGE = torch.arange(30, dtype=torch.int64)
STARTS, LENGTHS = torch.tensor([0, 5, 9, 20]), torch.tensor([5, 4, 11, 5])
REPEATED = torch.tensor([3, 1, 3, 0, 2], dtype=torch.int32)


def test_what_ascends_is_told_from_a_table_that_counts_nothing_but_itself():
    assert values.is_sorted(CUMULATED)
    assert not values.is_sorted(ARANGE)
    assert not values.is_sorted(REPEATED)
    assert not values.is_sorted(CUMULATED.reshape(1, -1))


def test_rows_that_belong_together_stay_together():
    pairs = set(zip(STARTS.tolist(), LENGTHS.tolist()))
    starts, lengths = values.permuted([STARTS, LENGTHS], generator())
    assert set(zip(starts.tolist(), lengths.tolist())) == pairs
    assert starts.tolist() != STARTS.tolist()
    assert values.drawn_anew([STARTS, LENGTHS], generator()) is None
    repeated = [torch.cat((t, t[:1])) for t in (STARTS, LENGTHS)]
    starts, lengths = values.drawn_anew(repeated, generator())
    assert set(zip(starts.tolist(), lengths.tolist())) <= pairs


def test_a_permuted_table_holds_the_same_in_another_order_and_what_ascends_stays():
    (other,) = values.permuted([ARANGE], generator())
    assert sorted(other.tolist()) == ARANGE.tolist()
    assert other.tolist() != ARANGE.tolist()
    assert values.permuted([CUMULATED], generator()) is None
    kept, moved = values.permuted([CUMULATED, LENGTHS], generator())
    assert torch.equal(kept, CUMULATED)
    assert sorted(moved.tolist()) == sorted(LENGTHS.tolist())


def test_what_is_drawn_anew_stays_within_what_there_was():
    (drawn,) = values.drawn_anew([CUMULATED], generator())
    assert drawn[0] == 0
    assert drawn[-1] == 12
    assert (drawn.diff() >= 0).all()
    assert drawn.dtype == CUMULATED.dtype
    (again,) = values.drawn_anew([REPEATED], generator())
    assert set(again.tolist()) <= set(REPEATED.tolist())
    assert values.drawn_anew([ARANGE], generator()) is None  # perhaps places to write to, each its own


def test_an_eighth_of_a_mask_is_flipped():
    mask = torch.ones(8000, dtype=torch.bool)
    assert (~values.flipped(mask, generator())).double().mean().item() == pytest.approx(1 / 8, rel=0.2)
