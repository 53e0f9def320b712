"""What a person sees and does in one window, around the editors. Every wait ends: by what it waits for, or with an error that says what
it saw.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from playwright.sync_api import FrameLocator, Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

T = TypeVar("T")


class Window:
    """One window."""

    def __init__(self, page: Page) -> None:
        self.page = page

    # ------------------------------------------------------------ waiting

    def wait_until_ready(self) -> None:
        """The side bar shows its view, and the explorer, if it is that, the workspace's first row."""
        rows = ".sidebar .composite.viewlet :is(.explorer-folders-view, .customview-tree, .search-view) .monaco-list-row"
        self.page.locator(rows).or_(self.page.locator(".sidebar .composite.viewlet .welcome-view-content")).first.wait_for()

    def eventually(self, look: Callable[[], T], wanted: Callable[[T], bool] = bool, seconds: float = 180.0) -> T:
        """Look until what is there is wanted."""
        begin = time.monotonic()
        while not wanted(found := look()):
            waited = time.monotonic() - begin
            assert waited < seconds, f"after {seconds:g} s still {found!r}"
            self.page.wait_for_timeout(50 if waited < 1 else 250)  # to look costs time that what is waited for needs
        return found

    def steady(self, look: Callable[[], T], seconds: float = 1.0) -> T:
        """What is there once it has not changed for that time."""
        found, since = look(), time.monotonic()
        end = since + 180
        while time.monotonic() - since < seconds:
            assert time.monotonic() < end, f"it doesn't come to rest: {found!r}"
            self.page.wait_for_timeout(100)
            if (now := look()) != found:
                found, since = now, time.monotonic()
        return found

    def reload(self) -> None:
        """As F5 in a browser, *Reload Window* in the desktop's."""
        self.page.reload(wait_until="commit")
        self.wait_until_ready()

    def picture(self, path: Path) -> Path:
        self.page.screenshot(path=path)
        return path

    # ------------------------------------------------------------ keys and palette

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def palette(self, command: str, *, entry: str | None = None) -> None:
        """Run a command by its title (F1)."""
        label = self.page.locator(".quick-input-widget .monaco-list-row").get_by_text(entry or command, exact=True).first

        def listed() -> bool:
            self.press("F1")
            return self.filled(f">{command}", label)

        self.eventually(listed)
        label.click()
        label.wait_for(state="hidden")

    def filled(self, text: str, row: Locator) -> bool:
        """Whether the open list has that row once the text is in its box. What takes the focus late, as a notification that goes, closes a
        list that has just opened: a person opens it again.
        """
        with contextlib.suppress(PlaywrightTimeout):
            self.page.locator(".quick-input-widget input").fill(text, timeout=10_000)
            row.wait_for(timeout=10_000)
        return row.is_visible()

    # ------------------------------------------------------------ around the editors

    def notifications(self) -> list[str]:
        return self._all(".notification-toast .notification-list-item-message", "message => message.textContent")

    def notification(self, text: str | re.Pattern[str]) -> Locator:
        """Its buttons are links of role ``button`` in it."""
        return self.page.locator(".notification-toast").filter(has_text=text).first

    def dismiss(self) -> None:
        """All notifications."""
        self.palette("Notifications: Clear All Notifications")
        self.eventually(lambda: not self.notifications())

    def dialog(self) -> Locator:
        """The one that is in front of everything; its buttons have the role ``button``."""
        return self.page.locator(".monaco-dialog-box")

    def status(self) -> list[str]:
        """Texts of the status bar, icons left out."""
        return [text.strip() for text in self._all(".statusbar-item", "item => item.textContent", reading=True) if text.strip()]

    def status_item(self, text: str | re.Pattern[str]) -> Locator:
        return self.page.locator(".statusbar-item").filter(has_text=text).first

    def picks(self, having: str = "") -> list[str]:
        """Labels of the open quick pick; where another one may have been open before, it is known by one of its labels."""
        rows = self.page.locator(".quick-input-widget .monaco-list-row")
        (rows.get_by_text(having, exact=True) if having else rows).first.wait_for()
        return self._all(".quick-input-widget .monaco-list-row", "row => row.querySelector('.label-name')?.textContent ?? ''", reading=True)

    def pick(self, text: str | re.Pattern[str]) -> None:
        row = self.page.locator(".quick-input-widget .monaco-list-row").filter(has_text=text).first
        row.wait_for()
        row.click()

    def answer(self, text: str) -> None:
        """Fill the open input box."""
        box = self.page.locator(".quick-input-widget input")
        box.wait_for()
        box.fill(text)
        self.press("Enter")

    def side_bar(self, title: str) -> None:
        """Show the view container of that title."""
        tab = self.page.locator(".activitybar").get_by_role("tab", name=title).first
        if tab.get_attribute("aria-expanded") != "true":
            tab.click()
        self.page.locator(".sidebar .composite.title").get_by_text(re.compile(title, re.IGNORECASE)).first.wait_for()

    def rows(self, view: str = "") -> list[str]:
        """Rows of the side bar's tree ``view`` by its title, or of all its trees: label and description."""
        pane = f'.sidebar .pane:has(.pane-header[aria-label="{view} Section"])' if view else ".sidebar .pane"
        parts = "[...row.querySelectorAll('.label-name, .label-description')].map(part => part.textContent)"
        return self._all(f"{pane} .monaco-list-row", f"row => {parts}.join(' ')", reading=True)

    def row(self, text: str | re.Pattern[str]) -> Locator:
        return self.page.locator(".sidebar .monaco-list-row").filter(has_text=text).first

    def webview(self) -> FrameLocator:
        """The page inside the webview on screen."""
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    def theme(self) -> str:
        """The class of the kind of theme: vs, vs-dark, hc-black or hc-light."""
        found = re.search(r"\b(vs-dark|vs|hc-black|hc-light)\b", self.page.locator(".monaco-workbench").first.get_attribute("class") or "")
        return found[1] if found else ""

    def _all(self, selector: str, told: str, *, reading: bool = False) -> list[str]:
        """A text for each element that is shown, as a function in JavaScript tells it."""
        order = "elements.sort((a, b) => (x = a.getBoundingClientRect(), y = b.getBoundingClientRect(), x.top - y.top || x.left - y.left))"
        return self.page.evaluate(
            f"""selector => {{ let x, y;
            const elements = [...document.querySelectorAll(selector)].filter(element => element.checkVisibility());
            {order if reading else ""};
            return elements.map({told}); }}""",
            selector,
        )
