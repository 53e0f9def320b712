"""Take the pictures of the extension's README that show a measured run: its review in the file, and its report.

    python -m tests.e2e.workbench.pictures HISTORY FILE OUT

after ``make vsix workbench .venv/ready-workbench``. HISTORY is a database with a run of FILE's first kernel, made on a GPU (so
``kernelband optimize FILE`` over there, the file at the same place); nothing is run here, and FILE isn't written.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.e2e.workbench.conftest import ROOT, SWITCHES, find_programs
from tests.e2e.workbench.screen import EDITOR, Screen
from tests.e2e.workbench.workbench import Workbench

MEASURED = re.compile(r"^\d+\.\d\d× on ")
VARIANT = re.compile(r": \d+\.\d\d× ")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("history", "file", "out"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=SWITCHES)
        workbench = Workbench(find_programs(), browser, Path(folder))
        workbench.install(ROOT / "vscode-extension" / "dist" / "kernelband.vsix")
        workbench.configure(
            {
                "kernelband.db": str(asked.history.resolve()),
                "kernelband.search.interpreter": sys.executable,
                "workbench.colorTheme": "Default Dark Modern",
            }
        )
        try:
            take(workbench, asked.file.resolve(), asked.out)
        finally:
            workbench.stop()
            browser.close()


def take(workbench: Workbench, file: Path, out: Path) -> None:
    """Both pictures, with the side bar away."""
    screen = workbench.start(file.parent)
    screen.explore(file.name)
    screen.eventually(screen.lenses, lambda found: any(MEASURED.match(text) for text in found), seconds=90)
    screen.press("Control+b")
    screen.steady(screen.lenses)
    screen.actions("tl.load")
    screen.act(VARIANT)
    screen.eventually(screen.lenses, lambda found: "Accept" in found)
    shown = screen.page.locator(f"{EDITOR} .view-overlays .cdr[class*=TextEditorDecorationType]")
    shown.first.wait_for()
    settled(screen, out / "review.png")
    screen.palette("KernelBand: Reject the variant")
    screen.eventually(screen.lenses, lambda found: "Accept" not in found)
    screen.palette("Preferences: Toggle between Light/Dark Themes")
    screen.palette("KernelBand: Show the report of a run")
    screen.webview().locator(".outcome").wait_for()
    screen.palette("View: Join All Editor Groups")
    settled(screen, out / "report.png")


def settled(screen: Screen, path: Path) -> None:
    """Without what appears for a moment only."""
    screen.dismiss()
    screen.page.mouse.move(640, 795)
    screen.page.wait_for_timeout(2000)
    screen.picture(path)


if __name__ == "__main__":
    main()
