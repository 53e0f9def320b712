"""Blocks whose lanes, beginnings, size or number say more than where an element lies: with another size they would say something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.strategies.code import View
from kernelband.strategies.code.lanes import laned
from kernelband.strategies.code.resizing import why_kept
from tests.unit.strategies.samples import facts, launch, made_by, program_of
from tests.unit.strategies.test_unsound_blocks import KEPT, PARTS, STORED, WALK, resized

NEXT = "tl.load(x_ptr + {0}, mask={0} < n, other=0.0)"


@pytest.mark.parametrize(
    ("lines", "same"),
    [
        ("x = x * 2", True),
        ("x = x * tl.load(y_ptr + tl.arange(0, BLOCK))", False),  # a weight for each lane
        ("lanes = tl.arange(0, BLOCK)\n    x = x * tl.load(y_ptr + lanes)", False),
        ("x = x * tl.arange(0, BLOCK)", False),
        ("x = x * offs", True),
        ("x = x * BLOCK", False),
        ("size = BLOCK\n    x = x * size", False),
        ("x = x + tl.full((BLOCK,), BLOCK, tl.float32)", False),
        ("x = x + tl.zeros((BLOCK,), tl.float32)", True),
        ("x = x + tl.full((BLOCK,), n, tl.float32)", True),
        ("x = x + tl.num_programs(0)", False),
        ("x = x + tl.num_programs(1)", True),
        ("x = tl.flip(x, 0)", False),
        ("x = tl.reshape(tl.flip(tl.reshape(x, (2, BLOCK // 2)), 0), (BLOCK,))", False),
        ("x = tl.load(x_ptr + pid * BLOCK + (BLOCK - 1 - tl.arange(0, BLOCK)), mask=offs < n)", False),
        ("x = tl.where(tl.arange(0, BLOCK) < 3, 0.0, x)", False),
        ("x = tl.where(tl.arange(0, BLOCK) == BLOCK - 1, 0.0, x)", False),
        ("x = tl.where(offs < 3, 0.0, x)", True),
        ("half = pid * 2\n    x = x * tl.load(y_ptr + half)", False),
        (f"half = pid * 2\n    x = x - {NEXT.format('half * BLOCK + tl.arange(0, BLOCK)')}", False),
        (f"x = x - {NEXT.format('offs + BLOCK')}", False),
        (f"x = x - {NEXT.format('offs + 1')}", True),
        ("x = x * tl.load(y_ptr + pid * BLOCK)", False),  # a scale for each block
        ("start = pid * BLOCK\n    x = x * tl.load(y_ptr + start)", False),
        ("start = pid * BLOCK\n    x = x * start", False),
        ("start = pid * BLOCK\n    x, z = x * start, x", False),
        ("if pid * BLOCK < 4096:\n        x = x * 2", False),
        ("lanes = tl.arange(0, BLOCK)\n    x = x + tl.load(y_ptr + pid * BLOCK + lanes, mask=pid * BLOCK + lanes < n)", True),
        ("lanes = tl.arange(0, BLOCK)\n    x = x + tl.load(y_ptr + pid * BLOCK + lanes, mask=lanes < n - pid * BLOCK)", True),
        ("x = x * tl.rand(7, tl.arange(0, BLOCK))", False),
        ("x = x * tl.rand(7, offs)", True),
        ("x = x * tl.load(y_ptr + offs % BLOCK)", False),
        ("x = x * tl.load(y_ptr + (offs - pid * BLOCK))", False),
        ("x = x * tl.load(y_ptr + offs // 4, mask=offs < n)", True),
        ("offs = tl.max_contiguous(tl.multiple_of(offs, BLOCK), BLOCK)", True),  # told to the compiler only
        ("x = x + tl.broadcast_to(x, BLOCK)", True),
        ("z = x.to(tl.float32)\n    z += BLOCK\n    x = z", False),
        ("z = x_ptr + pid * BLOCK\n    z += tl.arange(0, BLOCK)\n    x = x + tl.load(z, mask=offs < n, other=0.0)", True),
    ],
)
def test_a_block_that_is_dealt_out_to_programs(lines: str, same: bool, tmp_path: Path) -> None:
    text = PARTS.replace("STORE", f"{lines}\n    tl.store(y_ptr + offs, x, mask=offs < n)")
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([1 << 20], "float32"))
    given = facts(launch(program, [4096, 1, 1], {"BLOCK": 256}, {"n": 1 << 20}, tensors))
    assert any(p.parameters.get("BLOCK", 256) != 256 for p in made_by("tiles", program, given)) == same


@pytest.mark.parametrize(
    ("steps", "after", "same"),
    [
        ([STORED.format("x * cols")], "pass", True),
        ([STORED.format("x * tl.arange(0, BLOCK)")], "pass", False),
        ([STORED.format("x * off")], "pass", False),
        ([STORED.format("x * BLOCK")], "pass", False),
        ([STORED.format("x * tl.load(x_ptr + off)")], "pass", False),
        ([STORED.format("x * tl.load(x_ptr + tl.arange(0, BLOCK))")], "pass", False),
        ([STORED.format("tl.flip(x, 0)")], "pass", False),
        ([STORED.format("tl.where(off > 512, 0.0, x)")], "pass", False),
        ([STORED.format("tl.where(cols > 512, 0.0, x)")], "pass", True),
        (["if off > 512:\n            x = x * 2", STORED.format("x")], "pass", False),
        ([f"z = {NEXT.format('row * n + cols + BLOCK')}", STORED.format("x + z")], "pass", False),
        ([f"z = {NEXT.format('row * n + cols + 1')}", STORED.format("x + z")], "pass", True),
        (["t += tl.sum(x * cols, axis=0)"], KEPT, True),
        (["t += tl.sum(x * tl.arange(0, BLOCK), axis=0)"], KEPT, False),
        (["t += tl.sum(x, axis=0) * off"], KEPT, False),
    ],
)
def test_a_block_that_a_loop_steps_by(steps: list[str], after: str, same: bool, tmp_path: Path) -> None:
    assert resized(WALK.replace("STEP", "\n        ".join(steps)).replace("AFTER", after), tmp_path) == same


def test_a_place_in_a_grid_that_is_numbered_in_groups(tmp_path: Path) -> None:
    """What a name that is bound twice makes of the program's number is one number, too."""
    numbered = "which = tl.program_id(0)\n    per = 8\n    per = min(per, n)\n    pid = which // per * per + which % per\n"
    text = PARTS.replace("pid = tl.program_id(0)\n", numbered).replace("STORE", "tl.store(y_ptr + offs, x, mask=offs < n)")
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([1 << 20], "float32"))
    given = facts(launch(program, [4096, 1, 1], {"BLOCK": 256}, {"n": 1 << 20}, tensors))
    view = View.read(program, given)
    assert view is not None
    assert not laned(view, "BLOCK", {"@0"})
    other = View.read(program_of(text.replace("x, mask=offs", "x * BLOCK, mask=offs"), tmp_path), given)
    assert other is not None
    assert laned(other, "BLOCK", {"@0"})


def test_lanes_that_several_loops_name_and_add_to_their_steps(tmp_path: Path) -> None:
    lines = ["lanes = tl.arange(0, BLOCK)", f"z = {NEXT.format('row * n + off + lanes')}", STORED.format("x + z")]
    again = "\n        ".join([f"for off in range(0, n, BLOCK):\n        {lines[0]}", "cols = off + lanes", STORED.format("t")])
    assert resized(WALK.replace("STEP", "\n        ".join(lines)).replace("AFTER", again), tmp_path)


def test_pointers_that_a_loop_moves_on_by_the_block(tmp_path: Path) -> None:
    moved = WALK.replace("x_ptr + row * n + cols", "p_x + tl.arange(0, BLOCK)").replace(
        "    t = 0.0\n", "    t = 0.0\n    p_x = x_ptr + row * n\n"
    )
    steps = ["p_x += BLOCK", STORED.format("x")]
    assert resized(moved.replace("STEP", "\n        ".join(steps)).replace("AFTER", "pass"), tmp_path)
    assert not resized(moved.replace("STEP", "\n        ".join(["t += BLOCK", *steps])).replace("AFTER", KEPT), tmp_path)


def test_blocks_that_are_counted_in_numbers_of_one_name_among_others(tmp_path: Path) -> None:
    """Of ``h * 256 + g * BLOCK``, with blocks of 256, either might count the blocks; with another size only one does."""
    lines = ["g = tl.load(y_ptr)", "h = tl.load(y_ptr + 1)", "p = x_ptr + h * 256 + g * BLOCK + tl.arange(0, BLOCK)"]
    lines += ["q = x_ptr + g * BLOCK + tl.arange(0, BLOCK)", "z = tl.load(p) + tl.load(q)", "tl.store(y_ptr + offs, z, mask=offs < n)"]
    program = program_of(PARTS.replace("STORE", "\n    ".join(lines)), tmp_path)
    given = facts(launch(program, [4096, 1, 1], {"BLOCK": 256}, {"n": 1 << 20}, dict.fromkeys(("x_ptr", "y_ptr"), ([1 << 20], "float32"))))
    view = View.read(program, given)
    assert view is not None
    assert not laned(view, "BLOCK", {"@0"})


def test_a_tail_that_a_helper_says_the_beginning_of(tmp_path: Path) -> None:
    """Where whole blocks end follows from their size."""
    helper = "@triton.jit\ndef last(n, size: tl.constexpr):\n    return (n - 1) // size * size\n\n\n"
    loop = "for off in range(0, n, BLOCK):"
    tail = WALK.replace("@triton.jit", f"{helper}@triton.jit", 1).replace(loop, f"whole = last(n, BLOCK)\n    {loop}")
    more = "z = tl.load(x_ptr + row * n + whole + tl.arange(0, BLOCK), mask=whole + tl.arange(0, BLOCK) < n, other=0.0)"
    assert resized(tail.replace("STEP", STORED.format("x")).replace("AFTER", more), tmp_path)


LOOKED_UP = """\
import torch
import triton
import triton.language as tl


@triton.jit
def looked_up_kernel(x_ptr, ids_ptr, y_ptr, n, BLOCK: tl.constexpr):
    rows = tl.load(ids_ptr + tl.program_id(0) * 16 + tl.arange(0, 16))
    k = tl.arange(0, BLOCK)
    p = x_ptr + (rows[:, None] // 2) * n + k[None, :]
    t = tl.zeros((16,), tl.float32)
    for i in range(0, tl.cdiv(n, BLOCK)):
        t += tl.sum(tl.load(p, mask=k[None, :] < n - i * BLOCK, other=0.0), axis=1)
        STEP
    AFTER
    tl.store(y_ptr + rows, t)


def looked_up(x, ids):
    y = torch.empty(2 * x.shape[0])
    looked_up_kernel[(ids.numel() // 16,)](x, ids, y, x.shape[1], BLOCK=64)
    return y
"""


def kept(text: str, tmp_path: Path) -> bool:
    program = program_of(text, tmp_path)
    tensors = {"x_ptr": ([256, 512], "float32"), "ids_ptr": ([512], "int32"), "y_ptr": ([512], "float32")}
    view = View.read(program, facts(launch(program, [32, 1, 1], {"BLOCK": 64}, {"n": 512}, tensors)))
    assert view is not None
    return bool(why_kept(view, "BLOCK"))


@pytest.mark.parametrize(
    ("beginning", "step", "after", "same"),
    [
        ("k[None, :]", "p += BLOCK", "pass", True),
        ("2 * k[None, :]", "p += 2 * BLOCK", "pass", True),
        ("2 * k[None, :]", "p += BLOCK", "pass", False),
        ("k[None, :]", "p += BLOCK // 2", "pass", False),
        ("k[None, :]", "p += 64", "pass", False),
        ("k[None, :]", "pass", "pass", False),
        ("k[None, :]", "p = p + 64", "pass", False),
        ("k[None, :]", "p += BLOCK\n        p = p + 1", "pass", False),
        ("k[None, :]", "for j in range(2):\n            p += 32", "pass", False),
        ("k[None, :]", "j = 0\n        while j < 2:\n            p += 32\n            j += 1", "pass", False),
        ("k[None, :]", "p += BLOCK\n        rows = rows + 1", "pass", False),
        ("k[None, :]", "p += BLOCK\n        t += tl.load(y_ptr + i)", "pass", False),
        ("k[None, :]", "if n > 99:\n            p += BLOCK", "pass", False),
        ("k[None, :]", "p += BLOCK", "t += tl.sum(tl.load(p), axis=1)", False),
        ("k[None, :]", "p += BLOCK", "p += 1", False),
        ("k[None, :]", "p += BLOCK", "p = y_ptr + rows\n    t += tl.load(p)", True),
        ("k[None, :] + tl.num_programs(0)", "p += BLOCK", "pass", False),
        ("k[None, :] + tl.load(y_ptr + BLOCK)", "p += BLOCK", "pass", False),
        ("k[None, :] + tl.load(y_ptr + k)[None, :]", "p += BLOCK", "pass", False),
    ],
)
def test_pointers_that_begin_at_rows_that_were_looked_up(beginning: str, step: str, after: str, same: bool, tmp_path: Path) -> None:
    text = LOOKED_UP.replace("k[None, :]\n", f"{beginning}\n").replace("STEP", step).replace("AFTER", after)
    assert kept(text, tmp_path) != same


FOR = "for i in range(0, tl.cdiv(n, BLOCK)):"


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ([], True),
        ([("    t = tl", "    c = 0\n    t = tl"), ("load(p,", "load(p + c,"), ("STEP", "p += BLOCK; c = c + 1")], False),
        ([("    t = tl", "    c = 0\n    t = tl"), ("STEP", "p += BLOCK; c += 1"), ("y_ptr + rows, t", "y_ptr + rows + c, t")], False),
        ([("    t = tl", "    q = y_ptr + rows\n    t = tl"), ("STEP", "p += BLOCK; q += 1"), ("y_ptr + rows, t", "q, t")], False),
        ([("    t = tl", "    q = x_ptr + n\n    t = tl"), ("STEP", "p += BLOCK; q += BLOCK"), ("AFTER", "t += tl.load(q)")], False),
        ([("load(p,", "load(p + tl.load(ids_ptr + i),")], False),  # which block it is
        ([("tl.sum(tl.load", "tl.load(y_ptr + i) * tl.sum(tl.load")], False),  # a scale for each block
        ([(FOR, "for r in range(2):\n     " + FOR)], False),  # twice, and the second time behind the end
        ([(FOR, "for i in range(0, n // BLOCK):"), ("AFTER", "t += tl.sum(tl.load(p), axis=1)")], False),
        ([(FOR, "for i in range(tl.cdiv(n, BLOCK) - 1, -1, -1):"), ("STEP", "p -= BLOCK")], False),
        ([(FOR, "i = 0\n    while i * BLOCK < n:"), ("STEP", "p += 64; i += 1")], False),
        (
            [("    t = tl", "    c = tl.sum(tl.full([BLOCK], 1, tl.int32), 0)\n    t = tl"), ("y_ptr + rows, t", "y_ptr + rows, t * c")],
            False,
        ),
        ([("y_ptr + rows, t", "y_ptr + rows, t * k.shape[0]")], False),
    ],
)
def test_what_a_loop_over_blocks_tells(changes: list[tuple[str, str]], same: bool, tmp_path: Path) -> None:
    text = LOOKED_UP
    for old, new in [*changes, ("STEP", "p += BLOCK"), ("AFTER", "pass")]:
        text = text.replace(old, new)
    assert kept(text, tmp_path) != same
