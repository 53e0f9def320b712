"""The speed of light of an example's case: compulsory bytes over memory bandwidth, or matrix products over the tensor cores' rate.

Bytes are what the capture counted: every element that the kernel's launches get, moved once. Where a table of integers decides what is
accessed, the capture says nothing, and where there is a GPU nothing counts FLOPs: both are written here for the examples that need it.
Peaks are the data sheet's. A figure above 100 % means that some of the writes were still in L2 when the clock stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kernelband.hardware import Device
from kernelband.hardware.roofline import roofline

SIZES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "bool": 1}

Case = Mapping[str, Any]


def shapes(case: Case) -> list[list[int]]:
    """Of the arguments, in order."""
    return [t["shape"] for t in case["tensors"]]


def tensor_bytes(facts: Mapping[str, Any]) -> float:
    """Of a tensor's elements."""
    return float(math.prod(facts["shape"]) * SIZES.get(facts["dtype"], 4))


def _product(case: Case) -> float:
    """(…, M, K) times (…, K, N)."""
    a, b = shapes(case)[:2]
    return 2.0 * math.prod(a) * b[-1]


def _attention(case: Case) -> float:
    """Two products of (sequence × dimension); a causal mask hides half of them."""
    z, h, n, d = shapes(case)[0]
    return 4.0 * z * h * n * n * d * (0.5 if case["constants"].get("causal") else 1.0)


#: FLOPs of matrix products, by the name of the host function.
DOTS: Mapping[str, Callable[[Case], float]] = {"matmul": _product, "bmm": _product, "flash_attention": _attention}


def _rows_read_once(case: Case) -> float:
    """An embedding: each row that is asked for comes from memory once. Of n uniform draws from V rows, V (1 - (1 - 1/V)^n) are distinct."""
    ids = next(t for t in case["tensors"] if t["dtype"] == "int64")
    table = next(t for t in case["tensors"] if len(t["shape"]) == 2 and t["dtype"] != "int64")
    n, (rows, _) = math.prod(ids["shape"]), table["shape"]
    row = tensor_bytes(table) / rows
    distinct = rows * (1.0 - (1.0 - 1.0 / rows) ** n)
    return tensor_bytes(ids) + row * (n + distinct)


def _all_and_row_results(case: Case) -> float:
    """Every argument once, and one float32 for each row."""
    return sum(tensor_bytes(t) for t in case["tensors"]) + 4.0 * shapes(case)[0][0]


#: Bytes, where what is accessed depends on data.
BYTES: Mapping[str, Callable[[Case], float]] = {"Embedding.forward": _rows_read_once, "cross_entropy": _all_and_row_results}


def light_us(case: Case, device: Device) -> float | None:
    """The least time that the device needs for the case; None where its bytes aren't known."""
    name = case["function"]["qualname"]
    moved = BYTES[name](case) if name in BYTES and case["compulsory_bytes"] is None else case["compulsory_bytes"]
    if moved is None:
        return None
    products = DOTS[name](case) if name in DOTS else sum(x["dot_flops"] or 0 for x in case["launches"])
    dtype = next((t["dtype"] for t in case["tensors"] if t["dtype"] in device.tensor_flops), "float16")
    return roofline(device, moved, 0.0, {dtype: products} if products else {}).us


def percent(case: Case, device: Device, took_us: float) -> float | None:
    """How much of the speed of light was reached."""
    light = light_us(case, device)
    return None if light is None or took_us <= 0 else 100.0 * light / took_us
