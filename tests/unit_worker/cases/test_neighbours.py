"""Sizes that only finalists meet."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.cases.neighbours import Resize, Shift, Unequal, further_changes, largest_size


def case(*shapes, dtype="float32"):
    return {"tensors": [{"name": "abc"[i], "shape": list(s), "dtype": dtype} for i, s in enumerate(shapes)]}


def resized(found):
    return {name: change.after for name, change, _ in found if isinstance(change, Resize) and not name.startswith("twice the other")}


@pytest.mark.parametrize("size", [8, 100, 512, 3000])
def test_the_prime_lies_beyond_blocks_that_are_written_down_and_is_one(size):
    after = resized(further_changes(case((4, size), (size,)), gpu=False))
    for prime in (after["a prime size"], after["the next prime size"]):
        assert all(prime % divisor for divisor in range(2, int(prime**0.5) + 1))
        assert prime > size
    assert after["a prime size"] > 1024
    assert (after["twice the size"], after["twice the size and one"], after["size one"]) == (2 * size, 2 * size + 1, 1)
    assert (after["one more"], after["one less"], after["half"]) == (size + 1, size - 1, size // 2)


def test_the_prime_lies_beyond_the_largest_case_where_memory_allows():
    assert largest_size([case((4, 100), (100,)), case((4, 5000), (5000,)), case(())]) == 5000
    assert resized(further_changes(case((4, 100), (100,)), gpu=False, largest=5000))["a prime size"] == 10007
    assert 1024 < resized(further_changes(case((4, 100), (100,)), gpu=False, largest=10**8))["a prime size"] < 1100


def test_what_would_need_too_much_memory_is_left_out():
    small, large = (resized(further_changes(case((n, n)), gpu=False)) for n in (512, 4096))
    assert "a prime size" in small
    assert set(large) == {"half", "size one", "one less"}


def test_axes_that_are_equal_by_chance_are_tried_alone_first_and_then_with_one_of_another_tensor():
    axes = [change.axes for _, change, _ in further_changes(case((16, 16), (16, 16)), gpu=False) if isinstance(change, Unequal)]
    assert [len(a) for a in axes] == [1] * 4 + [2] * 4
    assert frozenset({(0, 1), (1, 0)}) in axes  # the summed one of a product
    assert not any(isinstance(change, Unequal) for _, change, _ in further_changes(case((16, 32), (32, 16)), gpu=False))


@pytest.mark.parametrize("x", [torch.randn(5, 8), torch.randn(8, 5).t(), torch.randn(3)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_an_offset_view_holds_the_same_at_an_address_that_is_no_multiple_of_16(x, dtype):
    moved = Shift()(x.to(dtype), 0)
    assert torch.equal(moved, x.to(dtype))
    assert moved.stride() == x.stride()
    assert moved.storage_offset() * moved.element_size() % 16


def test_only_the_axes_meant_become_shorter():
    change = Unequal(frozenset({(1, 0)}))
    x = torch.randn(16, 16)
    assert torch.equal(change(x, 0), x)
    assert torch.equal(change(x, 1), x[:9])


def test_the_number_of_elements_follows_a_size():
    change = Resize.of(case((6, 3, 16, 16), (3,)), 16, 15)
    numbers = {16: 15, 16 * 16: 15 * 15, 3 * 16: 3 * 15, 6 * 3 * 16 * 16: 6 * 3 * 15 * 15, 6: 6, 3: 3, 18: 18, 250: 250}
    assert {number: change.number(number) for number in numbers} == numbers
    assert Resize.of(case((16, 16), (256,)), 16, 15).number(256) == 256  # a length of its own
    assert Resize.of(case((256, 64), (128, 128)), 64, 65).number(128 * 128) == 128 * 128  # of the second, perhaps
