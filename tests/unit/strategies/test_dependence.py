"""What each name of a kernel depends on."""

from __future__ import annotations

import pytest

from kernelband.strategies.code import View
from tests.unit.strategies.samples import facts, program_of

TEXT = """import torch, triton
import triton.language as tl


@triton.jit
def kernel(x, n, m, BLOCK: tl.constexpr):
    {line}
    tl.store(x, 1.0)


def host(x):
    kernel[(8, 8)](x, 8, 8, BLOCK=8)
"""


@pytest.mark.parametrize(
    ("line", "depends"),
    [
        ("i, j = tl.program_id(0), tl.program_id(1)", {"i": {"@0"}, "j": {"@1"}}),
        ("(i, [j, k]) = (tl.program_id(0), (n, tl.arange(0, BLOCK)))", {"i": {"@0"}, "j": {"n"}, "k": {"#BLOCK"}}),
        ("i = j = tl.program_id(0) * n", {"i": {"@0", "n"}, "j": {"@0", "n"}}),
        ("i, j = tl.split(x + tl.program_id(0))", {"i": {"x", "@0"}, "j": {"x", "@0"}}),
        ("i, *j = tl.program_id(0), n, m", {"i": {"@0", "n", "m"}, "j": {"@0", "n", "m"}}),
        ("i, j = n, m\n    i, j = j, i", {"i": {"n", "m"}, "j": {"n", "m"}}),
    ],
)
def test_of_several_names_each_depends_on_what_it_is_given(line, depends, tmp_path):
    program = program_of(TEXT.format(line=line), tmp_path)
    view = View.read(program, facts())
    assert view is not None
    assert {name: set(view.kernel.depends[name]) for name in depends} == depends
