"""A model's variants on a real GPU: each in a process of its own, the winner verified in fresh ones.

Run with an engine Python: KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_model_author.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture
from tests.unit.propose.model_server import Says, serving

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(580),
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]

BENCH = """

def bench():
    x = torch.randn(1 << 26, device="cuda")
    scale(x)
    torch.cuda.synchronize()
"""
HOST = """```python scale
def scale(x):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, {block}),)](x, y, n, BLOCK={block})
    return y
```
"""
WILD = """```python scale_kernel
@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i * 1000000, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)
```
"""
WRONG = WILD.replace("i * 1000000, 2.0", "i, 3.0")
ANSWER = f"## Variant: 1024 a program\n{HOST.format(block=1024)}\n## Variant: wild addresses\n{WILD}\n## Variant: three times\n{WRONG}\n"


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:  # noqa: F811  # the fixture
    home = Home(tmp_path, worker_python)
    home.file.write_text(KERNEL + BENCH)
    return home


@pytest.mark.parametrize("author", ["model", "both"])
def test_the_good_is_verified_and_the_bad_harm_nobody(home: Home, author: str) -> None:
    def answer(body: dict[str, Any]) -> Says:
        first = "# Strategy: tiling" in body["messages"][1]["content"] and len(body["messages"]) == 2
        return Says(ANSWER if first else "Nothing.")

    with serving(answer) as server:
        done = home.optimize("scale.py", "--author", author, "--model", "wise", "--base-url", server.url, "--trials", "8", seconds=400)
    assert done.code == 0, done.err
    outcomes = {e["what"]: e["outcome"] for e in done.named("trial_ended")}
    assert outcomes["1024 a program"] == "faster"
    if author == "model":
        assert outcomes["three times"] == "wrong"
        assert outcomes["wild addresses"] in ("crashed", "wrong", "timeout")
    ended = done.named("run_ended")[0]
    assert ended["verified"], ended
    print(outcomes, ended["seconds_per_trial"])
