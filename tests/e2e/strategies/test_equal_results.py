"""Every move's edit computes what the original computes: real modules under Triton's interpreter, in the worker's Python."""

from __future__ import annotations

import re

import attrs
import pytest

from kernelband.strategies import STRATEGIES
from tests.e2e.strategies.comparing import differences
from tests.unit.strategies import step_samples, whole_samples
from tests.unit.strategies import test_heuristic_blocks as heuristic_blocks
from tests.unit.strategies import test_single_elements as single_elements
from tests.unit.strategies.row_samples import CONSTANTS, GATHERED, NORM, RUNNING, SCALARS, TENSORS
from tests.unit.strategies.samples import H200, again, example, example_facts, facts, launch, made_by, program_of
from tests.unit.strategies.test_spellings import counted

EACH = 2  # proposals of a move: the first, and the last
SMALL = attrs.evolve(H200, multiprocessors=2)  # so that a persistent program takes several tiles of a small input
#: Each example, and an edit that makes it a little wrong: the judge of these tests can tell.
BROKEN = {
    "vector_add": ("x + y", "x + y + 0.001"),
    "fused_softmax": ("n_cols\n    row", "n_cols - 1\n    row"),
    "layer_norm": ("range(0, N,", "range(0, N - 1000,"),
    "matmul": ("K - k *", "K - 1 - k *"),
    "batched_matmul": ("offs_k[:, None] < K - k)", "offs_k[:, None] < K - 1 - k)"),
    "column_sum": ("range(0, M,", "range(1, M,"),
    "cross_entropy": ('other=-float("inf"))', "other=1.0)"),
    "flash_attention": ("offs_m[:, None] >= cols", "offs_m[:, None] > cols"),
    "gather": ("mask = offsets < embedding_dim", "mask = offsets < embedding_dim - 1"),
    "layer_norm_bwd_dx_kernel": ("(xhat * c1 + c2)", "(xhat * c1 - c2)"),
    "layer_norm_bwd_dwdb_kernel": ("range(0, M,", "range(32, M,"),
    "rms_norm": ("axis=0) / n_cols", "axis=0) / BLOCK_SIZE"),
    "rope": ("sin = -sin", "sin = +sin"),
    "row_quantize": ("0.5, -0.5", "0.5, 0.5"),
    "scan": ("carry += tl.sum(x, axis=0)", "carry += tl.max(x, axis=0)"),
    "swiglu": ("gate * tl.sigmoid(gate)", "tl.sigmoid(gate)"),
}
NAMES = tuple(BROKEN)


def chosen(program, given):
    """A few proposals of each move: the first ones, and the last."""
    moves = {}
    for strategy in STRATEGIES:
        for proposal in strategy.propose(program, given):
            moves.setdefault((strategy.card.name, proposal.move), []).append(proposal)
    return {p.key: p for found in moves.values() for p in [*found[: EACH - 1], found[-1]]}


@pytest.mark.parametrize("name", NAMES)
def test_every_move_of_the_examples(name, tmp_path):
    program = example(name, tmp_path)
    proposals = chosen(program, attrs.evolve(example_facts(name, program), device=SMALL))
    path = program.kernel.place.path
    original = program.texts[path]
    texts = [original, *(p.patch.apply(program.texts)[path] for p in proposals.values())]
    broken = original.replace(*BROKEN[name])
    assert broken != original
    *told, caught = differences([*texts, broken], example=name)
    assert {k: r for k, r in zip(["original", *proposals], told, strict=True) if r is not None} == {}
    assert caught is not None  # the judge of this test can tell


@pytest.mark.parametrize("name", NAMES)
def test_moves_compose(name, tmp_path):
    """A variant is a parent like any other: the first proposal of each strategy, each on the text of the one before."""
    program = example(name, tmp_path)
    given = attrs.evolve(example_facts(name, program), device=SMALL)
    path = program.kernel.place.path
    texts, told = [program.texts[path]], ["original"]
    for strategy in reversed(STRATEGIES):
        seen = set()
        for proposal in strategy.propose(program, given):
            if proposal.move not in seen and proposal.move != "tiles":
                seen.add(proposal.move)
                texts.append(proposal.patch.apply(program.texts)[path])
                told.append(proposal.key)
        if len(texts) > 1:
            program = again(program, {path: texts[-1]}, tmp_path)
    tile = next(STRATEGIES[0].propose(program, given), None)
    if tile is not None:
        texts.append(tile.patch.apply(program.texts)[path])
        told.append(tile.key)
    assert {k: r for k, r in zip(told, differences(texts, example=name), strict=True) if r is not None} == {}
    assert len(texts) > 3


ROWS = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, w_ptr, y_ptr, norm_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
    w = tl.load(w_ptr + cols, mask=cols < n_cols)
    norm = tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(norm_ptr + row, norm)
    tl.store(y_ptr + row * stride + cols, x / norm * w, mask=cols < n_cols)


def scale_rows(x, w):
    y = torch.empty_like(x)
    norm = torch.empty(x.shape[0])
    scale_kernel[(x.shape[0],)](x, w, y, norm, x.stride(0), x.shape[1], 1e-6, BLOCK=triton.next_power_of_2(x.shape[1]))
    return torch.cat([y, norm[:, None]], 1)


def outputs():
    for rows in (1, 50):
        yield scale_rows(torch.randn(rows, 96), torch.rand(96))
"""


def test_several_rows_per_program(tmp_path):
    program = program_of(ROWS, tmp_path)
    scalars = {"stride": 96, "n_cols": 96, "eps": 1e-6}
    given = facts(launch(program, [5000, 1, 1], {"BLOCK": 128}, scalars, {"x_ptr": ([5000, 96], "float32")}), device=SMALL)
    proposals = chosen(program, given)
    assert any(".rows_per_program(" in k for k in proposals)
    path = program.kernel.place.path
    texts = [program.texts[path], *(p.patch.apply(program.texts)[path] for p in proposals.values())]
    assert {k: r for k, r in zip(["original", *proposals], differences(texts), strict=True) if r is not None} == {}


def test_several_rows_per_program_of_a_kernel_as_projects_write_it(tmp_path):
    program = program_of(NORM, tmp_path, kernel="norm_kernel")
    given = facts(launch(program, [5000, 1, 1], CONSTANTS, SCALARS, TENSORS), device=SMALL)
    proposals = {p.key: p for p in made_by("rows_per_program", program, given)}
    assert len(proposals) >= 2
    path = program.kernel.place.path
    broken = NORM.replace("/ n_cols + eps", "/ (n_cols + 1) + eps")
    texts = [NORM, *(p.patch.apply(program.texts)[path] for p in proposals.values()), broken]
    *told, caught = differences(texts)
    assert {k: r for k, r in zip(["original", *proposals], told, strict=True) if r is not None} == {}
    assert caught is not None


@pytest.mark.parametrize("text", [RUNNING, counted(RUNNING)], ids=["steps", "counts"])
def test_several_rows_per_program_of_a_kernel_whose_loop_carries_numbers(text, tmp_path):
    program = program_of(text, tmp_path)
    tensors = {"x_ptr": ([5000, 100], "float32"), **dict.fromkeys(("out_ptr", "sum_ptr"), ([5000], "float32"))}
    given = facts(launch(program, [5000, 1, 1], {"BLOCK": 32}, {"n_cols": 100}, tensors), device=SMALL)
    proposals = {p.key: p for p in made_by("rows_per_program", program, given)}
    assert len(proposals) >= 2
    path = program.kernel.place.path
    broken = text.replace("tl.exp(highest - now)", "tl.exp(now - highest)")
    *told, caught = differences([text, *(p.patch.apply(program.texts)[path] for p in proposals.values()), broken])
    assert {k: r for k, r in zip(["original", *proposals], told, strict=True) if r is not None} == {}
    assert caught is not None


def test_several_rows_per_program_of_a_kernel_whose_loop_binds_a_block(tmp_path):
    program = program_of(GATHERED, tmp_path)
    tensors = {"mid_ptr": ([5000, 2, 4, 32], "float32"), "lse_ptr": ([5000, 2, 4], "float32"), "out_ptr": ([5000, 2, 32], "float32")}
    given = facts(launch(program, [5000, 2, 1], {"D": 32}, {"n_parts": 4}, tensors), device=SMALL)
    proposals = {p.key: p for p in made_by("rows_per_program", program, given)}
    assert len(proposals) >= 2
    path = program.kernel.place.path
    broken = GATHERED.replace("total * old + new", "total * old + 1")
    *told, caught = differences([GATHERED, *(p.patch.apply(program.texts)[path] for p in proposals.values()), broken])
    assert {k: r for k, r in zip(["original", *proposals], told, strict=True) if r is not None} == {}
    assert caught is not None


@pytest.mark.parametrize("name", [*whole_samples.TEXTS, "elements"])
def test_kernels_without_masks_and_without_blocks(name, tmp_path):
    """Of sizes that larger blocks divide, and of others."""
    program, given = single_elements.given(tmp_path) if name == "elements" else whole_samples.given(name, tmp_path)
    move = "rows_per_program" if name == "elements" else "tiles"
    found = made_by(move, program, given)
    proposals = {p.key: p for p in (*found[:4], *found[-2:])}
    assert len(proposals) == 6
    path = program.kernel.place.path
    text = program.texts[path]
    broken = text.replace("tl.zeros(", "1 + tl.zeros(").replace("acc = 0.0", "acc = 1.0")
    *told, caught = differences([text, *(p.patch.apply(program.texts)[path] for p in proposals.values()), broken])
    assert {k: r for k, r in zip(["original", *proposals], told, strict=True) if r is not None} == {}
    assert caught is not None


SETTINGS = """
import torch
import triton
import triton.language as tl


def settings(n):
    return (1024, 4) if n > 100 else (128, 1)


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, 0.5 * x * (1 + tl.erf(x * 0.70710678)), mask=i < n)


def gelu(x):
    n, y = x.numel(), torch.empty_like(x)
    block, warps = settings(n)
    gelu_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block, num_warps=warps)
    return y


def outputs():
    for n in (5000, 77):
        yield gelu(torch.randn(n))
"""


def test_a_number_in_place_of_a_block_that_is_computed(tmp_path):
    """Of another size than the cases', too."""
    program = program_of(SETTINGS, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([2**20], "float32"))
    given = facts(launch(program, [2**10, 1, 1], {"BLOCK": 1024}, {"n": 2**20}, tensors), device=SMALL)
    proposals = {p.key: p for p in made_by("tiles", program, given) if "BLOCK" in p.parameters}
    assert len({p.parameters["BLOCK"] for p in proposals.values()}) > 3
    path = program.kernel.place.path
    *told, caught = differences(
        [SETTINGS, *(p.patch.apply(program.texts)[path] for p in proposals.values()), SETTINGS.replace("0.5", "0.51")]
    )
    assert {k: r for k, r in zip(["original", *proposals], told, strict=True) if r is not None} == {}
    assert caught is not None


def test_a_number_in_place_of_what_a_heuristic_computes(tmp_path):
    program, given = heuristic_blocks.given(tmp_path)
    proposals = chosen(program, given)
    assert "tiling.heuristic_blocks(ROWS=8)" in proposals
    path, text = program.kernel.place.path, heuristic_blocks.TEXT
    *told, caught = differences(
        [text, *(p.patch.apply(program.texts)[path] for p in proposals.values()), text.replace("< cols)", "< cols - 1)")]
    )
    assert {k: r for k, r in zip(["original", *proposals], told, strict=True) if r is not None} == {}
    assert caught is not None


@pytest.mark.parametrize("name", sorted(step_samples.TEXTS))
def test_many_steps_of_a_recurrence_at_once(name, tmp_path):
    program, given = step_samples.given(name, tmp_path)
    proposals = {p.key: p for p in made_by("steps_at_once", program, given)}
    path, text = program.kernel.place.path, step_samples.TEXTS[name]
    texts = [p.patch.apply(program.texts)[path] for p in (*proposals.values(),)]
    told = differences([text, *texts, re.sub(r"(live = .*) <", r"\1 + 1 <", texts[0])])
    assert {k: r for k, r in zip(["original", *proposals], told[:-1], strict=True) if r is not None} == {}
    assert told[-1] is not None
