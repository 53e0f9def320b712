"""``heuristic_blocks``: where a heuristic computes a block, and where something else says what it must be."""

from __future__ import annotations

import pytest

from kernelband.strategies import Facts
from tests.unit.strategies.samples import H200, launch, made_by, program_of
from tests.unit.strategies.test_tiling import changed

TEXT = """
import torch
import triton
import triton.language as tl


def rows_each(args):
    return 1 if args["cols"] > 64 else 8


@triton.heuristics({"ROWS": rows_each, "COLS": lambda args: triton.next_power_of_2(args["cols"])})
@triton.jit
def softmax_kernel(x_ptr, out_ptr, rows, cols, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLS)
    mask = (row[:, None] < rows) & (column[None, :] < cols)
    x_ptr += row[:, None] * stride + column[None, :]
    x = tl.load(x_ptr, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    tl.store(out_ptr + row[:, None] * stride + column[None, :], e / tl.sum(e, axis=1, keep_dims=True), mask=mask)


def softmax(x):
    out = torch.empty_like(x)
    rows, cols = x.shape
    softmax_kernel[lambda meta: (triton.cdiv(rows, meta["ROWS"]),)](x, out, rows, cols, x.stride(0))
    return out


def outputs():
    for rows, cols in ((64, 256), (37, 100), (5, 1), (9, 256)):
        yield softmax(torch.randn(rows, cols))
"""


def given(tmp_path, text=TEXT, grid=8192, config=None, **constants):
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "out_ptr"), ([8192, 256], "float32"))
    one = launch(program, [grid, 1, 1], {"ROWS": 1, "COLS": 256, **constants}, {"rows": 8192, "cols": 256, "stride": 256}, tensors)
    one["config"] = config
    return program, Facts(H200, ({"id": "c", "role": "time", "neighbour_of": None, "launches": [one], "tensors": [], "constants": {}},))


def made(tmp_path, text=TEXT, **more):
    program, facts = given(tmp_path, text, **more)
    return program, made_by("heuristic_blocks", program, facts)


def test_a_number_stands_where_the_heuristic_did(tmp_path):
    program, found = made(tmp_path)
    assert [p.parameters for p in found] == [{"ROWS": n} for n in (8, 4, 16, 2)]
    assert changed(program, found[0]) == [
        '-@triton.heuristics({"ROWS": rows_each, "COLS": lambda args: triton.next_power_of_2(args["cols"])})',
        '+@triton.heuristics({"ROWS": lambda args: 8, "COLS": lambda args: triton.next_power_of_2(args["cols"])})',
    ]
    assert found[0].what == "ROWS 1→8, where a heuristic computes it."


def test_heuristics_that_are_made_elsewhere_are_kept_but_for_one(tmp_path):
    text = TEXT.replace('@triton.heuristics({"ROWS": rows_each,', "CHOSEN = dict(ROWS=rows_each, **{")
    text = text.replace('args["cols"])})\n@triton.jit', 'args["cols"])})\n\n\n@triton.heuristics(CHOSEN)\n@triton.jit')
    program, found = made(tmp_path, text)
    assert changed(program, found[0])[-1] == '+@triton.heuristics({**CHOSEN, "ROWS": lambda args: 8})'


@pytest.mark.parametrize(
    "edits",
    [
        [("x.stride(0))", "x.stride(0), ROWS=1)")],  # a launch passes it
        [("ROWS: tl.constexpr,", "ROWS: tl.constexpr = 1,"), ("COLS: tl.constexpr)", "COLS: tl.constexpr = 256)")],
        [("triton.cdiv(rows, meta", "triton.cdiv(rows, 1 * meta")],  # the grid doesn't follow from it alone
        [("/ tl.sum(e, axis=1, keep_dims=True)", "/ tl.sum(tl.sum(e, axis=1), axis=0)")],  # of all rows of a program
        [("(row[:, None] < rows) & ", "")],  # only a divisor may replace it
        [("x.stride(0))", "x.stride(0), **options)"), ("def softmax(x)", "def softmax(x, **options)")],
    ],
)
def test_what_keeps_its_size(tmp_path, edits):
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    assert made(tmp_path, text)[1] == []


def test_sizes_of_a_tuner_and_few_programs_keep_theirs(tmp_path):
    assert made(tmp_path, config={"ROWS": 1, "num_warps": 4})[1] == []
    assert made(tmp_path, grid=300)[1] == []
    assert [p.parameters["ROWS"] for p in made(tmp_path, ROWS=8)[1]] == [4, 16, 2, 32, 1, 64]
