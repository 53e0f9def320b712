"""Predicted mode as a person meets it: no GPU, a minute, a patch with its reason, and nowhere a figure that looks measured."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.cli_world import Done, Home

EXAMPLE = Path(__file__).parents[2] / "examples" / "layer_norm.py"
SECONDS = 120  # several times what it takes, since other tests share this machine


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Home:
    """The example with one shape in its test and one in its benchmark."""
    home = Home(tmp_path_factory.mktemp("predicted"), worker_python)
    text = EXAMPLE.read_text()
    for shapes, fewer in (
        ("((64, 1000, torch.float32), (32, 2048, torch.float16), (8, 5120, torch.float16))", "((6, 300, torch.float16),)"),
        ("((4096, 4096), (4096, 8192))", "((4096, 4096),)"),
    ):
        assert shapes in text
        text = text.replace(shapes, fewer)
    (home.work / "norm.py").write_text(text)
    return home


@pytest.fixture(scope="module")
def run(home: Home) -> Done:
    limits = ("--gpu", "h100", "--trials", "3", "--seconds", str(SECONDS), "--seed", "0")
    done = home.run("optimize", "norm.py", *limits, "--db", str(home.db), "--python", home.python, seconds=2.0 * SECONDS)
    assert done.code == 0, done.err
    return done


def test_it_bets_on_what_moves_fewer_bytes_and_says_so(run: Done) -> None:
    assert "predicted for NVIDIA H100" in run.out
    assert "nothing is measured" in run.out
    assert re.search(r"Predicted: variant \d+ is likely faster", run.out), run.out
    assert "fewer bytes loaded and stored" in run.out
    assert "verified faster" not in run.out
    assert "took longer than" not in run.out


def test_no_ratio_and_no_time_beside_a_variant(run: Done) -> None:
    ends = run.out.index("First variant that passed its check")  # that and where the time went are seconds of the run
    trials = run.out[run.out.index("original:") : run.out.index("Predicted:")] + run.out[run.out.index("\n", ends) :]
    assert "likely faster" in trials
    assert re.findall(r"\d(?:\.\d+)?\s?[x×](?!\w)", trials) == []
    assert re.findall(r"\d\s?(?:s|ms|us|µs|ns)\b", trials) == []
    assert re.findall(r"(?i)speed-?up|\d+ ?% (?:faster|slower)", run.out) == []


def test_it_keeps_to_its_seconds(run: Done) -> None:
    said = re.search(r"([\d.]+) s\)\s*\nWhere the time went", run.out)
    assert said is not None, run.out
    assert float(said.group(1)) < 1.5 * SECONDS  # a trial that has begun is finished


def test_the_patch_applies(home: Home, run: Done) -> None:
    command = re.search(r"kernelband apply (\S+/\d+) --diff", run.out)
    assert command is not None, run.out
    patch = home.run("apply", command.group(1), "--diff", "--db", str(home.db))
    assert patch.code == 0, patch.err
    before = (home.work / "norm.py").read_text()
    subprocess.run(["git", "apply", "-p1", "-"], cwd=home.work, input=patch.out, text=True, check=True)
    after = (home.work / "norm.py").read_text()
    compile(after, "norm.py", "exec")
    assert after != before
    (home.work / "norm.py").write_text(before)


FAULTY = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i <= n), mask=i < n)


def scale(x):
    n = x.numel()
    y = torch.empty(n + 8, device=x.device)
    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


def test_scale():
    scale(torch.randn(200, device="cuda"))
"""


def test_what_the_original_does_wrong_itself_is_told_once_and_makes_no_variant_wrong(tmp_path: Path, worker_python: str) -> None:
    home = Home(tmp_path, worker_python)
    home.file.write_text(FAULTY)
    done = home.optimize("scale.py", "--trials", "3", "--gpu", "h100", "--seconds", str(SECONDS))
    assert done.code == 0, done.err
    said = (
        "The original itself reads outside of x (scale.py, line 9) and leaves 8 of 208 elements of return unwritten: "
        "a variant is wrong only where it goes beyond that."
    )
    assert [e["text"] for e in done.events if e["event"] == "noted" and "original itself" in e["text"]] == [said]
    assert [e["outcome"] for e in done.events if e["event"] == "trial_ended"] == ["unclear"] * 3


def test_a_kernel_that_launching_takes_longer_than_ends_at_once_and_says_so(tmp_path: Path, worker_python: str) -> None:
    home = Home(tmp_path, worker_python)
    home.file.write_text(FAULTY.replace("mask=i <= n", "mask=i < n"))
    done = home.optimize("scale.py", "--gpu", "h100")
    assert done.code == 0, done.err
    (ended,) = (e for e in done.events if e["event"] == "run_ended")
    assert ended["state"] == "finished"
    assert ended["reason"].startswith("nothing was tried; launching it takes about 3 µs, longer than its work on every timing case")
    assert not [e for e in done.events if e["event"] in ("trial_ended", "arm_chosen")]
