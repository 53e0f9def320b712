"""A whole run on a real GPU: screening, final, figures; and kernels that loop, read wild addresses or want all memory.

Run with an engine Python: KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_optimize.py
(the kills with phases measure and final: tests/e2e/test_optimize_kills.py, and KERNELBAND_KILLS=20 ... -m stress tests/stress)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from kernelband.history import Store, trials
from kernelband.propose import Draft
from kernelband.search.options import Options
from kernelband.search.run import optimize
from kernelband.source import make_patch
from kernelband.source.model import Edit, Program, Span
from kernelband.strategies import Facts, Proposal
from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture

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


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:  # noqa: F811  # the fixture
    home = Home(tmp_path, worker_python)
    home.file.write_text(KERNEL + BENCH)
    return home


def test_a_slow_block_size_is_found_and_verified(home: Home) -> None:
    """64 elements a program on 64 M elements: anything larger is clearly faster."""
    done = home.optimize("scale.py", "--trials", "8", seconds=300)
    assert done.code == 0, done.err
    (ended,) = done.named("run_ended")
    print(json.dumps(ended))
    assert done.named("run_started")[0]["mode"] == "measured"
    assert ended["verified"], done.out
    assert ended["seconds_per_trial"] <= 3.0
    best = done.named("final_ended")[0]
    assert best["low"] > 1.02
    assert {"measure", "final"} <= {e["phase"] for e in done.named("phase_changed")}
    shown = home.run("show", ended["run"], "--db", str(home.db))
    assert "verified" in shown.out
    diff = home.run("apply", f"{ended['run']}/{ended['best']}", "--diff", "--db", str(home.db))
    assert "BLOCK" in diff.out


EDITS = {
    "wrong": ("2.0 * tl.load", "3.0 * tl.load"),
    "endless_kernel": ("    tl.store(y + i", "    while n > 0:\n        tl.store(y + i, 0.0, mask=i < n)\n    tl.store(y + i"),
    "wild_address": ("tl.load(x + i, mask=i < n)", "tl.load(x + i + 1000000000000)"),
    "out_of_memory": ("torch.empty_like(x)", "torch.empty(x.shape if not x.is_cuda else (1 << 45,), device=x.device)"),
    "good": ("64),)](x, y, n, BLOCK=64)", "1024),)](x, y, n, BLOCK=1024)"),
}
EXPECTED = {
    "wrong": {"wrong"},
    "endless_kernel": {"timeout"},
    "wild_address": {"crashed"},
    "out_of_memory": {"oom"},
    "good": {"faster"},
}


@frozen
class Saboteur:
    """An author whose first proposals are trouble, and whose last is sound."""

    name: str = "saboteur"
    free: bool = False

    def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
        ((path, text),) = program.texts.items()
        if strategy != "tiling" or "BLOCK=64" not in text:
            return Draft((), exhausted=True)
        out: list[Proposal] = []
        for name, (old, new) in EDITS.items():
            at = text.index(old)
            patch = make_patch(program.texts, {path: [Edit(Span(at, at + len(old)), new)]})
            out.append(Proposal(strategy, name, {}, patch, "exact", name, "a test"))
        fresh = [p for p in out if p.key not in already]
        return Draft(tuple(fresh[:limit]), exhausted=len(fresh) <= limit)


def test_kernels_that_fault_cost_one_trial_each(home: Home) -> None:
    options = Options(str(home.file), trials=len(EDITS), python=home.python)
    ended = optimize(options, Path(home.db), lambda _: None, author=Saboteur())
    with Store.read(home.db) as store:
        assert store.integrity() == "ok"
        pulls = {p.move: p for p in trials.pulls(store, ended.run) if p.move}
        reasons = {t.variant: t.reason for t in trials.trials(store, ended.run)}
    for name, outcomes in EXPECTED.items():
        print(name, pulls[name].outcome, reasons.get(pulls[name].variant or 0, pulls[name].reason))
        assert pulls[name].outcome in outcomes, pulls[name]
    assert ended.state == "finished"
    assert len(ended.verified) == 1
