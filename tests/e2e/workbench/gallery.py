"""Take pictures of what a person meets on the way to a faster kernel, in three themes and two widths: the list before a run, the lightbulb,
a review, the report.

    python -m tests.e2e.workbench.gallery HISTORY FILE OUT

HISTORY and FILE as for ``pictures``. OUT gets ``SURFACE-THEME-WIDTH.png``.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from tests.e2e.workbench.conftest import SWITCHES
from tests.e2e.workbench.pictures import VARIANT, lent, opened
from tests.e2e.workbench.screen import Screen

THEMES = {"light": "Default Light Modern", "dark": "Default Dark Modern", "contrast": "Default High Contrast"}
SIZES = (ViewportSize(width=1440, height=900), ViewportSize(width=900, height=800))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("history", "file", "out"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=SWITCHES)
        for theme, name in THEMES.items():
            with lent(browser, asked.history, name) as workbench:
                screen = opened(workbench, asked.file.resolve())
                screen.dismiss()  # not later: it would close a list
                for size in SIZES:
                    screen.page.set_viewport_size(size)
                    take(screen, asked.out, f"{theme}-{size['width']}")
        browser.close()


def take(screen: Screen, out: Path, name: str) -> None:
    """All four, from the file as it was opened and back to it."""

    def shoot(surface: str) -> None:
        screen.page.wait_for_timeout(1500)  # for what appears for a moment only
        screen.picture(out / f"{surface}-{name}.png")

    screen.steady(screen.lenses)
    screen.lens(re.compile("^Optimize$")).click()
    screen.eventually(lambda: screen.picks("Budget"))
    screen.page.wait_for_timeout(8000)  # until the Python has been looked at
    shoot("pick")
    screen.press("Escape")
    screen.actions("tl.load")
    shoot("lightbulb")
    screen.act(VARIANT)
    screen.eventually(screen.lenses, lambda found: "Accept" in found)
    screen.page.mouse.move(640, 795)
    shoot("review")
    screen.palette("KernelBand: Reject the variant")
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    screen.palette("KernelBand: Show the report of a run")
    screen.webview().locator(".outcome").wait_for()
    screen.palette("View: Join All Editor Groups")
    shoot("report")
    screen.close_tab()


if __name__ == "__main__":
    main()
