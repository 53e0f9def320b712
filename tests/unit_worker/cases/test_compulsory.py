"""Bytes that a call must move at least: each tensor once, unless integers say what is accessed."""

from __future__ import annotations

import pytest

from kernelband_worker.cases.facts import compulsory_bytes


def tensor(dtype, storage, shape=(4, 8), stride=(8, 1)):
    return {"dtype": dtype, "shape": list(shape), "stride": list(stride), "storage": storage, "offset": 0}


def launch(*tensors, target=True):
    return {"target": target, "tensors": {f"p{i}": t for i, t in enumerate(tensors)}}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_bytes_are_values(dtype):
    assert compulsory_bytes([launch(tensor("float16", 0), tensor(dtype, 1))]) == 64 + 32


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_table_of_integers_leaves_it_unknown(dtype):
    assert compulsory_bytes([launch(tensor("float16", 0), tensor(dtype, 1))]) is None
    assert compulsory_bytes([launch(tensor("float16", 0), tensor(dtype, 1, shape=(1,), stride=(1,)))]) is not None


def test_each_tensor_counts_once_and_other_kernels_not_at_all():
    x = tensor("float32", 0)
    assert compulsory_bytes([launch(x, x), launch(x), launch(tensor("float32", 7), target=False)]) == 128
    assert compulsory_bytes([launch(tensor("float32", 0, stride=(0, 1)))]) == 32
