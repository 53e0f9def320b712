"""A folder full of traps in a workbench that asks for trust: without it nothing of the folder runs, with it the kernel's module does."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.cli_world import Home
from tests.e2e.lsp.test_trust import Traps, no_children
from tests.e2e.workbench.conftest import Lend, ready_to_search
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.test_first_minute import line
from tests.e2e.workbench.test_server import servers
from tests.e2e.workbench.test_view import welcome

#: What runs, by its title in the palette, and how the editor says that it doesn't here.
RUNS = ("KernelBand: Verify my edit", "KernelBand: Compile the kernel and show hints")
REFUSED = "that folder isn't trusted"


def is_not_begun(screen: Screen) -> None:
    """The list says what is missing, and Enter would lead there."""
    assert "trust the folder first" in screen.eventually(lambda: line(screen, "Start"))
    assert "Not looked at" in line(screen, "Python")
    screen.press("Escape")
    screen.page.locator(".quick-input-widget").wait_for(state="hidden")


def is_refused(screen: Screen) -> None:
    screen.notification(REFUSED).wait_for()
    screen.dismiss()


def test_nothing_runs_until_the_folder_is_trusted(lend: Lend, searched: Home, tmp_path: Path) -> None:
    home, traps = searched, Traps(searched, tmp_path)
    traps.plant(package=True)
    workbench = ready_to_search(lend(trust=True), home)
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
        is_not_begun(screen)
        for title in RUNS:
            screen.click("scale_kernel")
            screen.palette(title)
            is_refused(screen)
        screen.menu("scale_kernel", "Optimize kernel")
        is_not_begun(screen)
        screen.side_bar("KernelBand")
        screen.eventually(screen.rows, lambda found: any("scale_kernel" in row for row in found))
        assert looks() > 20
    assert traps.sung == []
    assert workbench.processes(str(home.work)) == []
    screen.eventually(screen.lenses, lambda found: found == lenses)  # the editor asks for them anew now and then

    # and so that all this can fail
    traps.unshadow()
    screen.palette(RUNS[0])
    screen.notification(REFUSED).get_by_role("button", name="Trust the folder").click()  # what helps
    screen.page.get_by_role("button", name="Trust", exact=True).first.click()
    screen.open("scale.py")
    screen.lens("Optimize").click()
    screen.eventually(lambda: line(screen, "Start"), lambda found: "trials" in found or " s" in found)
    screen.press("Enter")
    screen.eventually(lambda: traps.sung, lambda found: "module" in found, seconds=300)
    # what only the user may name is not taken from the repository, also where it is trusted
    assert not {"interpreter", "worker", "db"} & set(traps.sung)
    screen.palette("KernelBand: Stop all runs")


def test_a_folder_that_is_not_trusted(lend: Lend, home: Home) -> None:
    workbench = lend(trust=True)
    workbench.configure({"kernelband.python": home.python, "kernelband.db": str(home.db)})
    screen = workbench.start(home.work)
    screen.eventually(screen.status, lambda found: "Restricted Mode" in found)
    screen.side_bar("KernelBand")
    assert [text.strip() for text in screen.eventually(lambda: screen.rows("Kernels"))] == ["scale.py", "scale_kernel"]
    assert "nothing of it runs" in screen.eventually(lambda: welcome(screen))
    assert screen.rows("Runs") == []

    # the search's packages are missing, and nobody is asked for them where nothing can run
    screen.open("scale.py")
    screen.eventually(screen.lenses)
    screen.lens("Optimize").click()
    is_not_begun(screen)
    assert screen.dialog().count() == 0
