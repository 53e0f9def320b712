"""All cheats that a CPU can show and all honest controls in the real final; the short form is tests/redteam/test_final.py.

Each is played once for both of the roles that get so far, an edit given to ``verify`` and a finalist that a model wrote: they take the same
way, and the corpus names the same reasons for both.

KERNELBAND_REDTEAM=0:40 python -m pytest -s -m stress tests/stress/test_redteam.py   # a part of them
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from kernelband.judge.protocol import Verdict
from tests.e2e.conftest import worker_python  # noqa: F401 - the fixture
from tests.redteam.corpus import Cheat, Edited, Reason, Role, cheats, controls
from tests.redteam.stage import Stage, caught_by, refused

CHEATS = [c for c in cheats() if Role.VERIFY in c.roles and not c.needs_gpu]
CONTROLS = [c for c in controls() if not c.needs_gpu]


def play(stage: Stage, cheat: Cheat) -> tuple[Verdict, Reason | None]:
    """The verdict on a cheat, and what refuses it. A gain must show three times before it is one: times on a busy CPU mean little."""
    for _ in range(3):
        verdict = stage.play(cheat)
        found = caught_by(verdict)
        if found is not None or Reason.SLOWER not in cheat.caught_by[Role.VERIFY]:
            break
    return verdict, found


@pytest.mark.stress
@pytest.mark.timeout(7200)
def test_the_red_team(worker_python: str, tmp_path: Path) -> None:  # noqa: F811
    stage = Stage(worker_python, tmp_path)
    first, _, last = os.environ.get("KERNELBAND_REDTEAM", ":").partition(":")
    every: list[Edited] = [*CHEATS, *CONTROLS]
    odd: list[str] = []
    by: Counter[str] = Counter()
    print(f"\n     {'cheat':34} {'family':13} {'role':16} {'caught by':13} reason")
    try:
        for edited in every[int(first or 0) : int(last) if last else None]:
            if isinstance(edited, Cheat):
                verdict, found = play(stage, edited)
                right = found in edited.caught_by[Role.VERIFY]
                what = f"{edited.family:13} verify, finalist {found.value if found else 'nothing':13}"
            else:
                verdict = stage.play(edited)
                right = not refused(verdict)
                what = f"{'(honest)':13} verify, finalist {'nothing' if right else 'refused':13}"
            by[what] += 1
            odd += [] if right else [edited.name]
            print(f"{'ok ' if right else 'ODD'}  {edited.name:34} {what} {verdict.result.reason[:100]}", flush=True)
    finally:
        stage.close()
    for what, count in sorted(by.items()):
        print(f"{count:5}  {what}")
    assert odd == []
