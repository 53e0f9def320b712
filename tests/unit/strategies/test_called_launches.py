"""A kernel that several host functions launch, one of them in the cases: what no case calls stays as it is."""

from __future__ import annotations

import pytest

from kernelband.strategies import Facts
from tests.unit.strategies.samples import H200, launch, made_by, program_of
from tests.unit.strategies.test_tiling import changed

TEXT = """
import torch
import triton
import triton.language as tl


@triton.jit
def exp_kernel(x, y, stride, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * stride
    for start in range(0, n, BLOCK):
        mask = start + offsets < n
        tl.store(y + row + start + offsets, tl.exp(tl.load(x + row + start + offsets, mask=mask)), mask=mask)


def plain(x):
    y = torch.empty_like(x)
    BLOCK = min(65536, triton.next_power_of_2(x.shape[1]))
    exp_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=BLOCK)
    return y


def fused(x):
    BLOCK = min(65536, triton.next_power_of_2(x.shape[1]))
    exp_kernel[(x.shape[0],)](x, x, x.stride(0), x.shape[1], BLOCK=BLOCK)
    return x
"""


def made(tmp_path, move, callers):
    program = program_of(TEXT, tmp_path)
    one = launch(program, [512, 1, 1], {"BLOCK": 32768}, {"stride": 32000, "n": 32000}, dict.fromkeys("xy", ([512, 32000], "float32")))
    if callers is not None:
        one["callers"] = [{"module": "sample", "path": program.kernel.place.path, "qualname": name} for name in callers]
    case = {"id": "c", "role": "time", "neighbour_of": None, "launches": [one], "tensors": [], "constants": {}}
    return program, made_by(move, program, Facts(H200, (case,)))


@pytest.mark.parametrize(
    ("callers", "launches"),
    [(["plain", "test_plain"], 1), (["plain", "fused"], 2), (["a_wrapper_that_launches_by_itself"], 2), ([], 2), (None, 2)],
)
def test_launches_that_no_case_makes_stay(tmp_path, callers, launches):
    program, found = made(tmp_path, "elements_per_thread", callers)
    assert sum("num_warps" in line for line in changed(program, found[0]) if line.startswith("+")) == launches


@pytest.mark.parametrize(("move", "callers", "fewer"), [("tiles", ["plain"], 2), ("constant_strides", ["plain"], 1)])
def test_only_edits_of_launches_hang_on_it(tmp_path, move, callers, fewer):
    everywhere, here = made(tmp_path, move, None)[1], made(tmp_path, move, callers)[1]
    assert len(everywhere) == fewer * len(here) > 0


@pytest.mark.parametrize("gives", ["return y, BLOCK", "ctx.BLOCK = BLOCK\n    return y", "return y, (BLOCK, 3)"])
@pytest.mark.parametrize("block", ["1024", "triton.next_power_of_2(1000)"])
def test_a_block_that_callers_are_told_changes_at_the_launch(tmp_path, gives, block):
    text = TEXT.partition("def fused")[0].replace("min(65536, triton.next_power_of_2(x.shape[1]))", block)
    text = text.replace("return y", gives).replace("def plain(x)", "def plain(x, ctx=None)")
    program = program_of(text, tmp_path)
    one = launch(program, [512, 1, 1], {"BLOCK": 1024}, {"stride": 32000, "n": 32000}, dict.fromkeys("xy", ([512, 32000], "float32")))
    case = {"id": "c", "role": "time", "neighbour_of": None, "launches": [one], "tensors": [], "constants": {}}
    lines = changed(program, made_by("tiles", program, Facts(H200, (case,)))[0])
    assert [line[:1] for line in lines] == ["-", "+"]
    assert "exp_kernel[" in lines[1]
    assert "BLOCK=BLOCK" not in lines[1]


def test_warps_go_to_32_where_that_is_another_number(tmp_path):
    found = made(tmp_path, "elements_per_thread", None)[1]
    assert [(p.parameters["elements"], p.parameters.get("most")) for p in found] == [(16, None), (16, 32)]


DEFAULTS = """
import torch
import triton
import triton.language as tl


@triton.jit
def exp_kernel(x, y, n, BLOCK: tl.constexpr = 128):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.exp(tl.load(x + offsets, mask=offsets < n)), mask=offsets < n)


def plain(x):
    y = torch.empty_like(x)
    exp_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y


def fused(x):
    exp_kernel[(triton.cdiv(x.numel(), 128),)](x, x, x.numel())
    return x
"""


def test_one_of_two_launches_that_rely_on_the_kernels_default_passes_its_own(tmp_path):
    program = program_of(DEFAULTS, tmp_path)
    one = launch(program, [8192, 1, 1], {"BLOCK": 128}, {"n": 1 << 20}, dict.fromkeys("xy", ([1 << 20], "float32")))
    one["callers"] = [{"module": "sample", "path": program.kernel.place.path, "qualname": "plain"}]
    case = {"id": "c", "role": "time", "neighbour_of": None, "launches": [one], "tensors": [], "constants": {}}
    found = [p for p in made_by("tiles", program, Facts(H200, (case,))) if p.parameters.get("BLOCK", 128) != 128]
    assert found
    for proposal in found:
        (added,) = [line for line in changed(program, proposal) if line.startswith("+")]
        assert 'meta["BLOCK"]),)](x, y, x.numel(), ' in added
        assert f", BLOCK={proposal.parameters['BLOCK']}" in added


BRANCHES = """
def plain(x):
    y = torch.empty_like(x)
    if x.dim() > 1:
        grid = lambda meta: (triton.cdiv(x.numel(), 2 * meta["BLOCK"]),)
        other_kernel[grid](x, y, x.numel(), BLOCK=128)
    else:
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
        exp_kernel[grid](x, y, x.numel())
    return y
"""


@pytest.mark.parametrize(
    ("edit", "moves"),
    [
        (("", ""), True),
        (("        exp_kernel", "        if y is None:\n            grid = (1,)\n        exp_kernel"), False),
        (("        exp_kernel", "        for _ in range(2):\n          exp_kernel"), False),
        (("    if x.dim() > 1:\n", "    for _ in range(2):\n     if x.dim() > 1:\n"), True),
    ],
)
def test_of_two_grids_by_one_name_the_one_in_its_branch_is_meant(tmp_path, edit, moves):
    text = (
        DEFAULTS.partition("def plain")[0]
        + DEFAULTS.partition("@triton.jit")[1]
        + "\ndef other_kernel(x, y, n, BLOCK: tl.constexpr):\n    pass\n\n"
    )
    program = program_of(text + BRANCHES.replace(*edit, 1), tmp_path, kernel="exp_kernel")
    one = launch(program, [8192, 1, 1], {"BLOCK": 128}, {"n": 1 << 20}, dict.fromkeys("xy", ([1 << 20], "float32")))
    case = {"id": "c", "role": "time", "neighbour_of": None, "launches": [one], "tensors": [], "constants": {}}
    found = made_by("tiles", program, Facts(H200, (case,)))
    assert any(p.parameters.get("BLOCK", 128) != 128 for p in found) == moves
