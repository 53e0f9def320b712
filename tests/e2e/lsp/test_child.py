"""A real search as the server's child: its row has the server's id, and stopping it leaves nobody."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelband.history import Store, runs, trials
from kernelband.lsp.child import Child
from kernelband.lsp.runs import LiveRun, Request, Runs
from kernelband_worker import system
from tests.e2e.conftest import ROOT

NAME = "vector_add.py"
TEXT = (ROOT / "examples" / NAME).read_text().replace("(2**23, 2**24)", "(2**13, 2**14)")  # interpreted


@pytest.fixture
def world(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with the example, and a home that holds nothing."""
    for name in [n for n in os.environ if n.startswith(("XDG_", "KERNELBAND", "VIRTUAL_ENV", "CONDA"))]:
        monkeypatch.delenv(name)
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "work" / NAME).write_text(TEXT)
    return tmp_path


def request(world: Path, python: str, **more: object) -> Request:
    path = world / "work" / NAME
    common = {"python": python, "gpu": "h100", "db": str(world / "history.db"), "trials": 2}
    return Request(path.as_uri(), str(path), "add_kernel", **{**common, **more})  # pyright: ignore[reportArgumentType]


async def until(live: LiveRun, condition: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert not live.ended, live.error
        assert time.monotonic() < end, f"still {live.headline}"
        await asyncio.sleep(0.02)


def there(pattern: str) -> list[Path]:
    """What is in the folder for temporary files now; folders are being filled and removed meanwhile."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return list(Path(tempfile.gettempdir()).glob(pattern))


async def nobody(marker: str, seconds: float = 120.0) -> None:
    """Wait until all who carry the mark have gone: a kernel that is busy takes its time to end who was killed."""
    end = time.monotonic() + seconds
    while left := list(system.marked(marker)):
        assert time.monotonic() < end, left
        await asyncio.sleep(0.1)


def child_of(registry: Runs, live: LiveRun) -> Child:
    return registry._children[live.id]  # pyright: ignore[reportPrivateUsage]


@pytest.mark.asyncio
async def test_a_predicted_run_of_an_unsaved_buffer(world: Path, worker_python: str) -> None:
    registry = Runs(lambda _: "")
    told: list[tuple[float, str]] = []
    registry.on_change.append(lambda run: told.append((run.fraction, run.headline)))
    text = TEXT + "\n\nUNSAVED = True\n"
    live = registry.start(request(world, worker_python, text=text, trials=1))
    await until(live, lambda: live.mode)
    marker = child_of(registry, live).marker
    await until(live, lambda: live.done)
    while not live.ended:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0)
    assert (live.state, live.error, live.mode, live.done) == ("finished", "", "predicted", 1)
    assert "H100" in (live.device or "")
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert told[-1][0] == 1.0
    headlines = list(dict.fromkeys(headline for _, headline in told))
    assert headlines[0] in ("starting", "capturing")  # told of soon after: the next event may be in by then
    assert "capturing" in headlines
    assert headlines[-1] in ("likely faster", "nothing likely faster")
    assert not any("×" in h for h in headlines)
    await nobody(marker)
    assert os.listdir(tempfile.gettempdir()) == []
    with Store.read(world / "history.db") as store:
        row = runs.find(store, live.id)
        assert (row.id, row.state, row.kernel, row.reason) == (live.id, "finished", "add_kernel", live.reason)
        assert len(trials.trials(store, row.id)) == 1
        assert row.summary["best"] == live.best
        assert "UNSAVED" in runs.base_texts(store, row.id)[row.path]


@pytest.mark.asyncio
async def test_stopped_in_the_middle_nobody_is_left_and_it_goes_on_later(world: Path, worker_python: str) -> None:
    registry = Runs(lambda _: "")
    live = registry.start(request(world, worker_python, trials=50))
    await until(live, lambda: live.done)
    marker = child_of(registry, live).marker
    assert len(list(system.marked(marker))) >= 4  # the search, its supervisor with guardian, executors: the mark reaches all
    await registry.cancel(live.id)
    await nobody(marker)
    assert (live.state, live.headline) == ("interrupted", "stopped")
    assert os.listdir(tempfile.gettempdir()) == []
    with Store.read(world / "history.db") as store:
        row = runs.find(store, live.id)
        kept = len(trials.trials(store, row.id))
        assert row.state == "interrupted"
        assert kept >= live.done
    resumed = registry.start(request(world, worker_python, resume=live.id, trials=kept + 1))
    assert resumed is not live
    await until(resumed, lambda: resumed.done)
    while not resumed.ended:
        await asyncio.sleep(0.02)
    assert (resumed.id, resumed.state, resumed.error) == (live.id, "finished", "")
    assert resumed.done == kept + 1


@pytest.mark.asyncio
@pytest.mark.parametrize("patience", ["as it is", "none"])
@pytest.mark.parametrize("folders", ["kernelband-worker-*", "kernelband-worker-*/**/entry-*"], ids=["start", "capture"])
async def test_stopped_before_anything_is_known(
    world: Path, worker_python: str, monkeypatch: pytest.MonkeyPatch, folders: str, patience: str
) -> None:
    """While the worker starts, or the user's program runs: their folders go too, also where nobody has the time to remove them."""
    if patience == "none":
        monkeypatch.setattr("kernelband.lsp.child.GRACE_S", 0)
        monkeypatch.setattr("kernelband.lsp.child.LEAVE_S", 0)
    registry = Runs(lambda _: "")
    text = f"{TEXT}\nimport time\ntime.sleep(600)\n"  # the program runs until it is stopped
    live = registry.start(request(world, worker_python, text=text))
    await until(live, lambda: there(folders))
    marker = child_of(registry, live).marker
    await registry.cancel(live.id)
    await nobody(marker)
    assert live.state == "interrupted"
    assert os.listdir(tempfile.gettempdir()) == []
