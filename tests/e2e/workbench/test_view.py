"""The side bar with the workspace's kernels and runs, and the walkthrough with its demo."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator

from kernelband.history import Store
from kernelband.history.runs import begin as begin_run
from kernelband.history.runs import end as end_run
from tests.e2e.cli_world import Home
from tests.e2e.workbench.conftest import Lend, ready_to_search
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.test_first_minute import begin, has_variants, line
from tests.e2e.workbench.test_first_minute import runs as in_the_status_bar
from tests.e2e.workbench.workbench import Workbench
from tests.unit.history.rows import run_row

DEMO = "layer_norm.py"


def row(screen: Screen, view: str, number: int) -> Locator:
    """Of a view, counted from 0."""
    return screen.page.locator(f'.sidebar .pane:has(.pane-header[aria-label="{view} Section"]) .monaco-list-row').nth(number)


def act_on_row(screen: Screen, row: Locator, entry: str) -> None:
    """By its context menu."""
    row.click(button="right")
    screen.choose(entry)


def of_kernel(screen: Screen) -> list[str]:
    """The rows of runs, without those of their variants."""
    return [text for text in screen.rows("Runs") if text.startswith("scale_kernel ")]


def welcome(screen: Screen) -> str:
    """What stands in a view without rows."""
    return " ".join(screen.page.locator(".sidebar .welcome-view-content").all_inner_texts())


def test_kernels_and_runs_of_the_workspace(lend: Lend, searched: Home) -> None:
    before = searched.file.read_text()
    workbench = ready_to_search(lend(), searched)
    screen = workbench.start(searched.work)
    screen.side_bar("KernelBand")
    (file, kernel) = screen.eventually(lambda: screen.rows("Kernels"), lambda found: len(found) == 2 and "likely" in found[1])
    assert file.strip() == "scale.py"
    assert re.match(r"scale_kernel likely faster on \S+ \(predicted\) · \d+ variants?$", kernel)

    row(screen, "Kernels", 1).click()
    screen.eventually(screen.tabs, lambda found: found == ["scale.py"])
    screen.eventually(lambda: [text for text in screen.status() if text.startswith("Ln ")], lambda found: found == ["Ln 7, Col 1"])

    (run,) = screen.eventually(lambda: screen.rows("Runs"))
    assert re.match(r"scale_kernel likely faster · \S+ \(predicted\) · \d\d:\d\d$", run), run
    row(screen, "Runs", 0).click()
    rows = screen.eventually(lambda: screen.rows("Runs"), lambda found: len(found) > 1)
    assert rows[1].startswith("likely faster ")
    assert not any("×" in row for row in rows), "nothing was measured"

    row(screen, "Runs", 1).click()
    screen.eventually(screen.tabs, lambda found: any("Original" in tab or "↔" in tab for tab in found))
    assert searched.file.read_text() == before, "a click only compares"
    # it goes to the first change once it is there, which would close a menu
    screen.eventually(lambda: [text for text in screen.status() if text.startswith("Ln 16")])
    screen.close_tab()

    act_on_row(screen, row(screen, "Runs", 1), "Apply and verify again")
    screen.eventually(screen.tabs, lambda found: found == ["scale.py ●"])
    screen.eventually(screen.lenses, lambda found: "Reject" in found)
    screen.notification("Predicted, not measured: your edit of scale_kernel is ").wait_for()
    screen.dismiss()
    screen.eventually(lambda: of_kernel(screen), lambda found: len(found) == 2 and "likely faster" in found[0])
    going = screen.page.locator(".sidebar .codicon-loading")
    screen.eventually(going.count, lambda found: found == 0)  # until then its menu is that of a run that goes on
    runs = of_kernel(screen)
    assert "×" not in "".join(runs)
    assert searched.file.read_text() == before, "the file is the person's to save"
    screen.lens("Reject").click()
    screen.eventually(screen.lenses, has_variants)

    act_on_row(screen, row(screen, "Runs", 0), "Delete this run")
    assert "can't be undone" in screen.dialog().inner_text()
    screen.dialog().get_by_role("button", name="Cancel").click()
    screen.dialog().wait_for(state="detached")
    assert of_kernel(screen) == runs
    for left in (1, 0):
        act_on_row(screen, row(screen, "Runs", 0), "Delete this run")
        screen.dialog().get_by_role("button", name="Delete").click()
        screen.eventually(lambda: of_kernel(screen), lambda found, left=left: len(found) == left)
    screen.eventually(lambda: screen.rows("Runs"), lambda found: found == [])
    assert "Runs appear here as they begin" in screen.eventually(lambda: welcome(screen))
    (_, kernel) = screen.eventually(lambda: screen.rows("Kernels"), lambda found: len(found) == 2 and "likely" not in found[1])
    assert kernel.strip() == "scale_kernel"
    assert screen.notifications() == []

    # a run that goes on elsewhere, and ends while its file isn't on the screen
    screen.click("tl.arange")
    screen.save()
    screen.palette("View: Close All Editors")
    screen.eventually(screen.tabs, lambda found: found == [])
    with Store.write(searched.db) as store:
        begin_run(store, run_row("0123abcd", path=str(searched.file), kernel="scale_kernel", mode="predicted"), {})
    header = screen.page.locator('.sidebar .pane-header[aria-label="Runs Section"]')
    header.hover()
    header.get_by_role("button", name="Refresh").click()
    screen.eventually(lambda: of_kernel(screen), lambda found: len(found) == 1 and "trials so far" in found[0])
    with Store.write(searched.db) as store:
        end_run(store, "0123abcd", "finished", "", seconds_used=1.0, clock={}, summary={})
    news = screen.status_item("scale_kernel: nothing likely faster")
    news.wait_for()
    screen.eventually(lambda: of_kernel(screen), lambda found: len(found) == 1 and "nothing likely faster" in found[0])
    news.click()
    screen.eventually(screen.tabs, lambda found: len(found) == 1)
    news.wait_for(state="detached")
    assert screen.notifications() == []


def test_a_run_from_the_side_bar_is_stopped_and_resumed(workbench: Workbench, home: Home) -> None:
    (home.work / "empty.py").write_text("import triton\n")
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    screen.side_bar("KernelBand")
    screen.eventually(lambda: screen.rows("Kernels"), lambda found: len(found) == 2)
    row(screen, "Kernels", 1).hover()
    row(screen, "Kernels", 1).get_by_role("button", name="Optimize kernel").click()
    begin(screen, "100 trials")
    (run,) = screen.eventually(lambda: screen.rows("Runs"))
    assert run.startswith("scale_kernel ")
    counted = re.compile(r"\b\d+/100\b")
    screen.eventually(lambda: screen.rows("Runs"), lambda found: any(map(counted.search, found)))
    screen.eventually(lambda: screen.rows("Kernels"), lambda found: any(map(counted.search, found)))
    badge = screen.page.locator('.activitybar .action-item[aria-label^="KernelBand"] .badge-content')
    assert badge.all_inner_texts() == ["1"]
    act_on_row(screen, row(screen, "Runs", 0), "Stop")
    screen.eventually(lambda: screen.rows("Runs"), lambda found: "scale_kernel stopped" in "".join(found[:1]))
    screen.eventually(badge.all_inner_texts, lambda shown: not any(shown))

    # from where it was, and stopped over its kernel
    screen.eventually(screen.lenses, lambda found: "Resume" in found)
    screen.lens("Resume").click()
    screen.eventually(lambda: in_the_status_bar(screen), lambda found: any(counted.search(text) for text in found))
    screen.lens("Cancel").click()
    screen.eventually(lambda: in_the_status_bar(screen), lambda found: not found)
    screen.eventually(screen.lenses, lambda found: "Resume" in found)
    screen.eventually(lambda: workbench.processes("kernelband_worker"), lambda found: found == [])
    assert screen.notifications() == []


def test_the_walkthrough_and_its_demo(workbench: Workbench, home: Home) -> None:
    workbench.configure({"kernelband.python": None, "python.defaultInterpreterPath": home.python})
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses)
    screen.palette("Welcome: Open Walkthrough...", entry="Welcome: Open Walkthrough...")
    screen.pick("Get started with KernelBand")
    page = screen.page.locator(".gettingStartedContainer")
    page.get_by_text("What KernelBand does").first.wait_for()

    page.get_by_text("Optimize it", exact=True).first.click()
    page.get_by_role("button", name="Optimize the demo kernel").click()
    screen.dialog().get_by_text("Let the demo kernel run?").wait_for()
    screen.dialog().get_by_role("button", name="Cancel").click()
    screen.eventually(lambda: screen.dialog().count(), lambda found: found == 0)
    assert not list(workbench.data.glob(f"**/{DEMO}")), "nothing was put anywhere"

    page.get_by_text("Open the demo kernel", exact=True).first.click()
    said = page.inner_text()
    assert "What runs" in said
    page.get_by_role("button", name="Open the demo and let it run").click()
    screen.eventually(screen.tabs, lambda found: DEMO in found)
    (demo,) = workbench.data.glob(f"**/{DEMO}")
    assert demo.read_text() == (Path(__file__).parents[3] / "examples" / DEMO).read_text()
    screen.eventually(screen.lenses, lambda found: "Optimize" in found)

    screen.lens("Optimize").click()
    screen.eventually(lambda: line(screen, "Start"), lambda found: "60 s" in found)
    screen.press("Enter")
    screen.side_bar("KernelBand")
    going = screen.eventually(lambda: screen.rows("Runs"), lambda found: bool(found) and "starting" not in found[0])
    assert going[0].startswith("_layer_norm_fwd_kernel"), "the demo's runs are there, though its folder isn't open"
    assert "failed" not in going[0], "its folder is in no open one, and has the user's Python all the same"
    screen.palette("KernelBand: Stop all runs")
    screen.eventually(lambda: [text for text in screen.status() if "_layer_norm_fwd_kernel" in text], lambda found: not found, 60)
    assert not [text for text in screen.notifications() if "trusted" in text]
