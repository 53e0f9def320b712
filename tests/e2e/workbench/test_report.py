"""The report of a run that is over, as a person reads it: in the editor, and as a file in a browser without a network."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page

from tests.e2e.workbench.conftest import ROOT, Lend
from tests.e2e.workbench.reports import charts, drawn
from tests.e2e.workbench.screen import Screen
from tests.unit.explain.test_runreport import told
from tests.unit.search.fake_lab import FakeAuthor
from tests.unit.search.test_run import TROUBLES, World

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
#: Whether anything is wider than the page; what scrolls by itself is not.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A search whose laboratory is a test's: its figures are no measurements, and have all that those of one have."""
    folder = tmp_path / "work"
    folder.mkdir()
    world = World(folder)
    world.db = tmp_path / "db" / "history.db"
    world.run(world.options(trials=30), author=FakeAuthor(TROUBLES))
    return world


def open_report(screen: Screen) -> FrameLocator:
    screen.palette("KernelBand: Show the report of a run")
    page = screen.webview()
    page.locator(".outcome").wait_for()
    return page


def save_as(screen: Screen, command: str, path: Path) -> None:
    """Answer the question where to."""
    screen.palette(command)
    box = screen.page.locator(".quick-input-widget input")
    screen.eventually(box.input_value, lambda text: text.endswith(path.suffix))
    box.fill(str(path))

    def saved() -> bool:
        if not path.exists() and box.is_visible():
            screen.press("Enter")  # it takes none while it looks into the folder
            screen.page.wait_for_timeout(500)
        return path.exists()

    screen.eventually(saved)
    screen.notification("The report is in").wait_for()


def test_a_measured_run(lend: Lend, world: World, tmp_path: Path, browser: Browser) -> None:
    expected = told(world.db)
    best = expected["variants"][0]
    workbench = lend()
    workbench.configure({"kernelband.search.interpreter": sys.executable, "kernelband.db": str(world.db)})
    screen = workbench.start(world.folder)
    screen.explore("k.py")
    screen.eventually(screen.lenses)
    page = open_report(screen)

    assert page.locator("h1").inner_text() == "k"
    assert page.get_by_role("status").inner_text() == f"Finished. {expected['run']['reason']}."
    assert page.locator(".worth").inner_text() == f"{best['ratio']['value']:.2f}×"
    counts = expected["counts"]
    assert page.locator(".funnel dd").all_inner_texts() == [str(counts[k]) for k in ("proposed", "compiled", "executed", "verified")]
    shown = charts(page)
    assert [words.split(" ")[0] for words in shown] == ["After", "Pulls", "Mean"]
    assert all(map(drawn, shown.values()))
    assert page.locator("html").evaluate(f"() => {TOO_WIDE}") == 0

    # The table of the variants: as the server has them, then by their numbers; keys alone suffice.
    numbers = page.locator(".variants tbody tr:first-child td:first-child")
    order = [str(v["number"]) for v in expected["variants"]]
    assert numbers.all_inner_texts() == order[:15]
    page.get_by_role("button", name="No.").focus()
    screen.press("Enter")
    assert numbers.all_inner_texts() == sorted(order, key=int)[:15]
    assert page.get_by_role("columnheader", name="No.").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name=f"Show all {len(order)}").click()
    assert numbers.count() == len(order)

    row = page.locator(".variants tbody").filter(has=page.locator(".disclose", has_text=re.compile(f"^{best['title']}$")))
    row.locator(".disclose").focus()
    screen.press("Enter")
    details = row.locator(".details")
    details.wait_for()
    page.get_by_role("button", name=f"Variant {best['number']}: ").click()  # the way from what came of it to the details
    assert row.locator(".disclose").evaluate("button => button === document.activeElement")
    assert details.count() == 1
    case = best["figures"]["cases"][0]
    cells = details.locator("table:not(.diff) tbody").first.locator("tr").first.locator("td").all_inner_texts()
    assert cells[:3] == ["device, events", f"{case['device']['original_us']:.0f}", f"{case['device']['variant_us']:.0f}"]
    added = [line.removeprefix("+") for line in best["patch"].splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert details.locator(".diff .added .line").all_inner_texts() == added
    assert details.locator(".explanation li").all_inner_texts() == [item["text"] for item in best["explanation"]]
    details.get_by_role("button", name="Copy patch").click()
    screen.notification("The patch is on the clipboard").wait_for()
    assert screen.page.evaluate("navigator.clipboard.readText()") == best["patch"]

    # The charts take the colours of another theme while they are looked at.
    (course, *_) = charts(page).values()
    light = course.evaluate("canvas => canvas.toDataURL()")
    screen.palette("Preferences: Toggle between Light/Dark Themes")
    screen.eventually(lambda: course.evaluate("canvas => canvas.toDataURL()") != light)
    assert screen.theme() == "vs-dark"

    # What a person has set outlives the window.
    page.get_by_text("Seconds", exact=True).click()
    page.locator("html").evaluate("() => window.scrollTo(0, 300)")
    screen.steady(lambda: page.get_by_role("radio", name="Seconds").is_checked(), 15)  # a browser's workbench keeps its state every 5 s
    screen.reload()
    for showing in range(2):
        page = screen.webview()
        page.locator(".outcome").wait_for()
        assert page.get_by_role("radio", name="Seconds").is_checked()
        assert page.locator(".details").count() == 1
        screen.eventually(lambda page=page: page.locator("html").evaluate("() => window.scrollY"), lambda y: y == 300)
        assert all(map(drawn, charts(page).values()))
        if showing == 0:
            screen.open("k.py")
            screen.page.locator(".tab").filter(has_text="Report").first.click()

    exported = tmp_path / "out"
    exported.mkdir()
    save_as(screen, "KernelBand: Export a run's report as JSON", exported / "k.json")
    assert json.loads((exported / "k.json").read_text()) == {**expected, "live": None}
    screen.dismiss()
    save_as(screen, "KernelBand: Export a run's report as HTML", exported / "k.html")
    look_at(browser, exported / "k.html", expected)

    page.get_by_role("button", name="Review in editor").click()
    screen.eventually(screen.tabs, lambda tabs: "k.py ●" in tabs)
    assert f"BLOCK={best['parameters']['BLOCK']})" in screen.eventually(screen.text, lambda text: text != world.file.read_text())
    assert not any("rror" in text for text in screen.notifications())


def look_at(browser: Browser, file: Path, expected: dict[str, Any]) -> None:
    """The exported page in a browser: drawn, quiet, with nothing from elsewhere, readable for everybody, in light and in dark."""
    backs: set[str] = set()
    for scheme, width in (("light", 1100), ("dark", 400)):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True)
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(file.as_uri())
        assert page.locator(".worth").inner_text() == f"{expected['variants'][0]['ratio']['value']:.2f}×"
        assert page.get_by_role("button", name="Review in editor").count() == 0
        page.locator(".disclose").first.click()
        for summary in page.locator("summary").all():
            summary.click()
        assert all(map(drawn, charts(page).values()))
        assert page.evaluate(TOO_WIDE) == 0, f"too wide at {width} pixels"
        assert serious(page) == []
        assert said == []
        assert asked == [file.as_uri()]
        backs.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert len(backs) == 2, "light and dark"


def serious(page: Page) -> list[str]:
    """What axe-core finds that keeps people out."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{v['id']}: {v['help']}: {[node['html'][:120] for node in v['nodes'][:3]]}"
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]
