"""Shapes of a kernel's names, also of those that stand for something else further down; and what hangs on them."""

from __future__ import annotations

from kernelband.strategies import Facts
from kernelband.strategies.code import View
from kernelband.strategies.code.resizing import resizable
from kernelband.strategies.code.shapes import shapes
from tests.unit.strategies.samples import H200, launch, program_of

TEXT = """
import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x, y, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        total += tl.load(x + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
    total = tl.sum(total, 1)
    total = total / N
    tl.store(y + rows, total, mask=rows < M)


def means(x):
    M, N = x.shape
    y = torch.empty(M, device=x.device)
    rows_kernel[(triton.cdiv(M, 8),)](x, y, M, N, BLOCK_M=8, BLOCK_N=256)
    return y
"""


def view(tmp_path, text=TEXT):
    program = program_of(text, tmp_path)
    tensors = {"x": ([4096, 1024], "float32"), "y": ([4096], "float32")}
    one = launch(program, [512, 1, 1], {"BLOCK_M": 8, "BLOCK_N": 256}, {"M": 4096, "N": 1024}, tensors)
    found = View.read(program, Facts(H200, ({"id": "c", "role": "time", "neighbour_of": None, "launches": [one]},)))
    assert found is not None
    return found


def test_a_name_has_the_shape_of_what_it_stands_for_at_that_line(tmp_path):
    known, kernel = (seen := view(tmp_path)) and shapes(seen.kernel), seen.kernel
    lines = {line.strip(): number for number, line in enumerate(TEXT.splitlines(), 1)}
    assert known.at("total", lines["total = tl.sum(total, 1)"]) == ("BLOCK_M", "BLOCK_N")
    assert known.at("total", lines["total = total / N"]) == ("BLOCK_M",)
    assert known.at("total", lines["tl.store(y + rows, total, mask=rows < M)"]) == ("BLOCK_M",)
    assert "total" not in known
    assert known["rows"] == ("BLOCK_M",)
    assert known.at("N", kernel.node.lineno) == ()


def test_blocks_of_both_sides_may_change_where_a_total_is_reduced_under_its_own_name(tmp_path):
    assert resizable(view(tmp_path), "BLOCK_M")
    assert resizable(view(tmp_path), "BLOCK_N")


def test_what_a_branch_binds_is_not_taken_for_settled(tmp_path):
    text = TEXT.replace("    total = tl.sum(total, 1)\n", "    if N > 8:\n        total = tl.sum(total, 1)\n").replace(
        "    total = total / N\n", ""
    )
    known = shapes(view(tmp_path, text).kernel)
    assert known.at("total", 100) is None
    assert "total" not in known


def test_names_of_a_tuple_have_their_own_shapes_and_block_pointers_that_of_their_block(tmp_path):
    lines = (
        "    row, size = tl.program_id(0), BLOCK_M",
        "    place = row * size + tl.arange(0, BLOCK_M)",
        "    p = tl.make_block_ptr(x, (M, N), (N, 1), (row * BLOCK_M, 0), (BLOCK_M, BLOCK_N), (1, 0))",
        "    p = tl.advance(p, (0, BLOCK_N))",
        "    b = tl.load(p, boundary_check=(0, 1))",
        "    last = tl.sum(b, axis=-1)",
        "    first = tl.sum(b, axis=-2)",
        "",
    )
    known = shapes(view(tmp_path, TEXT.replace("    total = tl.zeros", "\n".join(lines) + "    total = tl.zeros")).kernel)
    assert known["row"] == known["size"] == ()
    assert known["place"] == known["last"] == ("BLOCK_M",)
    assert known["p"] == known["b"] == ("BLOCK_M", "BLOCK_N")
    assert known["first"] == ("BLOCK_N",)


def test_a_name_that_an_iteration_reads_before_it_binds_it_has_the_last_one_s_shape_there(tmp_path):
    """Bound twice in each iteration it has a shape from each of the two lines on, unless the next iteration meets it first."""
    twice = "        part = tl.load(x + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)\n        part = tl.sum(part, 1)\n"
    begin = "        columns = start"
    own = TEXT.replace("        total +=", f"{twice}        total +=")
    seen = view(tmp_path, own)
    lines = {line.strip(): number for number, line in enumerate(own.splitlines(), 1)}
    assert shapes(seen.kernel).at("part", lines["part = tl.sum(part, 1)"]) == ("BLOCK_M", "BLOCK_N")
    first = own.replace(begin, f"        total += part[:, None]\n{begin}").replace(
        "    for start", "    part = tl.zeros([BLOCK_M], tl.float32)\n    for start"
    )
    seen = view(tmp_path, first)
    lines = {line.strip(): number for number, line in enumerate(first.splitlines(), 1)}
    assert shapes(seen.kernel).at("part", lines["total += part[:, None]"]) is None
    read = own.replace(begin, f"        total += part[:, None]\n{begin}")
    seen = view(tmp_path, read)
    lines = {line.strip(): number for number, line in enumerate(read.splitlines(), 1)}
    assert shapes(seen.kernel).at("part", lines["part = tl.sum(part, 1)"]) is None


def test_what_a_reduction_tells_beside_its_result_changes_no_shape(tmp_path):
    text = TEXT.replace(
        "    total = tl.sum(total, 1)\n    total = total / N\n",
        "    scan = tl.cumsum(total, axis=0, reverse=True)\n    total, place = tl.max(scan, axis=1, return_indices=True)\n",
    )
    known = shapes(view(tmp_path, text).kernel)
    assert known["scan"] == ("BLOCK_M", "BLOCK_N")
    assert known["place"] == ("BLOCK_M",)
    assert known.at("total", 100) == ("BLOCK_M",)
