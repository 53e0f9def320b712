"""An edit of one's own, judged on a real GPU: faster, slower, wrong, or nothing new; by the command line and from an editor.

Run with an engine Python: KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_verify.py
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture
from tests.e2e.lsp.editor import PROFILES, editor

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(580),
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]

BENCH = """

def bench():
    scale(torch.randn(1 << 26, device="cuda"))
"""
FAST = KERNEL.replace("64", "512")


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:  # noqa: F811  # the fixture
    home = Home(tmp_path, worker_python)
    home.file.write_text(KERNEL + BENCH)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=home.work, check=True, capture_output=True)
    return home


@pytest.mark.parametrize(
    ("before", "after", "best", "begins"),
    [
        ("64", "512", 1, "your edit of scale_kernel is faster: "),
        ("64", "16", None, "your edit of scale_kernel is slower: "),
        ("2.0 * tl.load", "3.0 * tl.load", None, "your edit of scale_kernel computes something else than HEAD: on x: float32["),
        (
            "2.0 * tl.load(x + i, mask=i < n)",
            "tl.load(x + i, mask=i < n) * 2.0",
            None,
            "your edit of scale_kernel changes nothing that runs: ",
        ),
        ("tl.load(x + i, mask=i < n)", "tl.load(x + i + 1000000000000)", None, "your edit of scale_kernel crashes on "),
    ],
    ids=["faster", "slower", "wrong", "same", "wild"],
)
def test_an_edit_is_judged(home: Home, before: str, after: str, best: int | None, begins: str) -> None:
    home.file.write_text(home.file.read_text().replace(before, after))
    done = home.run("verify", "scale.py", "--db", str(home.db), "--python", home.python, "--json", seconds=200)
    assert done.code == 0, done.err
    (started,), (ended,) = done.named("run_started"), done.named("run_ended")
    print(f"{done.seconds:.0f} s: {ended['reason']}")
    assert started["mode"] == "measured"
    assert ended["reason"].startswith(begins)
    assert (ended["best"], ended["verified"]) == (best, [1] if best else [])
    final = done.named("final_ended")
    if best:
        assert final[0]["low"] > 1.02
        assert f"{final[0]['low']:.2f} to " in ended["reason"]


@pytest.mark.asyncio
async def test_from_an_editor_with_the_ratio_on_the_lens(home: Home) -> None:
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        ed.put_text(FAST + BENCH)  # not saved
        answer = await ed.command("verify", ed.uri, "scale_kernel")
        end = await ed.ended(answer["run"], 200)
        print(end.headline, "|", end.reason)
        assert (end.state, end.mode, list(end.verified)) == ("finished", "measured", [1])
        assert end.reason.startswith("your edit of scale_kernel is faster: ")
        lenses = await ed.eventually(ed.lenses, lambda found: any("over" in t and "verified" in t for t in found))
        print(lenses)
        report = await ed.command("report", ed.uri, "scale_kernel")
        (variant,) = report["runs"][0]["variants"]
        print(variant)
        assert variant["author"] == "you"
        assert variant["ratio"] is not None
        assert home.file.read_text() == KERNEL + BENCH  # nothing was written
