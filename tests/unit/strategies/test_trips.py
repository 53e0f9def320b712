"""How often loops run, with blocks as the text has them now and the launches that the cases made."""

from __future__ import annotations

import pytest

from kernelband.strategies import strategy
from kernelband.strategies.code.trips import runs_once, trips
from kernelband.strategies.code.view import View
from tests.unit.strategies.samples import facts, launch, program_of

TEXT = """
import torch, triton
import triton.language as tl

@triton.jit
def k(x_ptr, y_ptr, N{constant}, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in {bounds}:
        cols = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0))
    tl.store(y_ptr + row, total)

def rows(x):
    M, N = x.shape
    y = torch.empty(M)
    BLOCK = {block}
    k[(M,)](x, y, N, BLOCK=BLOCK)
    return y
"""


def loop_of(tmp_path, bounds="range(0, N, BLOCK)", block="1024", constant=""):
    program = program_of(TEXT.format(bounds=bounds, block=block, constant=constant), tmp_path)
    found = facts(*(launch(program, [8], {"BLOCK": 1024}, {"N": n}, {"x": ([8, n], "float32")}) for n in (1000, 4096)))
    view = View.read(program, found)
    assert view is not None
    return view, view.kernel.loops()[0], strategy("pipeline").propose(program, found)


@pytest.mark.parametrize(
    ("bounds", "block", "expected"),
    [
        ("range(0, N, BLOCK)", "1024", [1, 4]),
        ("range(0, N, BLOCK)", "2048", [1, 2]),  # not what the cases ran with
        ("range(0, N, BLOCK)", "triton.next_power_of_2(N)", [1, 1]),
        ("range(0, N, BLOCK)", "min(2048, 1 << (N - 1).bit_length())", [1, 2]),
        ("range(tl.cdiv(N, BLOCK))", "1024", [1, 4]),
        ("range(3)", "1024", [3, 3]),
        ("range(0, N + row, BLOCK)", "1024", []),
        ("range(0, row, BLOCK)", "1024", []),
    ],
)
def test_trips(tmp_path, bounds, block, expected):
    view, loop, _ = loop_of(tmp_path, bounds, block)
    assert trips(view, loop) == expected
    assert runs_once(view, loop) == (expected == [1, 1])


def test_a_loop_that_runs_once_gets_no_hints(tmp_path):
    for block, several in (("1024", True), ("triton.next_power_of_2(N)", False)):
        _, _, found = loop_of(tmp_path, block=block, constant=": tl.constexpr")
        assert bool(list(found)) == several


def test_a_parameter_that_the_kernel_binds_anew_is_not_known(tmp_path):
    program = program_of(
        TEXT.format(bounds="range(0, N, BLOCK)", block="1024", constant="").replace("    total = 0.0", "    N = N // 2\n    total = 0.0"),
        tmp_path,
    )
    view = View.read(program, facts(launch(program, [8], {"BLOCK": 1024}, {"N": 1024}, {"x": ([8, 1024], "float32")})))
    assert view is not None
    assert trips(view, view.kernel.loops()[0]) == []
