"""``rows_per_program`` where a program takes single elements: several of them are one block, with the grid and a mask for the last."""

from __future__ import annotations

import pytest

from tests.unit.strategies.samples import facts, launch, made_by, program_of
from tests.unit.strategies.test_tiling import changed

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(A, B, C, M, N, K):
    row = tl.program_id(0)
    col = tl.program_id(1).to(tl.int64)
    acc = 0.0
    for k in range(K):
        acc += tl.load(A + row * K + k) * tl.load(B + k * N + col)
    tl.store(C + row * N + col, acc)


def product(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    product_kernel[(M, N)](a, b, c, M, N, K)
    return c


def outputs():
    for m, k, n in ((5, 7, 130), (33, 3, 64), (1, 1, 1)):
        yield product(torch.randn(m, k), torch.randn(k, n))
"""


def given(tmp_path, text=TEXT):
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys("ABC", ([512, 512], "float32"))
    return program, facts(launch(program, [512, 512, 1], {}, dict.fromkeys("MNK", 512), tensors))


def made(tmp_path, *edits):
    text = TEXT
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    program, facts_ = given(tmp_path, text)
    return program, made_by("rows_per_program", program, facts_)


def test_elements_of_a_row_are_a_block(tmp_path):
    program, found = made(tmp_path)
    assert {p.parameters["axis"] for p in found} == {0, 1}
    picked = next(p for p in found if p.parameters == {"rows": 128, "num_warps": 4, "axis": 1})
    assert changed(program, picked) == [
        "-def product_kernel(A, B, C, M, N, K):",
        "+def product_kernel(A, B, C, M, N, K, ROWS: tl.constexpr):",
        "-    col = tl.program_id(1).to(tl.int64)",
        "-    acc = 0.0",
        "+    col = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)  # ROWS in each program",
        "+    acc = tl.full([ROWS], 0.0, dtype=tl.float32)",
        "-        acc += tl.load(A + row * K + k) * tl.load(B + k * N + col)",
        "-    tl.store(C + row * N + col, acc)",
        "+        acc += tl.load(A + row * K + k) * tl.load(B + k * N + col, mask=col < N)",
        "+    tl.store(C + row * N + col, acc, mask=col < N)",
        "-    product_kernel[(M, N)](a, b, c, M, N, K)",
        "+    rows = 128  # values of col in each program",
        "+    product_kernel[(M, triton.cdiv(N, rows))](a, b, c, M, N, K, ROWS=rows)",
    ]
    assert "as one block" in picked.what


def test_a_block_of_elements_can_become_a_tile(tmp_path):
    program, found = made(tmp_path)
    text = next(p for p in found if p.parameters["axis"] == 1).patch.apply(program.texts)[program.kernel.place.path]
    again, more = given(tmp_path, text)
    assert any(p.parameters["axis"] == 0 for p in made_by("rows_per_program", again, more))


@pytest.mark.parametrize(
    "edits",
    [
        [("acc = 0.0", "acc = 0")],  # it may be a whole number
        [("range(K)", "range(row + col)")],
        [("tl.store(C + row * N + col, acc)", "tl.store(C, acc)")],
        [("    acc = 0.0", "    if row > col:\n        return\n    acc = 0.0")],
        [("tl.store(C + row * N + col, acc)", "tl.atomic_add(C + row * N + col, acc)")],
        [("(M, N)]", "grid]"), ("    product_kernel", "    grid = (M, N)\n    M, N = N, M\n    product_kernel")],  # others at the launch
        [("[(M, N)]", "[(sizes.pop(), sizes.pop())]")],
        [("tl.program_id(1).to(tl.int64)", "tl.program_id(1) % N"), ("row = tl.program_id(0)", "row = tl.program_id(0) // N")],
    ],
)
def test_programs_that_are_not_alike_stay_single(edits, tmp_path):
    assert not made(tmp_path, *edits)[1]
