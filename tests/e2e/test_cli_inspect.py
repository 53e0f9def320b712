"""`kernelband inspect` in a process of its own: kernels as people write them, for every target, without a GPU or numpy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelband.explain.hints import MOVES
from kernelband.source import patch_from_json
from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.test_bad_input import refused, shadowing

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "inspect"
BLOCKER = """import sys
class No:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {names!r}: raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, No())
"""
NO_TORCH, NO_TRITON = BLOCKER.format(names=("torch",)), BLOCKER.format(names=("triton",))

BIG = """import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a, b, c, K, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    i = tl.arange(0, BLOCK)
    k = tl.arange(0, DEPTH)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, DEPTH):
        x = tl.load(a + i[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k[:, None]) * BLOCK + i[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * BLOCK + i[None, :], total)


def test_product():
    a = torch.randn(128, 512, device="cuda", dtype=torch.float16)
    b = torch.randn(512, 128, device="cuda", dtype=torch.float16)
    c = torch.empty(128, 128, device="cuda")
    product_kernel[(1,)](a, b, c, 512, BLOCK=128, DEPTH=128, num_warps=8, num_stages=3)
    assert torch.allclose(c, a.float() @ b.float(), atol=0.5, rtol=0.1)
"""


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    return Home(tmp_path, worker_python)


def looked(home: Home, *arguments: str) -> list[dict[str, Any]]:
    done = home.run("inspect", *arguments, "--python", home.python, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert isinstance(found, list)
    return found


def test_every_vendor(home: Home) -> None:
    """tests/e2e/test_inspect.py has every target."""
    found = looked(home, "scale.py", "--gpu", "h100,mi300x")
    assert [one["gpu"] for one in found[:2]] == ["h100", "mi300x"]
    for one in found:
        assert one["error"] is None
        assert one["label"] == "predicted"
        assert one["facts"]["registers"] > 0
        assert one["instruction_mix"]
        assert one["bottleneck"]
        assert 0 < one["occupancy"]["fraction"] <= 1
        assert one["roofline_us"] > 0
        text = home.file.read_text().splitlines()
        moved = {line["line"]: line["bytes"] for line in one["lines"] if line["path"] == str(home.file)}
        assert [n for n, share in moved.items() if share] == [
            n for n, code in enumerate(text, 1) if "tl.load" in code or "tl.store" in code
        ]
        assert sum(moved.values()) == pytest.approx(1)
        assert all(0 <= line["instructions"] <= 1 for line in one["lines"])


def test_a_line_for_each_launch_as_it_is_compiled(home: Home) -> None:
    done = home.run("inspect", "scale.py", "--gpu", "h100,a100", "--python", home.python, "--json-lines")
    assert done.code == 0, done.err
    assert [(e["event"], e["kernel"], e["gpu"]) for e in done.events] == [
        ("inspected", "scale_kernel", "h100"),
        ("inspected", "scale_kernel", "a100"),
    ]
    assert {w["code"] for e in done.events for w in e["warnings"]} == {"mask-always-true"}
    refused = home.run("inspect", "scale.py::no_kernel", "--python", home.python, "--json-lines")
    assert refused.code != 0
    assert [e["event"] for e in refused.events] == ["error"]
    assert "no_kernel" in refused.events[0]["message"]


def test_a_block_that_no_search_would_change_is_named(home: Home) -> None:
    table = KERNEL.replace("def scale(x):", "SIZES = {'BLOCK': 64}\n\n\ndef scale(x):")
    table = table.replace("(triton.cdiv(n, 64),)", "lambda meta: (triton.cdiv(n, meta['BLOCK']),)")
    home.file.write_text(table.replace("BLOCK=64", "**SIZES"))
    done = home.run("inspect", "scale.py", "--python", home.python)
    assert done.code == 0, done.err
    assert done.out.count("BLOCK comes from **SIZES: not changed.") == 1


def test_moves_against_what_was_found(home: Home) -> None:
    """64 programs are few: smaller blocks make more. What was interpreted is of the original only, so its masks call for moves, too."""
    done = home.run("inspect", "scale.py", "--python", home.python, "--json-lines", "--moves")
    assert done.code == 0, done.err
    moves = [e for e in done.events if e["event"] == "proposed"]
    few = [e for e in moves if e["code"] == "too-few-programs"]
    assert 1 <= len(few) <= 2
    assert [e["event"] for e in done.events] == ["inspected", "proposing", *["proposed"] * len(moves)]
    for move in moves:
        assert move["move"].partition("(")[0] in MOVES[move["code"]]
        texts = {str(home.file): home.file.read_text()}
        after = patch_from_json(move["patch"]).apply(texts)
        assert after != texts
        assert move["what"]
        assert move["numerics"] in ("exact", "reassociates")
    home.file.write_text(next(iter(patch_from_json(few[0]["patch"]).apply(texts).values())))
    table = home.run("inspect", "scale.py", "--python", home.python, "--moves")
    assert table.code == 0, table.err
    assert "too-few-programs" not in table.out  # it is gone, as was said
    refused = home.run("inspect", "scale.py", "--python", home.python, "--moves", "--json")
    assert refused.code == 2
    assert "leave --json out" in refused.err


def test_an_autotuned_matmul_in_grouped_order(home: Home) -> None:
    found = looked(home, str(FIXTURES / "grouped.py"), "--gpu", "a100,h100,b200,rtx5090,mi300x")
    assert [one["facts"]["tensor_core"] for one in found] == ["mma", "wgmma", "tcgen05", "mma", "mfma"]
    assert {one["grid"][0] for one in found} == {40}
    assert {one["dot_flops"] for one in found} == {2 * 5 * 64 * 8 * 64 * 256}  # whole tiles: 5 x 8 of 64 x 64, over 256


def test_a_reduction_with_helpers_in_another_file(home: Home) -> None:
    (one,) = looked(home, str(FIXTURES / "reduce_rows.py"), "--gpu", "h100")
    assert one["kernel"] == "row_lse"
    assert one["facts"]["num_warps"] == 2
    assert one["instruction_mix"]["shuffle"] > 0
    assert one["bytes"] == 64 * 781 * 4 + 64 * 4
    assert any(w["code"] == "narrow-access" and w["line"] == 12 for w in one["warnings"]), one["warnings"]


def test_a_kernel_that_a_method_launches_with_heuristics(home: Home) -> None:
    found = looked(home, str(FIXTURES / "method.py"), "--gpu", "h100,mi300x")
    assert [(one["gpu"], one["constants"]["EVEN"]) for one in found] == [
        ("h100", True),
        ("mi300x", True),
        ("h100", False),
        ("mi300x", False),
    ]
    assert {one["facts"]["tensor_core"] for one in found} == {None}


def test_the_table(home: Home) -> None:
    before = home.snapshot()
    done = home.run("inspect", "scale.py", "--gpu", "h100,A100 SXM,h100", "--python", home.python)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert next(line for line in lines if line.startswith("predicted")).split() == ["predicted", "h100", "a100"]
    for word in ("registers", "spilled bytes", "shared memory", "occupancy", "limited by", "tensor cores", "speed of light"):
        assert any(line.startswith(word) for line in lines), done.out
    assert "Nothing was run on a GPU" in done.out
    assert "chose for NVIDIA H100 SXM" in done.out
    assert home.snapshot() == before, "something was written"


def test_a_kernel_that_no_gpu_takes(home: Home) -> None:
    """The interpreter runs it, the compilers refuse: the reason is the compiler's own."""
    home.file.write_text(KERNEL.replace("tl.store(y + i,", "tl.static_assert(BLOCK == 63, 'never so')\n    tl.store(y + i,"))
    done = home.run("inspect", "scale.py", "--python", home.python)
    assert done.code == 4, (done.out, done.err)
    assert "never so" in done.err
    assert "Traceback" not in done.err


def test_a_gpu_that_refuses_does_not_hide_the_others(home: Home) -> None:
    # 192 KiB of tiles at once: an H100 holds them, an RTX 4090 doesn't.
    home.file.write_text(BIG)
    found = looked(home, "scale.py", "--gpu", "h100,rtx4090")
    large, small = found
    assert large["error"] is None
    assert not large["facts"].get("unusable")
    assert "shared memory" in small["facts"]["unusable"]
    assert any(w["code"] == "shared-over-limit" for w in small["warnings"])


def test_without_the_search_extra(home: Home) -> None:
    code = BLOCKER.format(names=("numpy", "sklearn", "openai", "torch", "triton")) + "from kernelband.cli import main; main()"
    for arguments in (
        ("inspect", "scale.py", "--gpu", "h100", "--json-lines", "--moves"),
        ("doctor", "--json", "--db", str(home.db)),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments, "--python", home.python],
            cwd=home.work,
            env=home.environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert [json.loads(x) for x in (done.stdout.splitlines() if "--json-lines" in arguments else [done.stdout])]


def test_bad_input(home: Home) -> None:
    run = home.run
    refused(home, 3, "There is no file nope.py", run=lambda: run("inspect", "nope.py"))
    refused(home, 3, "no kernel nope", run=lambda: run("inspect", "scale.py::nope"))
    refused(home, 6, "Unknown GPU 'h1000'", "h100", run=lambda: run("inspect", "scale.py", "--gpu", "a100,h1000"))
    refused(home, 6, "No GPU is named", run=lambda: run("inspect", "scale.py", "--gpu", ","))
    refused(home, 5, "isn't a Python", run=lambda: run("inspect", "scale.py", "--worker", "cat"))
    refused(home, 5, "no program", run=lambda: run("inspect", "scale.py", "--python", "/no/such/python"))
    refused(home, 2, "no kernel after '::'", run=lambda: run("inspect", "scale.py::"))


@pytest.mark.parametrize(("text", "word"), [(NO_TORCH, "has no torch"), (NO_TRITON, "has no triton")], ids=["torch", "triton"])
def test_a_python_without_torch_or_triton(home: Home, text: str, word: str) -> None:
    python = shadowing(home, text)
    refused(home, 5, word, run=lambda: home.run("inspect", "scale.py", "--python", python))
