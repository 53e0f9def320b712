"""Instructions and special functions beside matrix products: what they cost, and how they share a multiprocessor."""

from __future__ import annotations

import pytest

from kernelband.hardware.arithmetic import Compute, compute, cost, instructions, special, special_names
from kernelband.hardware.find import find_device
from tests.function_costs import AMD, NVIDIA

H100, MI300X = find_device("h100"), find_device("mi300x")
DIVIDING = 3  # instructions of each element that is divided, in the count of a launch


@pytest.mark.parametrize(("device", "known"), [(H100, NVIDIA), (MI300X, AMD)])
def test_costs_are_those_of_compiled_code(device, known):
    for name, (of_special, of_all) in known.items():
        found = cost(device, name)
        assert (found.special, found.instructions + (DIVIDING if name == "div" else 0)) == (of_special, of_all), name


def test_exp2_saves_the_four_instructions_around_an_exponential(work):
    before, after = work(arithmetic=1e9, functions={"exp": 1e8}), work(arithmetic=1e9, functions={"exp2": 1e8})
    assert (instructions(H100, before), instructions(H100, after)) == (1.5e9, 1.1e9)
    assert special(H100, before) == special(H100, after) == 1e8
    assert compute(H100, after).arithmetic == pytest.approx(1.1e9 / 33.5e12)
    assert compute(H100, after).special == pytest.approx(1e8 / 3.87e12, rel=0.01)


def test_a_run_that_counted_operations_only_is_read_as_before(work):
    old = work(flops=67e9)
    assert (instructions(H100, old), special(H100, old)) == (None, None)
    assert compute(H100, old) == Compute(0.0, 1e-3, 0.0)


def test_products_without_tensor_cores_are_ordinary_arithmetic(work):
    found = compute(H100, work(dot_flops=67e9, arithmetic=0, functions={}))
    assert (found.tensor, found.arithmetic) == (0.0, 1e-3)


def test_one_program_takes_turns_with_itself_and_many_fill_the_gaps():
    balanced, other = Compute(2.0, 1.0, 2.0), Compute(1.0, 3.0, 2.0)
    assert [balanced.together(n) for n in (1, 2, 4)] == [4.0, 3.0, 2.5]
    assert [other.together(n) for n in (0, 1, 2)] == [4.0, 4.0, 3.5]
    assert other.together(10**6) == pytest.approx(3.0)


def test_functions_are_named_by_what_they_take(work):
    found = work(functions={"log": 1e9, "div": 2e6, "exp": 1e6, "div_rn": 10, "libdevice.tanh": 3e6, "exp2": 0})
    assert special_names(H100, found) == ("tanh", "division", "exp")
    assert special_names(MI300X, found)[0] == "log"
    assert special_names(H100, work()) == ()
