"""A kernel that is used other than by its launches: what calls, keeps or chooses it may start or inline it where nobody sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.source import Workspace, find_program

KERNELS = """\
import functools
import triton
import triton.language as tl
from torch.library import wrap_triton


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


@triton.jit
def other_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pass


def copy(x, y, flag=True):
"""

LAUNCHED = {
    "by its name": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)",
    "by another name": "    kernel = copy_kernel\n    kernel[(1,)](x, y, 1, BLOCK=64)",
    "without its wrapper": "    copy_kernel.fn[(1,)](x, y, 1, BLOCK=64)",
    "for torch.library": "    wrap_triton(copy_kernel)[(1,)](x, y, 1, BLOCK=64)",
    "and asked for a fact": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n    print(copy_kernel.__name__)",
    "and named in a comment": "    # copy_kernel(x, y) is a string\n    copy_kernel[(1,)](x, y, 1, BLOCK=64, other='copy_kernel')",
    "beside a keyword": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n    dict(copy_kernel=1)",
    "beside a local": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n\n\ndef more(copy_kernel):\n    return copy_kernel",
    "beside an attribute": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n    return x.copy_kernel(y)",
}
HANDED_ON = {
    "chosen": "    kernel = copy_kernel if flag else other_kernel\n    kernel[(1,)](x, y, 1, BLOCK=64)",
    "chosen by a statement": (
        "    if flag:\n        kernel = copy_kernel\n    else:\n        kernel = other_kernel\n    kernel[(1,)](x, y, 1, BLOCK=64)"
    ),
    "in a table": "    {'copy': copy_kernel, 'other': other_kernel}[flag][(1,)](x, y, 1, BLOCK=64)",
    "in a list": "    for kernel in (copy_kernel, other_kernel):\n        kernel[(1,)](x, y, 1, BLOCK=64)",
    "passed": "    start(copy_kernel, x, y)\n\n\ndef start(kernel, x, y):\n    kernel[(1,)](x, y, 1, BLOCK=64)",
    "returned": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n    return copy_kernel",
    "bound to a grid": "    started = copy_kernel[(1,)]\n    started(x, y, 1, BLOCK=64)",
    "bound in part": "    functools.partial(copy_kernel[(1,)], x, y)(1, BLOCK=64)",
    "kept": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n\n\nTABLE = [copy_kernel]",
    "kept under another name": "    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n\n\nkept = copy_kernel",
    "called by a kernel": "    outer[(1,)](x, y, 1)\n\n\n@triton.jit\ndef outer(x, y, n):\n    copy_kernel(x, y, n, BLOCK=64)",
    "tuned where it is launched": "    triton.autotune(configs=[], key=[])(copy_kernel)[(1,)](x, y, 1)",
}


def lines(folder: Path, texts: dict[str, str]) -> list[tuple[str, int]]:
    for name, text in texts.items():
        (folder / name).write_text(text)
    path = str(folder / "kernels.py")
    program = find_program(Workspace.for_file(path), path, "copy_kernel")
    return [(Path(p).name, line) for p, line in program.handed_on]


@pytest.mark.parametrize("how", LAUNCHED)
def test_a_kernel_that_is_only_launched_is_handed_to_nobody(how: str, tmp_path: Path) -> None:
    assert lines(tmp_path, {"kernels.py": KERNELS + LAUNCHED[how] + "\n"}) == []


@pytest.mark.parametrize("how", HANDED_ON)
def test_everything_else_is_told_with_its_line(how: str, tmp_path: Path) -> None:
    text = KERNELS + HANDED_ON[how] + "\n"
    found = lines(tmp_path, {"kernels.py": text})
    assert len(found) == 1
    assert "copy_kernel" in text.splitlines()[found[0][1] - 1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("from kernels import copy_kernel\n\n\ndef f(x, y):\n    copy_kernel[(1,)](x, y, 1, BLOCK=64)\n", []),
        ("from kernels import copy_kernel as ck\n\n\ndef f(x, y):\n    ck[(1,)](x, y, 1, BLOCK=64)\n", []),
        ("from kernels import copy_kernel as ck\n\nTABLE = {'copy': ck}\n", [("other.py", 3)]),
        ("import kernels\n\n\ndef f(x, y):\n    return start(kernels.copy_kernel, x)\n", [("other.py", 5)]),
        ("import torch\n\n\ndef f(x):\n    return torch.copy_kernel(x)\n", []),
        ("def copy_kernel(x):\n    return x\n\n\ny = copy_kernel(1)\n", []),
        ("def broken(:\n  copy_kernel(\n", []),
    ],
)
def test_other_files_are_looked_at(text: str, wanted: list[tuple[str, int]], tmp_path: Path) -> None:
    assert lines(tmp_path, {"kernels.py": KERNELS + LAUNCHED["by its name"] + "\n", "other.py": text}) == wanted


def test_a_kernel_of_a_class_may_be_reached_through_anything(tmp_path: Path) -> None:
    inside = """\
import triton


class Op:
    @staticmethod
    @triton.jit
    def copy_kernel(x_ptr):
        pass

    def run(self, x):
        self.copy_kernel[(1,)](x)
        return {line}
"""
    assert lines(tmp_path, {"kernels.py": inside.replace("{line}", "self")}) == []
    assert lines(tmp_path, {"kernels.py": inside.replace("{line}", "self.copy_kernel")}) == [("kernels.py", 12)]
