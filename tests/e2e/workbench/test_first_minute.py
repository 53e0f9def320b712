"""A person's first minute: install, look, optimize, cancel, put a variant in and take it back, and find the history after a reload."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.cli_world import Home
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.workbench import Workbench

LIKELY = re.compile(r"^Likely faster on .+ \(predicted\)")


def optimize(screen: Screen, budget: str) -> None:
    """By a right-click on the kernel's name."""
    screen.menu("scale_kernel", "Optimize kernel")
    assert screen.picks("Another budget…")[0] == "60 s"
    screen.pick("Another budget…")
    screen.answer(budget)


def runs(screen: Screen) -> list[str]:
    """What the status bar says of runs."""
    return [text for text in screen.status() if text.startswith("scale_kernel ")]


def until_the_end(screen: Screen) -> list[str]:
    """All that the status bar says of a run that has just been begun."""
    told: list[str] = []

    def look() -> bool:
        now = runs(screen)
        told.extend(text for text in now if text not in told)
        return not now and bool(told)

    screen.eventually(look, seconds=120)
    return told


def test_the_first_minute(workbench: Workbench, home: Home) -> None:
    before = home.file.read_text()
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    assert screen.eventually(screen.lenses) == ["Optimize"]
    assert "Nothing is measured or predicted" in screen.hover("scale_kernel").inner_text()

    optimize(screen, "3 trials")
    told = until_the_end(screen)
    assert any(re.search(r"\b\d/3\b", text) for text in told), told
    screen.eventually(screen.lenses, lambda found: found[0].startswith("likely faster on"))
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

    offered = [title for title in screen.actions("tl.store") if LIKELY.match(title)]
    assert len(offered) == len(set(offered)) >= 1
    screen.act(LIKELY)
    screen.eventually(screen.tabs, lambda found: found == ["scale.py ●"])
    assert screen.text() != before
    assert home.file.read_text() == before  # the file is the person's to save
    screen.eventually(screen.lenses, lambda found: any("than the original" in text for text in found))
    screen.undo()
    assert screen.text() == before
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

    screen.lens("Optimize").click()  # with the budget of before
    screen.dialog().get_by_role("button", name="Let them run").click()
    until_the_end(screen)
    lenses = screen.eventually(screen.lenses, lambda found: found[0].startswith("likely faster on"))
    screen.lens(re.compile("^Optimize$")).click()
    screen.eventually(screen.lenses, lambda found: found[-1] == "Cancel")  # it was asked once
    assert until_the_end(screen)
    screen.eventually(screen.lenses, lambda found: found[-1] == lenses[-1])
    assert screen.notifications() == []


def test_a_run_is_cancelled_and_resumed(workbench: Workbench, home: Home) -> None:
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    optimize(screen, "100 trials")
    screen.eventually(screen.lenses, lambda found: found[-1] == "Cancel")
    screen.eventually(lambda: [text for text in runs(screen) if re.search(r"\d+/100", text)], seconds=60)
    screen.lens("Cancel").click()
    screen.eventually(lambda: runs(screen), lambda found: not found)
    assert screen.eventually(screen.lenses, lambda found: "Resume" in found)
    assert workbench.processes("kernelband_worker") == []
