"""The side bar with the workspace's kernels and runs, the walkthrough with its demo, and what the language status says and does."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator

from tests.e2e.cli_world import Home
from tests.e2e.workbench.conftest import StartWorkbench
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.workbench import Workbench

DEMO = "layer_norm.py"


def row(screen: Screen, view: str, number: int) -> Locator:
    """Of a view, counted from 0."""
    return screen.page.locator(f'.sidebar .pane:has(.pane-header[aria-label="{view} Section"]) .monaco-list-row').nth(number)


def act_on_row(screen: Screen, row: Locator, entry: str) -> None:
    """By its context menu."""
    row.click(button="right")
    screen.choose(entry)


def welcome(screen: Screen) -> str:
    """What stands in a view without rows."""
    return " ".join(screen.page.locator(".sidebar .welcome-view-content").all_inner_texts())


def test_kernels_and_runs_of_the_workspace(workbench: Workbench, home: Home) -> None:
    done = home.optimize("scale.py", "--trials", "3")
    assert done.code == 0, done.err
    screen = workbench.start(home.work)
    screen.side_bar("KernelBand")
    (file, kernel) = screen.eventually(lambda: screen.rows("Kernels"), lambda found: len(found) == 2)
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
    assert home.file.read_text().count("def scale_kernel") == 1, "a click only compares"
    # it goes to the first change once it is there, which would close a menu
    screen.eventually(lambda: [text for text in screen.status() if text.startswith("Ln 16")])

    act_on_row(screen, row(screen, "Runs", 0), "Delete this run")
    assert "can't be undone" in screen.dialog().inner_text()
    screen.dialog().get_by_role("button", name="Cancel").click()
    assert run in screen.rows("Runs")
    act_on_row(screen, row(screen, "Runs", 0), "Delete this run")
    screen.dialog().get_by_role("button", name="Delete").click()
    screen.eventually(lambda: screen.rows("Runs"), lambda found: found == [])
    assert "Runs appear here as they begin" in screen.eventually(lambda: welcome(screen))
    assert screen.eventually(lambda: screen.rows("Kernels"), lambda found: "likely" not in found[1])[1].strip() == "scale_kernel"
    assert screen.notifications() == []


def test_a_variant_is_put_in_and_verified_again(workbench: Workbench, home: Home) -> None:
    done = home.optimize("scale.py", "--trials", "2")
    assert done.code == 0, done.err
    before = home.file.read_text()
    screen = workbench.start(home.work)
    screen.side_bar("KernelBand")
    screen.eventually(lambda: screen.rows("Runs"))
    row(screen, "Runs", 0).click()
    screen.eventually(lambda: screen.rows("Runs"), lambda found: len(found) > 1)
    act_on_row(screen, row(screen, "Runs", 1), "Put in and verify again")
    screen.eventually(screen.tabs, lambda found: found == ["scale.py ●"])
    screen.eventually(screen.lenses, lambda found: "Reject" in found)
    runs = screen.eventually(
        lambda: [text for text in screen.rows("Runs") if text.startswith("scale_kernel ")],
        lambda found: len(found) == 2 and "likely faster" in found[0],
        120,
    )
    assert "×" not in "".join(runs)
    assert home.file.read_text() == before, "the file is the person's to save"


def test_a_run_from_the_side_bar(workbench: Workbench, home: Home) -> None:
    (home.work / "empty.py").write_text("import triton\n")
    screen = workbench.start(home.work)
    screen.side_bar("KernelBand")
    screen.eventually(lambda: screen.rows("Kernels"), lambda found: len(found) == 2)
    row(screen, "Kernels", 1).hover()
    row(screen, "Kernels", 1).get_by_role("button", name="Optimize kernel").click()
    screen.pick("Another budget…")
    screen.answer("100 trials")
    (run,) = screen.eventually(lambda: screen.rows("Runs"), seconds=60)
    assert run.startswith("scale_kernel ")
    counted = re.compile(r"\b\d+/100\b")
    screen.eventually(lambda: screen.rows("Runs"), lambda found: bool(counted.search(found[0])), 60)
    screen.eventually(lambda: screen.rows("Kernels"), lambda found: bool(counted.search(found[1])))
    badge = screen.page.locator('.activitybar .action-item[aria-label^="KernelBand"] .badge-content')
    assert badge.all_inner_texts() == ["1"]
    act_on_row(screen, row(screen, "Runs", 0), "Stop")
    screen.eventually(lambda: screen.rows("Runs"), lambda found: found[0].startswith("scale_kernel stopped"), 60)
    screen.eventually(badge.all_inner_texts, lambda shown: not any(shown))
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
    screen.side_bar("KernelBand")
    going = screen.eventually(lambda: screen.rows("Runs"), lambda found: bool(found) and "starting" not in found[0], 120)
    assert going[0].startswith("_layer_norm_fwd_kernel"), "the demo's runs are there, though its folder isn't open"
    assert "failed" not in going[0], "its folder is in no open one, and has the user's Python all the same"
    screen.palette("KernelBand: Stop all runs")
    screen.eventually(lambda: [text for text in screen.status() if "_layer_norm_fwd_kernel" in text], lambda found: not found, 60)
    assert not [text for text in screen.notifications() if "trusted" in text]


def language_status(screen: Screen) -> list[str]:
    """Click on the braces of the status bar, and read what they show."""
    screen.page.mouse.move(400, 300)
    screen.page.locator(r"#status\.languageStatus").click()
    items = screen.page.locator(".hover-language-status")
    items.first.wait_for()
    return [text.replace("\n", " ") for text in items.all_inner_texts()]


def test_the_language_status_says_what_there_is(workbench: Workbench, home: Home) -> None:
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses)
    items = language_status(screen)
    assert [text for text in items if "…/.worker/bin/python" in text], items
    (packages,) = (text for text in items if "torch" in text)
    assert "not looked at" in packages
    assert workbench.processes("kernelband_worker") == []
    screen.page.locator(".hover-language-status").filter(has_text="torch").get_by_role("button", name="Look").click()
    told = screen.notification(re.compile(r"torch \S+ · Triton \S+"))
    told.wait_for(timeout=60_000)
    assert "no GPU: predicted" in told.inner_text()
    screen.dismiss()
    (packages,) = (text for text in language_status(screen) if "torch" in text)
    assert re.search(r"torch \d\S* · Triton \d", packages)
    screen.press("Escape")
    screen.palette("KernelBand: Log, restart and diagnostics")
    assert screen.picks() == ["Show the log", "Restart the language server", "Copy diagnostics for a report of a problem"]
    screen.pick("Restart the language server")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])


#: Answers what every Python is asked before it is taken (src/python/probe.ts), and ends when it shall run the server.
ENDS = """#!/bin/sh
case "$*" in *start.py*) exit 3;; esac
exec python3 "$@"
"""


def test_a_server_that_ends_while_it_starts_says_so_once(start_workbench: StartWorkbench, vsix: Path, home: Home, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(ENDS)
    python.chmod(0o755)
    workbench = start_workbench()
    workbench.install(vsix)
    workbench.configure({"kernelband.server.interpreter": str(python)})
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    screen.eventually(lambda: language_status(screen), lambda found: any("ended six times" in text for text in found))
    screen.press("Escape")
    assert screen.notifications() == []
    screen.palette("KernelBand: Verify my edit")
    screen.notification("ended six times in three minutes").wait_for()


def test_a_folder_that_is_not_trusted(start_workbench: StartWorkbench, vsix: Path, home: Home) -> None:
    workbench = start_workbench(trust=True)
    workbench.install(vsix)
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
    screen.notification("that folder isn't trusted").wait_for()
    assert screen.dialog().count() == 0
