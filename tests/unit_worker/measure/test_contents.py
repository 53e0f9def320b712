"""Contents that nobody saw before, and blocks of results: the same in every process, different each time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kernelband_worker.cases.store import Store
from kernelband_worker.measure import blocks, bound
from kernelband_worker.measure.contents import STRIDE, Change, Content, put, source


def storage(tensor):
    return tensor.clone().contiguous().view(torch.uint8).reshape(-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64, torch.bfloat16])
def test_a_window_at_a_secret_place(dtype):
    whole = storage(torch.arange(200).to(dtype))
    out = torch.zeros(100 * dtype.itemsize, dtype=torch.uint8)
    put(out, whole, Change("moves", dtype), 101 * 7 + 33)
    assert torch.equal(out.view(dtype), torch.arange(33, 133).to(dtype))
    put(out, whole, Change("moves", dtype), 100)
    assert torch.equal(out.view(dtype), torch.arange(100, 200).to(dtype))


@pytest.mark.parametrize(
    ("dtype", "integers"),
    [(torch.float32, torch.int32), (torch.float16, torch.int16), (torch.bfloat16, torch.int16), (torch.float64, torch.int64)],
)
def test_floats_change_in_every_column_by_about_a_sixteenth(dtype, integers):
    values = (torch.rand(64, 64, dtype=torch.float64) + 0.1).to(dtype)
    out = storage(values)
    put(out, storage(values), Change("flips", dtype), 7)
    found = out.view(dtype).reshape(64, 64)
    changed = found != values
    assert int(changed.sum()) == -(-(values.numel() - 7) // STRIDE)
    assert changed.any(dim=0).all()
    by = ((found.double() - values.double()).abs() / values.double())[changed]
    assert 1 / 33 < float(by.min()) <= float(by.max()) < 1 / 15


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_whole_numbers_turn_within_their_range(dtype):
    values = torch.tensor([3, 4, 5, 9, 3], dtype=dtype)
    out = storage(values)
    put(out, storage(values), Change("turns", dtype, 3, 7), 7 * 5 + 2)
    assert out.view(dtype).tolist() == [5, 6, 7, 4, 5]


def test_without_a_change_it_is_the_content():
    content = storage(torch.rand(10))
    out = torch.zeros_like(content)
    put(out, content, None, 3)
    assert torch.equal(out, content)


def test_a_secret_hangs_on_everything():
    seen = {Content(seed, k, i).secret(n) for seed in ("a", "b") for k in (0, 1) for i in (0,) for n in (0, 1)}
    assert len(seen) == 8
    assert Content("a", 0, 0).secret(0) == Content("a", 0, 2).secret(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float8_e5m2, torch.bool, torch.complex128])
@pytest.mark.parametrize("count", [0, 1, 1000, (blocks.WHOLE_BYTES >> 2) + 5, blocks.WHOLE_BYTES + 16 * blocks.BLOCK_BYTES])
def test_what_is_given_is_what_is_taken_and_nothing_stays(dtype, count, tmp_path):
    store, result = Store(str(tmp_path)), torch.rand(count).to(dtype)
    blocks.give(store, 0, result, "ab" * 16)
    other = torch.full((count,), -1.0).to(dtype)
    whole, unseen = blocks.take(store, 0, other, "ab" * 16)
    assert (whole.dtype, whole.shape) == (dtype, result.shape)
    got, given, old = (t.view(torch.uint8).view(count, dtype.itemsize) for t in (whole, result, other))
    assert torch.equal(got, torch.where(unseen.unsqueeze(1), old, given))
    assert not list((tmp_path / "results").iterdir())
    if count * dtype.itemsize > blocks.WHOLE_BYTES:
        assert (blocks.BLOCKS - 1) * blocks.BLOCK_BYTES < int((~unseen).sum()) * dtype.itemsize <= blocks.BLOCKS * blocks.BLOCK_BYTES
        assert not unseen[0]
        assert not unseen[-1]


def test_blocks_of_another_secret_lie_elsewhere():
    n = 4 * blocks.WHOLE_BYTES
    assert blocks.positions(n, "aa") != blocks.positions(n, "bb")
    found = blocks.positions(n, "aa")
    assert len(found) == len(set(found)) == blocks.BLOCKS
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, n // blocks.BLOCK_BYTES - 1)


def test_a_subclass_is_one_whatever_it_is_called():
    class Tensor(torch.Tensor):
        pass

    Tensor.__module__, Tensor.__qualname__ = "torch", "Tensor"
    assert bound.kind(torch.rand(2)) == "Tensor"
    assert bound.kind(torch.nn.Parameter(torch.rand(2))) == "Parameter"
    assert bound.kind(torch.rand(2).as_subclass(Tensor)) not in ("Tensor", "Parameter")


@pytest.mark.parametrize(("role", "turned"), [("time", True), ("hidden", False)])
def test_integers_alone_turn_but_not_where_what_went_with_them_may_be_left_out(role, turned):
    values = torch.arange(3, 10)
    fact = {"dtype": "int64", "storage": 0, "mutated": False}
    replay = SimpleNamespace(case={"id": "c", "role": role, "tensors": [fact]}, stored=None)
    assert (source(replay, 0, 0, storage(values))[1] is not None) is turned
