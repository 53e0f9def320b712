"""Parts of a walk that have seen nothing: what is put together is what one program has after all of its steps."""

from __future__ import annotations

import pytest

from tests.e2e.strategies.comparing import PYTHON, differences
from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.samples import facts, launch, made_by, program_of

DECODE = (
    HEAD
    + """\
@triton.jit
def decode_kernel(q_ptr, k_ptr, o_ptr, length_ptr, S, D: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    length = tl.load(length_ptr + b)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + b * D + d)
    m = float("-inf")
    l = 0.0
    acc = tl.zeros([D], dtype=tl.float32)
    for start in range(0, S, BLOCK):
        n = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + (b * S + n[:, None]) * D + d[None, :], mask=n[:, None] < S, other=0.0)
        s = tl.where(n < length, tl.sum(q[None, :] * k, axis=1), float("-inf"))
        new = tl.maximum(m, tl.max(s, axis=0))
        alpha = tl.exp(m - new)
        p = tl.exp(s - new)
        acc = acc * alpha + tl.sum(p[:, None] * k, axis=0)
        l = l * alpha + tl.sum(p, axis=0)
        m = new
    tl.store(o_ptr + b * D + d, acc / l)


def decode(q, k, length):
    o = torch.empty_like(q)
    decode_kernel[(q.shape[0],)](q, k, o, length, k.shape[1], D=q.shape[1], BLOCK=16)
    return o


def run(device):
    torch.manual_seed(0)
    for steps, lengths in ((160, (160, 40, 3)), EMPTY):
        q, k = torch.randn(3, 16, device=device), torch.randn(3, steps, 16, device=device)
        yield decode(q, k, torch.tensor(lengths, dtype=torch.int32, device=device))
"""
)
BEGINS = {
    "from nothing": ('float("-inf")\n    l = 0.0', 'float("-inf")\n    l = 0.0'),
    "from one": (
        'float("-inf")\n    l = 0.0',
        'float("-inf")\n    l = 1.0',
    ),  # as attention often does
    "from a low number": ('float("-inf")\n    l = 0.0', "-1e30\n    l = 0.0"),
}


@pytest.mark.parametrize("begins", BEGINS)
def test_parts_that_saw_nothing_count_for_nothing(begins, tmp_path):
    empty = "(0, (0, 0, 0))" if begins == "from one" else "(96, (96, 17, 16))"
    text = DECODE.replace(*BEGINS[begins]).replace("EMPTY", empty)
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("q_ptr", "o_ptr"), ([8, 64], "float32")) | {"k_ptr": ([8, 4096, 64], "float32"), "length_ptr": ([8], "int32")}
    found = made_by("split_walk", program, facts(launch(program, [8, 1, 1], {"D": 64, "BLOCK": 16}, {"S": 4096}, tensors)))
    assert found
    texts = [text, text.replace("acc / l", "acc / l * 1.01"), *(p.patch.apply(program.texts)[program.kernel.place.path] for p in found)]
    wrong, *told = differences(texts, "cpu", PYTHON)[1:]
    assert wrong is not None
    assert told == [None] * len(found)
