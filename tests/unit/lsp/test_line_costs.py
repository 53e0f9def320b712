"""What lines cost, from a run or an inspection to the lines of the text on the screen."""

from __future__ import annotations

from typing import Any

from kernelband.explain.hints import COST, Material, costs, inspected
from kernelband.explain.linecosts import LineCost, merged
from kernelband.lsp.findings import Finding
from kernelband.lsp.hint_places import placed
from kernelband.lsp.hover_text import Compiled, kernel_hover, line_hover
from kernelband.lsp.text import Lines
from kernelband.source import find_kernels
from tests.unit.hardware.conftest import make_work

TEXT = """import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i)
    tl.store(y + i, 2.0 * a)
"""


def material(*lines: LineCost) -> Material:
    return Material("NVIDIA H100 SXM", None, (), (), lines)


def test_the_largest_share_in_any_launch_counts() -> None:
    small, large = LineCost("k.py", 8, 0.5, None), LineCost("k.py", 8, 0.25, 0.7)
    assert merged([(small,), (large, LineCost("k.py", 9, 0.75, 0.3))]) == (LineCost("k.py", 9, 0.75, 0.3), LineCost("k.py", 8, 0.5, 0.7))


def test_lines_follow_the_text_and_those_of_other_files_are_left_out() -> None:
    found = costs(material(LineCost("/w/k.py", 8, 0.6, 0.2), LineCost("/w/k.py", 9, 0.4, 0.0), LineCost("/lib/standard.py", 3, None, 0.8)))
    now = "# a line more\n" + TEXT.replace("    a = tl", "    # and one here\n    a = tl")
    kernels = find_kernels("/w/k.py", now)
    own = placed(found, ("/w/k.py", TEXT), kernels[0], kernels, Lines(now))
    assert [(now[p.span.start : p.span.end], p.code, p.message) for p in own] == [
        ("a = tl.load(x + i)", COST, "60 % of the bytes, 20 % of the instructions (predicted for NVIDIA H100 SXM)"),
        ("tl.store(y + i, 2.0 * a)", COST, "40 % of the bytes (predicted for NVIDIA H100 SXM)"),
    ]


def row(**more: Any) -> dict[str, Any]:
    work = make_work(registers=40, warps=8, programs=4096)
    about = {"case": "c", "kernel": "scale_kernel", "gpu": "h100", "grid": [4096, 1, 1], "constants": {"BLOCK": 64}}
    return {**about, "facts": work.facts, "warnings": [], **more}


def test_before_any_run_a_hover_says_what_compiling_told() -> None:
    found = inspected([row(lines=[{"path": "/w/k.py", "line": 8, "bytes": 0.6, "instructions": 0.2}])], "scale_kernel")
    assert found is not None
    assert found.lines == (LineCost("/w/k.py", 8, 0.6, 0.2),)
    text = kernel_hover(Finding("/w/k.py", "scale_kernel"), None, compiled=Compiled(found, ((7, "60 % of the bytes"),)))
    for said in (
        "- launch: `BLOCK=64, num_warps=8` · 4096 programs",
        "- registers: 40 per thread · compiled for NVIDIA H100 SXM",
        "- spills: none",
        "- occupancy: 75 %, limited by registers",
        "- line 8: 60 % of the bytes",
        "No variant has been tried yet. Start with the code action *Optimize*",
    ):
        assert said in text, text
    assert inspected([row()], "scale_kernel") is not None  # of a version that knew no lines
    assert line_hover("scale_kernel", "60 % of the bytes").endswith("this line: 60 % of the bytes.")
