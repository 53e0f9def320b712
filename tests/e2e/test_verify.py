"""``kernelband verify`` with a real worker and no GPU: an edit of one's own, against the commit and against the saved file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home

BENCH = """

def bench():
    scale(torch.randn(1 << 20, device="cuda"))
"""


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    home = Home(tmp_path, worker_python)
    text = home.file.read_text()
    home.file.write_text(text[: text.index("\n\ndef test_scale")] + BENCH)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=home.work, check=True, capture_output=True)
    return home


def test_an_edit_against_the_commit(home: Home) -> None:
    options = ("--db", str(home.db), "--python", home.python)
    same = home.run("verify", "scale.py", *options)
    assert (same.code, same.sentence) == (
        2,
        "scale_kernel is the same as in HEAD, with its host functions, so there is nothing to verify: "
        "edit it, or name another original with --against.",
    )
    assert not home.db.exists()
    home.file.write_text(home.file.read_text().replace("(n, 64)", "(n, 512)").replace("BLOCK=64", "BLOCK=512"))
    done = home.run("verify", "scale.py::scale_kernel", *options, "--json", "--run-id", "0123abcd")
    assert done.code == 0, done.err
    (started,), (trial,), (ended,) = (done.named(name) for name in ("run_started", "trial_ended", "run_ended"))
    assert (started["run"], started["mode"], started["policy"]) == ("0123abcd", "predicted", "given")
    assert (trial["outcome"], trial["score"], trial["strategy"]) == ("likely_faster", None, "yours")
    assert ended["best"] == 1
    assert ended["reason"].startswith("predicted, not measured: your edit of scale_kernel is likely faster than HEAD on NVIDIA H100")
    assert "×" not in ended["reason"]
    assert ended["reason"] in home.run("show", "last", "--db", str(home.db)).out.replace("\n", " ")
    patch = home.run("apply", "last/1", "--diff", "--db", str(home.db)).out
    assert "-    scale_kernel[(triton.cdiv(n, 64),)]" in patch
    assert "your edit: likely faster" in " ".join(home.run("history", "--db", str(home.db)).out.split())
    assert home.run("optimize", "--resume", "0123abcd", "--db", str(home.db)).code == 7


def test_an_unsaved_edit_that_is_wrong(home: Home, tmp_path: Path) -> None:
    buffer = tmp_path / "buffer.txt"
    buffer.write_text(home.file.read_text().replace("2.0 * tl.load", "3.0 * tl.load"))
    done = home.run("verify", "scale.py", "--overlay", f"scale.py={buffer}", "--db", str(home.db), "--python", home.python, "--json")
    (ended,) = done.named("run_ended")
    assert (done.code, ended["best"]) == (0, None)
    assert ended["reason"].startswith(
        "your edit of scale_kernel computes something else than the saved file: on x: float32[1048576] the largest error of return is "
    )
