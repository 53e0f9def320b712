"""A folder full of traps in a workbench that asks for trust: without it nothing of the folder runs, with it the kernel's module does."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from tests.e2e.lsp.test_trust import Traps, no_children, traps  # noqa: F401  # the fixture
from tests.e2e.workbench.conftest import StartWorkbench
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.workbench import Workbench

#: What runs, by its title in the palette, and how the editor says that it doesn't here.
RUNS = ("KernelBand: Verify my edit", "KernelBand: Compile the kernel and show hints")
REFUSED = "that folder isn't trusted"


def servers(workbench: Workbench) -> list[psutil.Process]:
    """Ours: at most one."""
    return workbench.processes("start.py")


def kill(screen: Screen, workbench: Workbench) -> None:
    (old,) = servers(workbench)
    old.kill()
    screen.eventually(lambda: old.pid not in [p.pid for p in servers(workbench)])


def is_refused(screen: Screen) -> None:
    screen.notification(REFUSED).wait_for()
    screen.dismiss()


def test_nothing_runs_until_the_folder_is_trusted(
    start_workbench: StartWorkbench,
    vsix: Path,
    traps: Traps,  # noqa: F811  # the fixture
) -> None:
    home = traps.home
    traps.plant(package=True)
    workbench = start_workbench(trust=True)
    workbench.install(vsix)
    workbench.configure({"kernelband.python": home.python, "kernelband.search.interpreter": sys.executable, "kernelband.db": str(home.db)})
    screen = workbench.start(home.work)
    screen.eventually(screen.status, lambda found: "Restricted Mode" in found)
    screen.explore("scale.py")
    lenses = screen.eventually(screen.lenses, lambda found: any("variant" in text for text in found))
    (server,) = servers(workbench)
    with no_children(server.pid) as looks:
        assert "likely faster" in screen.hover("scale_kernel").inner_text()
        assert any("predicted" in title for title in screen.actions("tl.store"))
        screen.press("Escape")
        screen.lens("Optimize").click()
        is_refused(screen)
        for title in RUNS:
            screen.click("scale_kernel")
            screen.palette(title)
            is_refused(screen)
        screen.menu("scale_kernel", "Optimize kernel")
        screen.pick("20 trials")
        is_refused(screen)
        screen.side_bar("KernelBand")
        screen.eventually(screen.rows, lambda found: any("scale_kernel" in row for row in found))
        assert looks() > 20
    assert traps.sung == []
    assert workbench.processes(str(home.work)) == []
    assert screen.lenses() == lenses

    # and so that all this can fail
    traps.unshadow()
    screen.palette("Workspaces: Manage Workspace Trust")
    screen.page.get_by_role("button", name="Trust", exact=True).first.click()
    screen.open("scale.py")
    screen.lens("Optimize").click()
    screen.eventually(lambda: traps.sung, lambda found: "module" in found, seconds=120)
    # what only the user may name is not taken from the repository, also where it is trusted
    assert not {"interpreter", "worker", "db"} & set(traps.sung)
    screen.palette("KernelBand: Stop all runs")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "scale.py").write_text("import triton\n\n\n@triton.jit\ndef scale_kernel(x):\n    pass\n")
    return folder


def test_a_server_that_is_killed_comes_back(start_workbench: StartWorkbench, vsix: Path, work: Path) -> None:
    workbench = start_workbench()
    workbench.install(vsix)
    screen = workbench.start(work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    for _ in range(5):
        kill(screen, workbench)
        screen.eventually(lambda: servers(workbench))
        screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    kill(screen, workbench)
    screen.page.wait_for_timeout(2000)
    assert servers(workbench) == []
    assert screen.notifications() == []
    assert not any("crash" in text.lower() for text in screen.status())
    screen.palette("KernelBand: Restart the language server")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])

    # asked for while it starts, again and again: one at a time, and one in the end
    for _ in range(4):
        screen.palette("KernelBand: Restart the language server")
        assert len(servers(workbench)) <= 1
    screen.steady(lambda: [p.pid for p in servers(workbench)], 5)
    assert len(servers(workbench)) == 1
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    assert screen.notifications() == []


def test_a_server_that_never_starts_is_said_when_it_is_needed(start_workbench: StartWorkbench, vsix: Path, work: Path) -> None:
    workbench = start_workbench()
    workbench.install(vsix)
    workbench.configure({"kernelband.server.interpreter": "/bin/false"})
    screen = workbench.start(work)
    screen.explore("scale.py")
    screen.page.wait_for_timeout(3000)
    assert servers(workbench) == []
    assert screen.lenses() == []
    assert screen.notifications() == []
    screen.palette("KernelBand: Verify my edit")
    screen.notification("Python 3.10 or newer").wait_for()
