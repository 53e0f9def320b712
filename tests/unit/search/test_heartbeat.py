"""The heartbeat of a run: it ends with the run, whatever it is about, and shows no traceback."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import HistoryError
from kernelband.search import run, session

from .world import World


@pytest.mark.parametrize("late_s", [0.0, 0.5])
def test_the_history_is_closed_after_the_last_beat(late_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that a busy machine lets wait came to a history that was closed: pytest reports what threads raise."""
    beat, told = session.runs.beat, list[str]()

    def slow(*args: Any, **more: Any) -> None:
        told.append("began")
        time.sleep(late_s)
        beat(*args, **more)
        told.append("ended")

    monkeypatch.setattr(run, "BEAT_S", 0.01)
    monkeypatch.setattr(session.runs, "beat", slow)
    world = World(tmp_path)
    assert world.run(world.options(trials=2)).state == "finished"
    assert told.count("began") == told.count("ended") > 0


def test_what_is_wrong_with_the_history_is_said_by_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def refused(*_: Any, **__: Any) -> None:
        calls.append("beat")
        raise HistoryError("There is no room left on the disk.")

    monkeypatch.setattr(run, "BEAT_S", 0.01)
    monkeypatch.setattr(session.runs, "beat", refused)
    world = World(tmp_path)
    assert world.run(world.options(trials=2)).state == "finished"  # its own writes went well
    assert calls
