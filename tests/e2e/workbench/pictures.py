"""Take the pictures of the READMEs that show a measured run: its review in the file and its report, or a session as a moving picture.

    python -m tests.e2e.workbench.pictures HISTORY FILE OUT
    python -m tests.e2e.workbench.pictures --film HISTORY FILE OUT

after ``make vsix workbench .venv/ready-workbench``. HISTORY is a database with a run of FILE's first kernel, made on a GPU (so
``kernelband optimize FILE`` over there, the file at the same place); nothing is run here, and neither FILE nor HISTORY is written. OUT is a
folder, which gets ``review.png`` and ``report.png``, or ``session.png``: hover, lightbulb, review and accept, as an animated PNG.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.e2e.workbench.animation import animated
from tests.e2e.workbench.conftest import ROOT, SWITCHES, find_programs
from tests.e2e.workbench.screen import EDITOR, Screen
from tests.e2e.workbench.workbench import Workbench

MEASURED = re.compile(r"^\d+\.\d\d× on ")
VARIANT = re.compile(r": \d+\.\d\d× ")
KERNEL = re.compile(r"@triton\.jit\s+def (\w+\()")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("history", "file", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--film", action="store_true", help="one moving picture of a session")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=SWITCHES)
        with lent(browser, asked.history, "Default Dark Modern") as workbench:
            (film if asked.film else take)(workbench, asked.file.resolve(), asked.out)
        browser.close()


@contextmanager
def lent(browser: Browser, history: Path, theme: str) -> Iterator[Workbench]:
    """A workbench with the extension that knows a copy of ``history``: to accept a variant is written down."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "history.db")
        shutil.copy(history, copy)
        workbench = Workbench(find_programs(), browser, Path(folder, "profile"))
        workbench.install(ROOT / "vscode-extension" / "dist" / "kernelband.vsix")
        settings = {
            "kernelband.db": str(copy),
            "kernelband.search.interpreter": sys.executable,
            "kernelband.python": str(ROOT / ".worker/bin/python"),
        }
        workbench.configure({**settings, "workbench.colorTheme": theme})
        try:
            yield workbench
        finally:
            workbench.stop()


def take(workbench: Workbench, file: Path, out: Path) -> None:
    """Both pictures, with the side bar away."""
    screen = opened(workbench, file)
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


def film(workbench: Workbench, file: Path, out: Path) -> None:
    """A session from the lens to the accepted variant, in the file that is open; it isn't saved."""
    screen, frames = opened(workbench, file), list[tuple[bytes, float]]()

    def shoot(seconds: float) -> None:
        screen.page.wait_for_timeout(700)  # for what appears for a moment only
        frames.append((screen.page.screenshot(), seconds))

    name = KERNEL.search(file.read_text(encoding="utf-8"))
    assert name is not None, f"{file} has no kernel"
    screen.dismiss()  # not later: it would close a hover or a list
    shoot(1.5)
    screen.hover(name[1])
    shoot(3)
    screen.actions("tl.load")
    shoot(2.5)
    screen.act(VARIANT)
    screen.eventually(screen.lenses, lambda found: "Accept" in found)
    screen.page.mouse.move(640, 795)
    shoot(3)
    screen.press("Alt+]")
    shoot(2)
    screen.lens("Accept").click()
    screen.eventually(screen.lenses, lambda found: "Accept" not in found and any("over original" in text for text in found))
    screen.page.mouse.move(640, 795)
    shoot(4)
    (out / "session.png").write_bytes(animated(frames))


def opened(workbench: Workbench, file: Path) -> Screen:
    """The file with its lens, and the side bar away."""
    screen = workbench.start(file.parent)
    screen.explore(file.name)
    screen.eventually(screen.lenses, lambda found: any(MEASURED.match(text) for text in found), seconds=90)
    screen.press("Control+b")
    screen.steady(screen.lenses)
    return screen


def settled(screen: Screen, path: Path) -> None:
    """Without what appears for a moment only."""
    screen.dismiss()
    screen.page.mouse.move(640, 795)
    screen.page.wait_for_timeout(2000)
    screen.picture(path)


if __name__ == "__main__":
    main()
