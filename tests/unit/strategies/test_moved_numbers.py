"""Pointers and indices that a loop adds to in each iteration are numbers of its variable."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernelband.strategies.code import View
from kernelband.strategies.code.affine import Numbers, Sum
from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.samples import facts, launch, program_of

TEXT = (
    HEAD
    + """\
@triton.jit
def kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    BEFORE
    for i in range(START, n, STEP):
        LINES
        tl.store(y_ptr + i, tl.load(p))
        BEHIND


def host(x, y):
    kernel[(4,)](x, y, 64, 32, BLOCK=16)
"""
)


def read(folder: Path, **lines: str) -> Sum | None:
    """``p`` as the load reads it, with sums' names of the loop and the row in words."""
    text = TEXT
    for place, line in {"BEFORE": "p = x_ptr + row", "START": "0", "STEP": "1", "LINES": "pass", "BEHIND": "p += stride", **lines}.items():
        text = text.replace(place, line)
    program = program_of(text, folder)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([4096], "float32"))
    view = View.read(program, facts(launch(program, [4, 1, 1], {"BLOCK": 16}, {"n": 64, "stride": 32}, tensors)))
    assert view is not None
    (load,) = view.kernel.calls({"load"})
    (loop,) = [n for n in view.kernel.nodes if isinstance(n, ast.For) and n.target.id == "i"]
    found = Numbers(view.kernel, {"n": 64, "stride": 32, "BLOCK": 16}).read(load.args[0], load)
    words = {f"~{loop.lineno}:{loop.col_offset}": "i", "@0": "row", "*x_ptr": "x"}
    return None if found is None else {words.get(k, k): v for k, v in found.items() if v}


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ({}, {"x": 1, "row": 1, "i": 32}),
        ({"STEP": "BLOCK"}, {"x": 1, "row": 1, "i": 2}),  # 32 in 16 steps
        ({"STEP": "BLOCK", "BEHIND": "p += 8"}, None),  # half an element in a step
        ({"START": "4"}, {"x": 1, "row": 1, "i": 32, "": -128}),
        ({"LINES": "p += stride", "BEHIND": "pass"}, {"x": 1, "row": 1, "i": 32, "": 32}),  # read behind its step
        ({"BEFORE": "pass", "LINES": "p = x_ptr", "BEHIND": "x_ptr += BLOCK"}, {"x": 1, "i": 16}),
        ({"BEHIND": "p += i"}, None),  # another number each time
        ({"BEHIND": "p -= stride"}, None),
        ({"BEHIND": "p += stride\n        p += stride"}, None),
        ({"BEHIND": "if i > 3:\n            p += stride"}, None),
        ({"BEHIND": "p += stride\n    p = y_ptr"}, {"x": 1, "row": 1, "i": 32}),  # later
        ({"BEFORE": "p = x_ptr\n    p = p + row"}, {"x": 1, "row": 1, "i": 32}),
        ({"BEFORE": "p = x_ptr\n    if row > 1:\n        p = y_ptr"}, None),
        ({"BEHIND": "for j in range(4):\n            p += stride"}, None),
    ],
)
def test_what_a_loop_adds_to(lines: dict[str, str], wanted: Sum | None, tmp_path: Path) -> None:
    assert read(tmp_path, **lines) == wanted


def test_a_loop_inside_another_goes_on_from_where_it_stopped(tmp_path: Path) -> None:
    """What the outer one doesn't reset has no number of the inner one's variable alone."""
    inner = "for j in range(2):\n            tl.store(y_ptr + j, tl.load(p))\n            p += BLOCK"
    text = TEXT.replace("BEFORE", "p = x_ptr").replace("START", "0").replace("STEP", "1").replace("LINES", inner)
    text = text.replace("        tl.store(y_ptr + i, tl.load(p))\n        BEHIND\n", "")
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([4096], "float32"))
    view = View.read(program, facts(launch(program, [4, 1, 1], {"BLOCK": 16}, {"n": 64, "stride": 32}, tensors)))
    assert view is not None
    (load,) = view.kernel.calls({"load"})
    assert Numbers(view.kernel, {"n": 64, "stride": 32, "BLOCK": 16}).read(load.args[0], load) is None
