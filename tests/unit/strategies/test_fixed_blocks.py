"""Blocks that tiling leaves as they are because of what the launch passes for them: each is named once, with where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.strategies import fixed_blocks
from kernelband.strategies.code import View
from kernelband.strategies.tiling.candidates import covered
from tests.unit.strategies.samples import facts, launch, made_by, program_of

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


"""
METHOD = """class Scale:
    def __init__(self, block):
        self.block = block

    def __call__(self, x, y, n, cfg):
        {before}
        scale_kernel[{grid}](x, y, n, {passed})
"""


def said(text: str, tmp_path: Path) -> tuple[str, ...]:
    """What is said of a launch with 64 elements a program; what is named there isn't changed."""
    program = program_of(text, tmp_path)
    tensors = {"x": ([4096], "float32"), "y": ([4096], "float32")}
    given = facts(launch(program, [64, 1, 1], {"BLOCK": 64}, {"n": 4096}, tensors))
    found = fixed_blocks(program, given)
    assert not found or all("BLOCK" not in p.parameters for p in made_by("tiles", program, given))
    return found


@pytest.mark.parametrize(
    ("before", "grid", "passed", "source"),
    [
        ("block = self.block", "(triton.cdiv(n, self.block),)", "BLOCK=block", "self.block"),
        ("size = 64\n        block = size", "(triton.cdiv(n, size),)", "BLOCK=block", "size"),
        ("block, warps = cfg\n        m = n // block", "(triton.cdiv(n, block),)", "BLOCK=block, m=m", "cfg, a parameter of __call__"),
        ("from sizes import block\n        c = n // block", "(c,)", "BLOCK=block, c=c", "block, which is imported"),
        ("pass", "lambda m: (triton.cdiv(n, m['BLOCK']),)", "**cfg", "**cfg"),
        ("pass", "lambda m: (triton.cdiv(n, m['BLOCK']),)", 'BLOCK=cfg["x"]', 'cfg["x"]'),
        ("pass", "(triton.cdiv(n, cfg),)", "BLOCK=cfg", "cfg, a parameter of __call__"),
        (
            "block = 32\n        c = n // block\n        block *= 2\n        m = block",
            "(triton.cdiv(n, block),)",
            "BLOCK=block, m=m, c=c",
            "block, which is set more than once",
        ),
        (
            "block = 32\n        block *= 2\n        m = block",
            "(triton.cdiv(n, block),)",
            "BLOCK=block, m=m",
            "block, which is set more than once",
        ),
        ("for block in cfg: m = block", "(triton.cdiv(n, block),)", "BLOCK=block, m=m", "block, which a loop sets"),
    ],
)
def test_a_block_that_can_not_be_moved_is_named(before: str, grid: str, passed: str, source: str, tmp_path: Path) -> None:
    assert said(KERNEL + METHOD.format(before=before, grid=grid, passed=passed), tmp_path) == (f"BLOCK comes from {source}: not changed.",)


@pytest.mark.parametrize(
    ("before", "grid", "passed"),
    [
        ("pass", "(triton.cdiv(n, 64),)", "BLOCK=64"),
        ("block = 64", "(triton.cdiv(n, block),)", "BLOCK=block"),
        ("pass", "(1,)", "BLOCK=triton.next_power_of_2(n)"),
        ("block = triton.next_power_of_2(n)", "(triton.cdiv(n, block),)", "BLOCK=block"),
        ("pass", "(triton.cdiv(n, self.block),)", "BLOCK=self.block"),
        ("block = self.block", "(triton.cdiv(n, block),)", "BLOCK=block"),
        ("block, warps = self.sizes()", "(triton.cdiv(n, block),)", "BLOCK=block"),
        ("block = 64 if n > 9 else 32", "(triton.cdiv(n, block),)", "BLOCK=block"),
        ("block = 32\n        block *= 2", "(triton.cdiv(n, block),)", "BLOCK=block"),
        ("pass", "(7,)", "BLOCK=self.block"),  # neither the grid nor a loop goes on where the block ends: it is no choice
    ],
)
def test_a_block_that_can_be_moved_or_follows_from_a_size_is_not(before: str, grid: str, passed: str, tmp_path: Path) -> None:
    assert said(KERNEL + METHOD.format(before=before, grid=grid, passed=passed), tmp_path) == ()


def test_one_sentence_for_several_launches_of_one_source(tmp_path: Path) -> None:
    method = METHOD.format(before="pass", grid="lambda m: (triton.cdiv(n, m['BLOCK']),)", passed="**cfg")
    again = method.replace("Scale", "Again")
    assert said(KERNEL + method + "\n\n" + again, tmp_path) == ("BLOCK comes from **cfg: not changed.",)


def test_a_constant_that_others_read_and_a_default_of_the_kernel(tmp_path: Path) -> None:
    shared = "SIZE = 64\n\n\ndef other():\n    return SIZE\n\n\n"
    host = "def scale(x, y, n):\n    m = n // SIZE\n    scale_kernel[(triton.cdiv(n, SIZE),)](x, y, n, BLOCK=SIZE, m=m)\n"
    assert said(KERNEL + shared + host, tmp_path) == ("BLOCK comes from SIZE, which other code reads too: not changed.",)
    other = KERNEL[KERNEL.index("@triton.jit") :].replace("scale_kernel", "other_kernel")
    launches = ("other_kernel[(8,)](x, y, n, size)", "scale_kernel[(triton.cdiv(n, size),)](x, y, n, size)")
    both = "def scale(x, y, n):\n    size = 64\n" + "".join(f"    {text}\n" for text in launches)
    text = KERNEL + other + both
    program = program_of(text, tmp_path, kernel="scale_kernel")
    assert fixed_blocks(program, facts()) == ("BLOCK comes from size, which another kernel gets too: not changed.",)
    given = KERNEL.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr = 64")
    host = "def scale(x, y, n):\n    scale_kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n)\n"
    assert said(given + host + host.replace("scale(", "again("), tmp_path) == ()  # either launch can pass a number of its own


def test_a_long_source_is_cut(tmp_path: Path) -> None:
    long = "self.table[(x.shape, y.shape, x.dtype, y.dtype, x.device, y.device)].block"
    grid = "lambda m: (triton.cdiv(n, m['BLOCK']),)"
    (sentence,) = said(KERNEL + METHOD.format(before="pass", grid=grid, passed=f"**{long}"), tmp_path)
    assert sentence == f"BLOCK comes from **{long[:57]}...: not changed."


def test_of_an_autotuned_kernel_only_what_the_launch_passes(tmp_path: Path) -> None:
    tuned = KERNEL.replace("@triton.jit", "@triton.autotune(configs=[triton.Config({CONFIG})], key=['n'])\n@triton.jit")
    host = "def scale(x, y, n, meta):\n    scale_kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n{PASSED})\n"
    own = (tuned + host).replace("CONFIG", '{"BLOCK": 64}').replace("{PASSED}", "")
    assert said(own.replace("Config({{", "Config({").replace("}})]", "})]"), tmp_path) == ()
    passed = (tuned + host).replace("{CONFIG}", "{}, num_warps=8")
    assert said(passed.replace("{PASSED}", ", BLOCK=meta.block"), tmp_path) == ()  # a number can stand there
    assert said(passed.replace("{PASSED}", ", BLOCK=meta"), tmp_path) == ("BLOCK comes from meta, a parameter of scale: not changed.",)


DEPTHS = """import torch
import triton
import triton.language as tl


@triton.jit
def depth_kernel(x, y, n, D, MOST: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.zeros((MOST,), dtype=tl.float32)
    for i in {loop}:
        {guard}
            kept = tl.sum(tl.load(x + (i * D + row) * BLOCK + tl.arange(0, BLOCK)), axis=0)
            best = tl.where(tl.arange(0, MOST) == i, kept, best)
    tl.store(y + row * n + tl.arange(0, MOST), best, mask=tl.arange(0, MOST) < n)


def deepest(x, y, n):
    depth_kernel[(x.shape[1],)](x, y, n, x.shape[1], MOST=8, BLOCK=4096)
"""


@pytest.mark.parametrize("loop", ["tl.static_range(MOST)", "tl.static_range(0, MOST)", "range(MOST)"])
def test_a_loop_that_ends_at_the_block_covers_nothing(loop: str, tmp_path: Path) -> None:
    """Each larger one is unrolled into more: sixteen of a thousand steps held all compilers for a minute."""
    program = program_of(DEPTHS.format(loop=loop, guard="if i < n:"), tmp_path)
    tensors = {"x": ([8, 8192, 4096], "float32"), "y": ([8192, 8], "float32")}
    given = facts(launch(program, [8192, 1, 1], {"MOST": 8, "BLOCK": 4096}, {"n": 8, "D": 8192}, tensors))
    found = made_by("tiles", program, given)
    assert found
    assert all(p.parameters.keys() <= {"num_warps", "num_stages"} for p in found)


@pytest.mark.parametrize(
    ("step", "loop"),
    [
        ("step = tl.num_programs(0) * BLOCK", "range(tl.program_id(0) * BLOCK, n, step)"),
        ("steps = tl.ceil(n / BLOCK)", "range(steps)"),
        ("steps = triton.cdiv(n, BLOCK)", "range(steps)"),
    ],
)
def test_a_loop_whose_steps_hang_on_the_block_covers_the_rest(step: str, loop: str, tmp_path: Path) -> None:
    start = "i = start + tl.arange(0, BLOCK)" if "num_programs" in step else "i = start * BLOCK + tl.arange(0, BLOCK)"
    body = f"    {step}\n    for start in {loop}:\n        {start}\n        tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)\n"
    head, _, _ = KERNEL.partition("    i = tl.program_id")
    text = f"{head}{body}\n\ndef scaled(x, y, n):\n    scale_kernel[(132,)](x, y, n, BLOCK=64)\n"
    program = program_of(text, tmp_path)
    tensors = {"x": ([4096], "float32"), "y": ([4096], "float32")}
    view = View.read(program, facts(launch(program, [132, 1, 1], {"BLOCK": 64}, {"n": 4096}, tensors)))
    assert view is not None
    assert covered(view, None) == ["BLOCK"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("tl.store(y + tl.program_id(0), tl.load(x))", "A program takes single elements: without tl.arange there is no block."),
        (
            "i = tl.arange(0, 64)\n    tl.store(y + i, tl.load(x + i))",
            "The block at line 8 isn't changed: its size, 64, is no constexpr of the kernel's.",
        ),
        (
            "y.store([0], x.load([0]))",
            "Tiles come through x, a tensor descriptor that the host makes: their shape isn't changed.",
        ),
        (
            "p = tl.make_block_ptr(x, (n,), (1,), (0,), (64,), (0,))\n    tl.store(y, tl.sum(tl.load(p)))",
            "Tiles come through the block pointer at line 8, and no tl.arange: their shape isn't changed.",
        ),
    ],
)
def test_a_kernel_without_a_block_that_is_a_constexpr_is_told_why(body: str, sentence: str, tmp_path: Path) -> None:
    kernel = KERNEL[: KERNEL.index("    i = ")] + f"    {body}\n\n\n"
    assert said(kernel + "def scale(x, y, n):\n    scale_kernel[(64,)](x, y, n, BLOCK=64)\n", tmp_path) == (sentence,)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("tl.store(y + tl.program_id(0), tl.sum(tl.load(x + i)))", "line 9 stores what is made of a whole block"),
        ("tl.store(y + tl.program_id(0), 1.0)", "line 9 stores once for each of its programs"),
        ("tl.store(y + i, tl.load(x + i) / BLOCK)", "line 9 divides by it"),
        (
            "v = tl.load(x + i)\n    if tl.max(v) > 1.0:\n        tl.store(y + i, v)",
            "line 10 asks something of a whole block to know what is done",
        ),
        ("tl.store(y + i, tl.load(x + i // BLOCK))", "line 9 tells elements by the block that they are in"),
        ("tl.store(y + i, tl.load(x + tl.program_id(0)))", "line 9 makes more than an element's own place of a program's number"),
        ("tl.atomic_add(y, 1.0)", "what line 9 puts into a total isn't one of its elements"),
        ("tl.store(y + i, tl.arange(0, BLOCK))", "line 9 makes more than an element's own place of where it lies in its block"),
    ],
)
def test_a_block_that_results_tell_is_named_with_the_line(body: str, reason: str, tmp_path: Path) -> None:
    kernel = KERNEL[: KERNEL.index("    tl.store")] + f"    {body}\n\n\n"
    host = "def scale(x, y, n):\n    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)\n"
    assert said(kernel + host, tmp_path) == (f"BLOCK isn't changed: {reason}.",)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("t = x_", "t is of the last block alone behind the loop at line 10"),
        ("t = t * 0.5 + tl.sum(x_)", "t of line 13 goes from block to block, and isn't seen to be a total"),
        ("tl.store(y + i, tl.sum(x_))", "line 13 stores what is made of a whole block"),
    ],
)
def test_a_loop_whose_blocks_results_tell_is_named_with_the_line(body: str, reason: str, tmp_path: Path) -> None:
    kernel = (
        KERNEL[: KERNEL.index("    i = ")]
        + f"""\
    t = tl.zeros([1], tl.float32)
    row = tl.program_id(0)
    for off in range(0, n, BLOCK):
        i = off + tl.arange(0, BLOCK)
        x_ = tl.load(x + row * n + i, mask=i < n, other=0.0)
        {body}
    tl.store(y + row, tl.sum(t))


"""
    )
    assert said(kernel + "def scale(x, y, n):\n    scale_kernel[(64,)](x, y, n, BLOCK=64)\n", tmp_path) == (
        f"BLOCK isn't changed: {reason}.",
    )
