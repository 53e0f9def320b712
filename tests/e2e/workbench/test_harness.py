"""What the other tests lean on: a process left behind is seen."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.e2e.workbench.conftest import StartWorkbench
from tests.e2e.workbench.workbench import MARK


def test_a_process_left_behind_is_seen_and_ended(start_workbench: StartWorkbench, tmp_path: Path) -> None:
    workbench = start_workbench()
    environment = {**os.environ, MARK: workbench.mark}
    orphan = subprocess.Popen(["sleep", "60"], env=environment, start_new_session=True)
    workbench.serve()
    assert orphan.pid in [process.pid for process in workbench.processes()]
    assert f"{orphan.pid}: sleep 60" in workbench.stop(seconds=2)
    orphan.wait(5)
