"""What the other tests lean on: the text read is the text there is, and a process left behind is seen."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.e2e.workbench.conftest import StartWorkbench
from tests.e2e.workbench.workbench import MARK

TEXT = "import torch\n\n\ndef twice(x):\n    return 2 * x\n"


def test_a_file_is_edited_saved_and_taken_back(start_workbench: StartWorkbench, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    file = work / "twice.py"
    file.write_text(TEXT)
    screen = start_workbench().start(work)
    screen.explore("twice.py")
    assert screen.text() == TEXT
    screen.go(5, 5)
    screen.type("y = x\n")
    assert screen.tabs() == ["twice.py ●"]
    edited = TEXT.replace("return", "y = x\n    return")
    assert screen.text() == edited
    assert file.read_text() == TEXT
    screen.save()
    assert file.read_text() == edited
    while screen.text() != TEXT:
        screen.undo()
    screen.steady(screen.text, 2)  # the workbench writes its copies a second after the last key
    screen.reload()
    screen.open("twice.py")
    assert screen.text() == TEXT  # a text that isn't saved outlives the window
    assert file.read_text() == edited


def test_a_process_left_behind_is_seen_and_ended(start_workbench: StartWorkbench, tmp_path: Path) -> None:
    workbench = start_workbench()
    environment = {**os.environ, MARK: workbench.mark}
    orphan = subprocess.Popen(["sleep", "60"], env=environment, start_new_session=True)
    workbench.serve()
    assert orphan.pid in [process.pid for process in workbench.processes()]
    (told,) = workbench.stop(seconds=2)
    assert told == f"{orphan.pid}: sleep 60"
    orphan.wait(5)
