"""Types and tensors that are remembered are what Triton would have made."""

from __future__ import annotations

from typing import Any

import pytest
import triton.language as tl
from triton.runtime import interpreter

from kernelband_worker.cpu.remembered import by_name, remembering

ELEMENTS = [tl.float32, tl.int1, tl.pointer_type(tl.float16), tl.pointer_type(tl.float16, const=True), tl.pointer_type(tl.float16, 3)]


@pytest.fixture
def patched(monkeypatch):
    made = []
    block: Any = tl.block_type.__init__
    monkeypatch.setattr(tl.block_type, "__init__", lambda *args: made.append(args[1:]) or block(*args))
    one, other = remembering(tl.block_type.__init__, tl.tensor.__init__)
    monkeypatch.setattr(tl.block_type, "__init__", one)
    monkeypatch.setattr(tl.tensor, "__init__", other)
    return made


def seen(tensor: Any) -> list[Any]:
    shape = [size.value for size in tensor.shape]
    block = tensor.type
    return [
        tensor.handle,
        shape,
        type(tensor.shape),
        tensor.numel.value,
        tensor.dtype,
        block.element_ty,
        list(block.shape),
        block.numel,
        str(block),
    ]


def values() -> list[Any]:
    sizes = [[4], [tl.constexpr(4)], [2, 4], tl.tuple([2, 4]) if hasattr(tl, "tuple") else (2, 4), [4, 2]]
    return [seen(tl.tensor(at, tl.block_type(element, size))) for at in range(2) for element in ELEMENTS for size in sizes]


def test_they_are_the_same_and_made_once(request):
    plain = values()
    made = request.getfixturevalue("patched")
    assert values() == plain
    kinds = {(str(element), getattr(element, "const", None), getattr(element, "address_space", None)) for element in ELEMENTS}
    assert len(made) == len(kinds) * 3, "of each kind of elements one of four, one of two by four and one of four by two"


def test_a_scalar_has_no_shape(patched):
    assert (list(tl.tensor(0, tl.float32).shape), patched) == ([], [])


def test_what_triton_refuses_is_refused_each_time(patched):
    tl.block_type(tl.float32, [4])
    for _ in range(2):
        with pytest.raises(ValueError, match="power of 2"):
            tl.block_type(tl.float32, [3])
        with pytest.raises(TypeError):
            tl.block_type(tl.float32, [4.0])


def test_types_for_numpy():
    ours = by_name(interpreter._get_np_dtype)
    types = [tl.float32, tl.bfloat16, tl.int1, tl.pointer_type(tl.int8), tl.block_type(tl.int8, [4]), tl.block_type(tl.float32, [4])]
    for _ in range(2):
        assert [ours(t) for t in types] == [interpreter._get_np_dtype(t) for t in types]
