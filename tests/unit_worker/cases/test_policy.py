from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband_worker.cases import policy, seeds
from kernelband_worker.cases.replay import ReplayCase
from kernelband_worker.cases.store import StorageRecord, StoredCase, TreeRecord


def test_kinds_are_told_apart():
    generator = torch.Generator().manual_seed(1)
    assert policy.fit(torch.randn(5000, generator=generator))["kind"] == "normal"
    assert policy.fit(torch.rand(5000, generator=generator))["kind"] == "uniform"


@pytest.mark.parametrize(
    "values", [torch.ones(10), torch.tensor([1.0]), torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("inf")])]
)
def test_constants_and_what_is_not_finite_are_kept(values):
    assert policy.fit(values) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**60), st.sampled_from([torch.float32, torch.float16, torch.bfloat16, torch.float64]), st.booleans())
def test_drawn_values_stay_in_the_recorded_range(seed, dtype, positive):
    values = torch.randn(200, generator=torch.Generator().manual_seed(5)).to(dtype)
    values = values.abs() if positive else values
    how = policy.fit(values)
    size = values.numel() * values.element_size()
    drawn = policy.draw(how, size, seed).view(dtype)
    assert drawn.dtype == dtype
    assert torch.isfinite(drawn).all()
    assert drawn.min() >= values.min()
    assert drawn.max() <= values.max()
    assert torch.equal(drawn, policy.draw(how, size, seed).view(dtype))


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_large_tensors_are_drawn_in_pieces_that_differ(kind, monkeypatch):
    monkeypatch.setattr(policy, "_AT_ONCE", 1000)
    how = {"kind": kind, "low": -2.0, "high": 2.0, "mean": 0.0, "spread": 1.0, "zeros": 0.5, "dtype": "float16"}
    drawn = policy.draw(how, 5003, 7)  # 2,501 elements and one byte
    values = drawn[:-1].view(torch.float16)
    first, second, last = values[:1000], values[1000:2000], values[2000:]
    assert len(drawn) == 5003
    assert not torch.equal(first, second)
    assert all(0.4 < (part == 0).float().mean() < 0.6 and part.abs().max() <= 2 for part in (first, second, last))
    assert torch.equal(drawn, policy.draw(how, 5003, 7))


def test_sparse_stays_sparse():
    values = torch.randn(4000)
    values[torch.rand(4000) < 0.9] = 0
    drawn = policy.draw(policy.fit(values), 16000, 3).view(torch.float32)
    assert 0.8 < (drawn == 0).float().mean() < 0.97


def test_seeds_differ_by_set_and_storage():
    made = {policy.seed_of(0, "case", s, n) for s in range(3) for n in range(3)}
    assert len(made) == 9


def test_seeds_of_the_entry_are_shifted_and_put_back():
    import random

    before = (torch.manual_seed, torch.Generator, random.seed)

    def values():
        torch.manual_seed(0)
        random.seed(0)
        generator = torch.Generator()
        generator.manual_seed(0)
        return torch.rand(1).item(), torch.rand(1, generator=generator).item(), random.random()

    first = values()
    with seeds.shifted(0):
        assert values() == first
    with seeds.shifted(1):
        second = values()
    with seeds.shifted(2):
        third = values()
    assert all(len({a, b, c}) == 3 for a, b, c in zip(first, second, third, strict=True))
    assert (torch.manual_seed, torch.Generator, random.seed) == before


@pytest.mark.parametrize(("role", "device"), [("gpu", "cuda:0"), ("cpu", "cpu")])
def test_further_sets_are_drawn_where_they_are_needed(role, device, monkeypatch):
    fit = {"kind": "normal", "low": -2.0, "high": 2.0, "mean": 0.0, "spread": 1.0, "zeros": 0.0, "dtype": "float32"}
    drawn = []
    monkeypatch.setattr(policy, "draw", lambda how, size, seed, where: drawn.append((how, size, where)))
    record = StorageRecord("digest", 64, "cuda:0", fit)
    stored = StoredCase({"id": "c", "tensors": []}, [TreeRecord("tree", [record]), TreeRecord("tree", [record])], [])
    ReplayCase(SimpleNamespace(role=role, session={"seed": 1}), None, stored).content(1, 0)
    assert drawn == [(fit, 64, device)]
