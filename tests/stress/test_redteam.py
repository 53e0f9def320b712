"""All cheats that a CPU can show and all honest controls in the real final; the short form is tests/redteam/test_final.py.

KERNELBAND_REDTEAM=0:40 python -m pytest -s -m stress tests/stress/test_redteam.py   # a part of them
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.conftest import worker_python  # noqa: F401 - the fixture
from tests.redteam.corpus import Reason, Role, cheats, controls
from tests.redteam.stage import Stage, refused

#: Of these a rehearsal without a GPU sees nothing: it has no times worth the name.
OF_TIME = {Reason.CLOCK, Reason.SLOWER, Reason.DEVICE_ACTIVITY}


@pytest.mark.stress
@pytest.mark.timeout(7200)
def test_the_red_team(worker_python: str, tmp_path: Path) -> None:  # noqa: F811
    stage = Stage(worker_python, tmp_path)
    first, _, last = os.environ.get("KERNELBAND_REDTEAM", ":").partition(":")
    tried = [c for c in cheats() if Role.VERIFY in c.roles and not c.needs_gpu and not set(c.caught_by[Role.VERIFY]) & OF_TIME]
    every = [*((c, True) for c in tried), *((c, False) for c in controls() if not c.needs_gpu)]
    odd: list[str] = []
    try:
        for edited, bad in every[int(first or 0) : int(last) if last else None]:
            verdict = stage.play(edited)
            result = verdict.result
            right = refused(verdict) == bad
            odd += [] if right else [edited.name]
            said = result.reason or ("nothing" if bad else "")
            print(
                f"{'ok ' if right else 'ODD'}  {'cheat' if bad else 'honest':7} {edited.name:34} {result.correctness:16} {said[:110]}",
                flush=True,
            )
    finally:
        stage.close()
    assert odd == []
