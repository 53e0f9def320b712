"""How soon the first lens is there, in profiles that nobody has used: nothing is compiled, cached or remembered."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest

from tests.e2e.cli_world import KERNEL
from tests.e2e.workbench.conftest import StartWorkbench
from tests.e2e.workbench.screen import EDITOR
from tests.e2e.workbench.workbench import Workbench

#: Of each kind of folder. Figures to tell others need some: KERNELBAND_TEST_PROFILES=5 pytest tests/e2e/workbench/test_first_lens.py.
PROFILES = int(os.environ.get("KERNELBAND_TEST_PROFILES", "1"))
WANTED_S = 2.0  # printed beside what was seen, which says as much of the machine


def test_the_first_lens_of_a_clean_profile(
    start_workbench: StartWorkbench, installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder of Python, where the server starts with the window; and in one that has some only below, where a first file starts it."""
    ready: list[float] = []
    lens: dict[str, list[float]] = {"of a folder of Python": [], "of one with some below": []}
    for folder, found in zip((".", "ops"), lens.values(), strict=True):
        work = tmp_path / folder / "work"
        (work / folder).mkdir(parents=True)
        (work / folder / "scale.py").write_text(KERNEL)
        (work / "notes.txt").write_text("Another file, so that the editor itself has been drawn once.\n")
        for _ in range(PROFILES):
            workbench = start_workbench(extensions=installed)
            found.append(first_lens(workbench, work, folder))
            ready.append(workbench.ready_s)
            assert workbench.stop() == []
    with capsys.disabled():
        print(f"\nseconds of clean profiles, {WANTED_S:g} s wanted for a lens; load average {os.getloadavg()[0]:.1f}")
        for what, seconds in (("window", ready), *((f"first lens {which}", x) for which, x in lens.items())):
            print(f"{what}: median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s of {len(seconds)}")


def first_lens(workbench: Workbench, work: Path, folder: str) -> float:
    """Seconds since the text is on the screen, in a workbench that is ready: it has started all of its own, and shown a text before."""
    screen = workbench.start(work)
    screen.explore("notes.txt")
    screen.eventually(lambda: "Eager extensions activated" in "".join(workbench.logs().values()))
    rows = screen.page.locator(".explorer-folders-view .monaco-list-row")
    if folder != ".":
        rows.get_by_text(folder, exact=True).click()
    screen.steady(screen.status)
    rows.get_by_text("scale.py", exact=True).dblclick()
    screen.page.locator(f'{EDITOR} .monaco-editor[data-uri$="/scale.py"] .view-line').first.wait_for()
    begin = time.monotonic()
    screen.page.locator(f"{EDITOR} .codelens-decoration a").first.wait_for()
    seconds = time.monotonic() - begin
    assert screen.lenses() == ["Optimize"]
    return seconds
