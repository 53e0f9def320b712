"""A person's first minute: look, optimize, read how it goes, put a variant in and take it back, and find the history after a reload."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Locator

from tests.e2e.cli_world import Home
from tests.e2e.workbench.reports import charts, drawn
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.workbench import Workbench

#: For a file to go, but not longer than an entry may take: then the run goes on by itself.
WAITS = """import os, time

def bench():
    end = time.monotonic() + 45
    while os.path.exists({held!r}) and time.monotonic() < end:
        time.sleep(0.1)
"""
LIKELY = re.compile(r": likely faster on .+ \(predicted\)$")


def has_variants(lenses: list[str]) -> bool:
    """Whether the first one, of a kernel with a run, says that something is likely faster."""
    return bool(lenses) and lenses[0].startswith("likely faster on")


def goes_on(lenses: list[str]) -> bool:
    """Whether the last one can cancel a run."""
    return lenses[-1:] == ["Cancel"]


def optimize(screen: Screen, budget: str) -> None:
    """By a right-click on the kernel's name."""
    screen.menu("scale_kernel", "Optimize kernel")
    begin(screen, budget)


def begin(screen: Screen, budget: str) -> None:
    """From the list that *Optimize* opens: another budget, then Enter."""
    line_of(screen, "Budget").click()
    assert screen.picks("Another budget…")[0] == "60 s"
    screen.pick("Another budget…")
    screen.answer(budget)
    screen.eventually(lambda: line(screen, "Start"), lambda found: budget in found or "trust" in found)
    screen.press("Enter")


def line(screen: Screen, label: str) -> str:
    """What a line of the open list says."""
    row = line_of(screen, label)
    return row.inner_text().replace("\n", " ") if row.count() else ""


def line_of(screen: Screen, label: str) -> Locator:
    """By its label; an icon may stand before it. A list that was closed keeps its lines until the next one is opened."""
    name = screen.page.locator(".label-name", has_text=re.compile(rf"^\W*{label}$"))
    return screen.page.locator(".quick-input-widget:visible .monaco-list-row").filter(has=name).first


def runs(screen: Screen) -> list[str]:
    """What the status bar says of runs."""
    return [text for text in screen.status() if text.startswith("scale_kernel ")]


def has_begun(home: Home) -> bool:
    """Whether a run has written something down."""
    try:
        with closing(sqlite3.connect(f"file:{home.db}?mode=ro", uri=True)) as history:
            return history.execute("select 1 from runs").fetchone() is not None
    except sqlite3.OperationalError:  # there is no such file yet, or no such table in it
        return False


def until_the_end(screen: Screen) -> list[str]:
    """All that the status bar says of a run that has just been begun."""
    told: list[str] = []

    def look() -> bool:
        now = runs(screen)
        told.extend(text for text in now if text not in told)
        return not now and bool(told)

    screen.eventually(look, seconds=300)
    return told


def read_while_it_goes_on(screen: Screen, held: Path) -> list[str]:
    """The report of the run that the lens tells of, read to the run's end; all that the status bar said meanwhile. The run waits until the
    report is open: on a busy machine it would be over before anybody looks.
    """
    screen.lens(re.compile(r".")).click()
    page = screen.webview()
    page.locator("h1").wait_for()
    held.unlink()
    status, progress = page.get_by_role("status"), page.locator("progress")
    numbers = page.locator(".variants tbody tr:first-child td:first-child")
    bar: list[str] = []
    report: list[tuple[str, int]] = []

    def look() -> str:
        report.append((status.inner_text(), progress.count()))
        bar.extend(text for text in runs(screen) if text not in bar)
        return report[-1][0]

    screen.eventually(look, lambda _: numbers.count() > 0, seconds=300)
    # What a person does meanwhile isn't taken away by the next trial.
    first = page.locator(".disclose").first
    first.click()
    first.evaluate("button => window.same = button")
    screen.eventually(look, lambda text: text.startswith("Finished. Predicted: "), seconds=300)
    assert first.evaluate("() => window.same === document.activeElement && window.same.getAttribute('aria-expanded') === 'true'")
    assert any(text.startswith("Searching; nothing is measured") and bars == 1 for text, bars in report), report
    assert progress.count() == 0
    assert numbers.count() == 3

    shown = charts(page)
    assert [words.split(" ")[0] for words in shown] == ["After", "Roofline", "Pulls"]
    assert all(map(drawn, shown.values()))
    for summary in page.locator("summary").all():
        summary.click()
    text = page.locator("main").inner_text()
    assert "nothing was measured" in text
    assert re.findall(r"\d\.\d+\s?[x×](?!\w)|\d\s?µs", text) == []
    assert "verified," not in text
    screen.close_tab()
    return bar


def test_the_first_minute(workbench: Workbench, home: Home, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()
    home.file.write_text(home.file.read_text().replace("def bench():\n", WAITS.format(held=str(held))))
    before = home.file.read_text()
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    assert screen.eventually(screen.lenses) == ["Optimize"]
    assert "Nothing is measured or predicted" in screen.hover("scale_kernel").inner_text()

    optimize(screen, "3 trials")
    screen.eventually(screen.lenses, goes_on)
    screen.eventually(lambda: has_begun(home))  # before it has written anything down there is nothing to read
    told = read_while_it_goes_on(screen, held)
    assert any(re.search(r"\b\d/3\b", text) for text in told), told
    screen.eventually(lambda: runs(screen), lambda found: not found)
    screen.eventually(screen.tabs, lambda found: found == ["scale.py"])
    screen.eventually(screen.lenses, has_variants)
    (lens, again) = screen.steady(screen.lenses, 2)  # the last variants may be counted a moment later
    assert again == "Optimize"
    assert "×" not in lens  # nothing was measured
    assert screen.notifications() == []

    hover = screen.hover("scale_kernel")
    text = hover.inner_text()
    assert "nothing is measured" in text
    assert "predicted for" in text
    assert "likely faster" in text
    assert "×" not in text
    picture = hover.locator("img")  # of the roofline
    width, height = screen.eventually(lambda: picture.evaluate("img => [img.naturalWidth, img.naturalHeight]"), all)
    assert width > height > 100
    assert "roofline" in (picture.get_attribute("alt") or "").lower()

    offered = [title for title in screen.actions("tl.store") if LIKELY.search(title)]
    assert len(offered) == len(set(offered)) >= 1
    screen.act(LIKELY)
    screen.eventually(screen.tabs, lambda found: found == ["scale.py ●"])
    assert screen.text() != before
    assert home.file.read_text() == before  # the file is the person's to save
    screen.eventually(screen.lenses, lambda found: any("than the original" in text for text in found))
    screen.undo()
    screen.eventually(screen.text, lambda found: found == before)
    assert screen.eventually(screen.lenses, lambda found: found == [lens, again])
    assert screen.notifications() == []

    screen.reload()
    screen.eventually(screen.tabs)
    assert screen.eventually(screen.lenses, lambda found: found == [lens, again])
    assert screen.notifications() == []


def test_a_file_in_no_open_folder(workbench: Workbench, home: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes.md").write_text("Nothing to run.\n")
    workbench.configure({"kernelband.python": None, "python.defaultInterpreterPath": home.python})
    screen = workbench.start(tmp_path / "elsewhere", home.file)
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    optimize(screen, "2 trials")
    assert str(home.work) in screen.dialog().inner_text()
    screen.dialog().get_by_role("button", name="Cancel").click()
    screen.dialog().wait_for(state="detached")
    assert workbench.processes("kernelband_worker") == []

    # back in the list, which has the budget of before; allowed, it looks at the Python, and Enter begins
    screen.eventually(lambda: line(screen, "Start"), lambda found: "trust the folder first" in found)
    screen.press("Enter")
    screen.dialog().get_by_role("button", name="Let them run").click()
    screen.eventually(lambda: line(screen, "Start"), lambda found: "2 trials" in found)
    screen.press("Enter")
    until_the_end(screen)
    lenses = screen.eventually(screen.lenses, has_variants)
    screen.lens(re.compile("^Optimize$")).click()
    screen.eventually(lambda: line(screen, "Start"), lambda found: "2 trials" in found)
    screen.press("Enter")
    screen.eventually(lambda: runs(screen))  # it was asked once
    screen.palette("KernelBand: Stop all runs")
    screen.eventually(lambda: runs(screen), lambda found: not found)
    screen.eventually(screen.lenses, lambda found: found[-1:] == lenses[-1:])
    assert screen.notifications() == []
