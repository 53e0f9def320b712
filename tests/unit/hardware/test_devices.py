"""Names that people and drivers use."""

from __future__ import annotations

import pytest

from kernelband.errors import HardwareError
from kernelband.hardware import Ceilings, driver_properties, find_device, find_devices, from_gpu
from kernelband.hardware.devices import table


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("h100", "h100"),
        ("H100", "h100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("h100-pcie", "h100-pcie"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA RTX A6000", "a6000"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("4090", "rtx4090"),
        ("NVIDIA L40S", "l40s"),
        ("AMD Instinct MI300X", "mi300x"),
        ("B200", "b200"),
    ],
)
def test_find(name, key):
    assert find_device(name).key == key


def test_unknown_gpu_names_close_ones():
    with pytest.raises(HardwareError) as caught:
        find_device("h101")
    assert "Did you mean" in caught.value.message
    assert "h100" in caught.value.message
    with pytest.raises(HardwareError, match="Known are a100"):
        find_device("")


def test_a_list_keeps_order_and_drops_repeats():
    assert [d.key for d in find_devices("h100, a100,H100")] == ["h100", "a100"]
    with pytest.raises(HardwareError, match="No GPU is named"):
        find_devices(" , ")


def test_table_is_sane():
    devices = table()
    assert len({d.key for d in devices}) == len(devices) == 15
    for d in devices:
        assert d.shared_per_program <= d.shared_per_sm
        assert 1e11 < d.dram_bytes_per_s < 1e13
        assert d.tensor_flops["float16"] > d.fp32_flops
        assert d.l2_bytes_per_s > d.dram_bytes_per_s or d.key == "b200"
        assert d.special_per_s < d.instructions_per_s <= d.fp32_flops / 2
    properties = driver_properties(find_device("h100"))
    assert properties["max_shared_mem"] == 232448
    assert properties["multiprocessor_count"] == 132
    assert 1_500_000 < properties["sm_clock_rate"] < 2_500_000


def test_special_functions_are_an_eighth_to_a_quarter_of_other_instructions():
    """16 of 64 lanes on an A100 and on AMD, of 128 on later ones; clocks of data sheets differ by some percent."""
    for key, share in (("a100", 1 / 4), ("h100", 1 / 8), ("rtx4090", 1 / 8), ("b200", 1 / 8), ("mi300x", 1 / 4), ("mi355x", 1 / 4)):
        device = find_device(key)
        assert device.special_per_s / device.instructions_per_s == pytest.approx(share, rel=0.1), key


def _gpu(**changed) -> dict:
    base = {
        "index": 0,
        "uuid": "GPU-1",
        "name": "NVIDIA H200",
        "capability": [9, 0],
        "multiprocessors": 132,
        "memory_bytes": 150754820096,
        "free_bytes": 150000000000,
        "l2_bytes": 62914560,
        "shared_limit_bytes": 232448,
        "registers": 65536,
        "clock_khz": 1980000,
        "memory_clock_khz": 3201000,
        "processes": [],
    }
    return {**base, **changed}


def test_the_gpu_at_hand_takes_the_drivers_limits_and_measured_rates():
    device = from_gpu(_gpu())
    assert (device.key, device.l2_bytes, device.measured) == ("h200", 62914560, False)
    measured = from_gpu(_gpu(), Ceilings(4.3e12, {"bfloat16": 790e12}))
    assert measured.measured
    assert measured.dram_bytes_per_s == 4.3e12
    assert measured.tensor_flops["bfloat16"] == 790e12
    assert measured.tensor_flops["float16"] == device.tensor_flops["float16"]


def test_an_unknown_gpu_of_a_known_architecture_is_scaled_and_says_so():
    device = from_gpu(_gpu(name="NVIDIA GeForce RTX 4070", capability=[8, 9], multiprocessors=46))
    assert "estimated from NVIDIA L4" in device.name
    assert device.arch == 89
    assert device.fp32_flops == pytest.approx(30.3e12 * 46 / 58)
    assert device.special_per_s == pytest.approx(find_device("l4").special_per_s * 46 / 58)
    assert device.instructions_per_s == pytest.approx(device.fp32_flops / 2)


def test_an_unknown_architecture_is_refused():
    with pytest.raises(HardwareError, match=r"compute capability 7\.0"):
        from_gpu(_gpu(name="Tesla V100-SXM2-16GB", capability=[7, 0]))
