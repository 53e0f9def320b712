from __future__ import annotations

import pytest

from kernelband.hardware.find import find_device
from kernelband.hardware.roofline import roofline, tensor_rate


def test_a_copy_is_bound_by_memory():
    found = roofline(find_device("h100"), 3.35e9, flops=1e6)
    assert found.us == pytest.approx(1000)
    assert found.limit == "memory"
    assert found.percent(2000) == pytest.approx(50)


def test_a_large_product_is_bound_by_tensor_cores():
    n = 8192
    found = roofline(find_device("h100"), 3 * n * n * 2, dot_flops={"float16": 2 * n**3})
    assert found.limit == "tensor cores"
    assert found.us == pytest.approx(2 * n**3 / 989.4e12 * 1e6)


def test_what_its_instructions_and_functions_take_bounds_it_too():
    h100 = find_device("h100")
    found = roofline(h100, 1e6, flops=1e12, instructions=33.5e9)
    assert (found.us, found.limit) == (pytest.approx(1000), "arithmetic")
    found = roofline(h100, 1e6, flops=1e9, instructions=1e9, special=1e9)
    assert (found.us, found.limit) == (pytest.approx(1e15 / h100.special_per_s), "special functions")


def test_small_work_is_bound_by_the_launch():
    found = roofline(find_device("h100"), 4096)
    assert found.limit == "launch"
    assert found.us < 1


def test_a_missing_rate_falls_back_to_what_the_hardware_does_instead():
    assert tensor_rate(find_device("a100"), "float8") == 312e12
    assert tensor_rate(find_device("mi355x"), "tf32") == 157.3e12
    assert tensor_rate(find_device("h100"), "float64") == 67e12
