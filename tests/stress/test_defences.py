"""The mutation test: with each single defence switched off, the test that the table names for it fails; and what gets through then.

KERNELBAND_DEFENCES=gate python -m pytest -s -m stress tests/stress/test_defences.py   # those whose name or file holds that word
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelband.judge import turns
from tests.e2e.conftest import worker_python  # noqa: F401 - the fixture
from tests.redteam.corpus import Reason, Role, named
from tests.redteam.defences import DEFENCES, QUICK, ROOT, THROUGH, Defence
from tests.redteam.stage import Stage, caught_by, refused

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7200)]
FAILED = 1  # of pytest: tests ran and some failed; what can't be imported or found has other codes


class Copy:
    """A copy of server/ in which one file at a time is another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "server"
        shutil.copytree(ROOT / "server", self.folder, ignore=shutil.ignore_patterns("__pycache__"))

    def outcome(self, defence: Defence, worker: str) -> int:
        """How pytest ends on the defence's test without it."""
        path = self.folder / defence.file
        before = path.read_text(encoding="utf-8")
        path.write_text(defence.text, encoding="utf-8")
        python = worker if "unit_worker" in defence.test else str(ROOT / ".venv" / "bin" / "python")
        # Compiled files are told apart by time and size, of which an edit may change neither.
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            command = [python, "-m", "pytest", "-q", "-x", "--timeout", "120", defence.test]
            return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=900, check=False).returncode
        finally:
            path.write_text(before, encoding="utf-8")


def test_without_a_defence_its_test_fails(worker_python: str, tmp_path: Path) -> None:  # noqa: F811
    copy, word = Copy(tmp_path), os.environ.get("KERNELBAND_DEFENCES", "")
    idle: list[str] = []
    for defence in DEFENCES:
        if word in defence.name or word in defence.file:
            outcome = copy.outcome(defence, worker_python)
            idle += [] if outcome == FAILED else [defence.name]
            print(f"{'ok ' if outcome == FAILED else 'ODD'}  {outcome}  {defence.name:38} {defence.file:42} {defence.test}", flush=True)
    assert idle == []


# ------------------------------------------------------------ in the whole final


@pytest.fixture(scope="module")
def stage(worker_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:  # noqa: F811
    made = Stage(worker_python, tmp_path_factory.mktemp("redteam"))
    yield made
    made.close()


@pytest.mark.parametrize("defence", [d for d in THROUGH if d not in QUICK])
def test_without_a_defence_its_cheat_gets_through(stage: Stage, defence: str) -> None:
    verdict = stage.play(named(THROUGH[defence]), without=defence)
    assert not refused(verdict), verdict.result


def test_without_poison_a_check_does_not_see_what_leans_on_fresh_memory(stage: Stage) -> None:
    """Timed calls may: there it holds whatever it does."""
    verdict = stage.play(named("old_result_times_zero"), without="poison")
    assert caught_by(verdict) is not Reason.CHECK, verdict.result


@pytest.mark.parametrize("in_each_turn", [True, False])
def test_without_the_supervisors_clock_a_slower_one_is_believed(stage: Stage, monkeypatch: pytest.MonkeyPatch, in_each_turn: bool) -> None:
    """Where turns are short, only all of them together show it."""
    monkeypatch.setattr(turns, "LATE_S", 1e9)
    if not in_each_turn:
        monkeypatch.setattr(turns, "LATER_S", 1e9)
    verdict = stage.play(named("clock_in_modules"))
    assert refused(verdict) == in_each_turn, verdict.result


def test_without_the_gate_a_library_does_the_work(stage: Stage) -> None:
    library = named("library_by_arithmetic")
    assert library.caught_by == {Role.MODEL: frozenset({Reason.GATE})}
    assert not refused(stage.play(library))
