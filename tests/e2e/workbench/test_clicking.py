"""From a clean profile to a running optimization with the mouse alone, by what the screen offers: no settings, a Python without torch."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from tests.e2e.cli_world import Home
from tests.e2e.workbench.conftest import Lend
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.test_first_minute import goes_on, line, line_of
from tests.e2e.workbench.test_optimize import WITHOUT_ENTRY

#: Where a person's pip is told which index to ask; the home of a workbench is an empty one.
PIP = Path(".config/pip/pip.conf")


@pytest.fixture
def work(home: Home) -> Path:
    """A folder with two kernels, one of them with nothing that runs it, and an environment of its own that has torch."""
    (home.work / "plain.py").write_text(WITHOUT_ENTRY.replace("scale", "plain"))
    (home.work / ".venv").symlink_to(Path(home.python).parents[1])
    return home.work


def open_list(screen: Screen, kernel: str, wanted: str) -> str:
    """Right-click, *Optimize kernel*; what *Start* says once it says that."""
    screen.menu(kernel, "Optimize kernel")
    return screen.eventually(lambda: line(screen, "Start"), lambda found: wanted in found)


def tab(screen: Screen, name: str) -> Locator:
    return screen.page.locator(".tab").filter(has_text=re.compile(rf"^{re.escape(name)}$")).first


def goes_on_until_it_is_cancelled(screen: Screen) -> None:
    screen.eventually(screen.lenses, goes_on)
    screen.eventually(lambda: [text for text in screen.status() if "_kernel " in text])
    screen.lens("Cancel").click()
    screen.eventually(screen.lenses, lambda found: not goes_on(found))


def test_by_clicking_only(lend: Lend, work: Path) -> None:
    workbench = lend(trust=True)
    assert workbench.of_machine == {}, "a clean profile"
    if (Path.home() / PIP).exists():
        (workbench.home / PIP).parent.mkdir(parents=True)
        shutil.copy(Path.home() / PIP, workbench.home / PIP)
    screen = workbench.start(work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])

    open_list(screen, "scale_kernel", "trust the folder first")
    line_of(screen, "Start").click()
    screen.page.get_by_role("button", name="Trust", exact=True).first.click()
    tab(screen, "scale.py").click()

    open_list(screen, "scale_kernel", "choose a Python first")
    assert "torch can't be used" in line(screen, "Python")
    line_of(screen, "Start").click()
    screen.picks("Browse…")
    screen.pick(str(work / ".venv" / "bin" / "python"))

    # back in the list, with that Python
    screen.eventually(lambda: line(screen, "Start"), lambda found: "60 s" in found and "torch" in found)
    assert "scale.py::bench" in line(screen, "Entry")
    line_of(screen, "Start").click()
    screen.picks("Install")
    screen.pick("Install")
    goes_on_until_it_is_cancelled(screen)

    # and a file that nothing runs
    screen.explore("plain.py")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    open_list(screen, "plain_kernel", "choose an entry first")
    line_of(screen, "Start").click()
    screen.picks("Write one")
    screen.pick("Write one")
    drafted = screen.notification("was drafted")
    drafted.wait_for()
    assert "def bench_plain():" in (work / "bench_plain.py").read_text()
    assert "bench_plain.py" in screen.tabs()  # it is seen before anything of it runs
    drafted.get_by_role("button", name="Optimize").click()
    screen.eventually(lambda: line(screen, "Start"), lambda found: "60 s" in found)
    assert "bench_plain.py::bench_plain" in line(screen, "Entry")
    line_of(screen, "Start").click()
    tab(screen, "plain.py").click()
    goes_on_until_it_is_cancelled(screen)
