"""Two servers and a command line on one real GPU: nothing runs on it while another of them times, and nobody is locked out.

Who works on the GPU when is written down by the program that is timed, without a word from the lock that is to keep them apart.

Run with an engine Python: KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_sharing.py
(KERNELBAND_SHARE_S=300 for the long form)
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from attrs import frozen

from tests.e2e.cli_world import Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture
from tests.e2e.lsp.test_sharing import PARTIES, check, share

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(580),
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]

SECONDS = float(os.environ.get("KERNELBAND_SHARE_S", "30"))
BENCH = """

def bench():
    scale(torch.randn(1 << 26, device="cuda"))


import spy  # noqa: E402
"""
# Wraps what a worker's process of the role "gpu" does: a line with its worker, what it does, and from when to when in monotonic seconds.
SPY = """import importlib, os, time

WORK = {{
    "kernelband_worker.cases.capture": ["capture"],
    "kernelband_worker.compare": ["check"],
    "kernelband_worker.measure.prepare": ["prepare"],
    "kernelband_worker.measure.profile": ["profile"],
    "kernelband_worker.cases.entry": ["run_entry"],
    "kernelband_worker.measure.time": ["time_block"],
}}


def written(name, call):
    def spied(*args, **kwargs):
        start = time.monotonic()
        try:
            return call(*args, **kwargs)
        finally:
            line = f"{{os.getppid()}} {{name}} {{start!r}} {{time.monotonic()!r}}\\n"
            file = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, line.encode())
            os.close(file)

    spied.spied = True
    return spied


for module, names in WORK.items() if "gpu" in open("/proc/self/cmdline").read().split("\\0") else ():
    module = importlib.import_module(module)
    for name in names:
        if not hasattr(getattr(module, name), "spied"):
            setattr(module, name, written(name, getattr(module, name)))
"""


@frozen
class Work:
    """What one worker did on the GPU, in monotonic seconds."""

    worker: str
    name: str
    start: float
    end: float


def works(log: Path) -> list[Work]:
    split = (line.split() for line in log.read_text().splitlines())
    return [Work(worker, name, float(start), float(end)) for worker, name, start, end in split]


@pytest.mark.asyncio
async def test_nothing_else_runs_while_one_of_three_times(tmp_path: Path, worker_python: str) -> None:  # noqa: F811  # the fixture
    home = Home(tmp_path, worker_python)
    log = tmp_path / "gpu.txt"
    (home.work / "spy.py").write_text(SPY.format(log=str(log)))
    shared = await share(home, SECONDS, BENCH)
    found = works(log)
    timed = [w for w in found if w.name == "time_block"]
    busy = {name: sum(w.name == name for w in found) for name in sorted({w.name for w in found})}
    workers = {w.worker for w in timed}
    print(f"{len(workers)} workers timed; what was done on the GPU: {busy}")
    assert len(workers) >= len(PARTIES)
    together = [(t, o) for t in timed for o in found if o.worker != t.worker and o.start < t.end and t.start < o.end]
    assert together == []
    lives = {
        w: (min(x.start for x in found if x.worker == w), max(x.end for x in found if x.worker == w)) for w in {x.worker for x in found}
    }
    contended = [t for t in timed if any(start < t.start < end for worker, (start, end) in lives.items() if worker != t.worker)]
    print(f"{len(contended)} of {len(timed)} timed blocks were made while another worker was between two works of its own")
    assert contended  # else nobody was kept apart
    print(check(home, shared, within_s=2.0))
    with sqlite3.connect(home.db) as db:
        assert db.execute("SELECT DISTINCT mode FROM runs").fetchall() == [("measured",)]
