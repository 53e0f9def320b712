"""What a person sees and does in the editors of one window."""

from __future__ import annotations

import contextlib
import re
import time

from playwright.sync_api import Locator
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.e2e.workbench.window import Window

#: The editor that has, or last had, the keys.
EDITOR = ".editor-group-container.active .editor-instance"
SHOWN_HOVER = ".monaco-hover:not(.hidden)"

#: Where ``words`` stand for the ``nth`` time in the lines on screen: the middle of their pixels. Code has spaces that don't break there.
_PLACE = """(editor, [words, nth]) => {
  const lines = [...editor.querySelectorAll('.view-line')].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
  for (const line of lines) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), nodes = [];
    for (let node; (node = walker.nextNode()); ) nodes.push(node);
    const text = nodes.map(node => node.data).join('').replaceAll('\\u00a0', ' ');
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
      if (nth-- > 0) continue;
      const range = document.createRange();
      let from = at, to = at + words.length, begun = false;
      for (const node of nodes) {
        if (!begun && from < node.length) { range.setStart(node, from); begun = true; }
        if (to <= node.length) { range.setEnd(node, to); break; }
        from -= node.length; to -= node.length;
      }
      const box = range.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    }
  }
  return null;
}"""


class Screen(Window):
    """One window with its editors."""

    # ------------------------------------------------------------ files and tabs

    def explore(self, name: str) -> None:
        """Open a file from the explorer."""
        self.page.locator(".explorer-folders-view .monaco-list-row").get_by_text(name, exact=True).dblclick()
        self._opened(name)

    def open(self, name: str) -> None:
        """Open a file by its name (Ctrl+P); again where the list was drawn anew under the click, or another editor came in front."""
        shown = self._editor(name).locator(".view-line").first
        row = self.page.locator(".quick-input-widget .monaco-list-row").filter(has_text=name).first

        def asked() -> bool:
            if not self.page.locator(".quick-input-widget input").is_visible():
                self.press("Control+p")
            if self.filled(name, row):
                row.click()
                with contextlib.suppress(PlaywrightTimeout):
                    shown.wait_for(timeout=30_000)
            return shown.is_visible()

        self.eventually(asked)
        self._opened(name)

    def _editor(self, name: str) -> Locator:
        return self.page.locator(f'{EDITOR} .monaco-editor[data-uri$="/{name}"]').first

    def _opened(self, name: str) -> None:
        shown = self._editor(name)
        shown.locator(".view-line").first.wait_for()

        def focused() -> bool:
            return "focused" in (shown.get_attribute("class") or "").split()

        try:
            self.eventually(focused, seconds=10)
        except AssertionError:  # what was closed for it has taken the focus back, as the editor of trust does when it is drawn late
            self.palette("View: Focus Active Editor Group")
            self.eventually(focused)

    def tabs(self) -> list[str]:
        """Their labels; one whose text isn't saved ends in `` ●``."""
        name = "tab.querySelector('.monaco-icon-name-container').textContent"
        suffix = "(tab.querySelector('.monaco-icon-suffix-container')?.textContent ?? '')"
        return self._all(".tab", f"tab => {name} + {suffix} + (tab.classList.contains('dirty') ? ' ●' : '')")

    def active_tab(self) -> Locator:
        return self.page.locator(".editor-group-container.active .tab.active")

    def close_tab(self) -> None:
        self.palette("View: Close Editor")

    def button(self, label: str) -> Locator:
        """One of the editor's title bar."""
        return self.page.locator(".editor-group-container.active .editor-actions").get_by_role("button", name=label)

    # ------------------------------------------------------------ menus

    def menu(self, words: str, entry: str, nth: int = 0) -> None:
        """Right-click on words of the editor and choose; again where the menu opened before the entry belonged to it."""
        found = self.page.locator(".monaco-menu .action-item").filter(has_text=entry).first

        def offered() -> bool:
            self._clear()
            self.page.mouse.click(*self.place(words, nth), button="right")
            with contextlib.suppress(PlaywrightTimeout):
                found.wait_for(timeout=10_000)
            if not found.is_visible():
                self.press("Escape")
            return found.is_visible()

        self.eventually(offered)
        self.choose(entry)

    def choose(self, entry: str) -> None:
        """From the open context menu."""
        found = self.page.locator(".monaco-menu .action-item").filter(has_text=entry).first
        found.wait_for()
        self.page.wait_for_timeout(200)  # for a tenth of a second a menu takes no click, so that none hits it by chance
        found.click()
        found.wait_for(state="hidden")

    def menu_entries(self, words: str, nth: int = 0) -> list[str]:
        """What a right-click there offers."""
        self._clear()
        self.page.mouse.click(*self.place(words, nth), button="right")
        items = self.page.locator(".monaco-menu .action-item .action-label")
        items.first.wait_for()
        found = [text.strip() for text in items.all_inner_texts() if text.strip()]
        self.press("Escape")
        items.first.wait_for(state="detached")
        return found

    # ------------------------------------------------------------ the editor

    def place(self, words: str, nth: int = 0, within: str = EDITOR) -> tuple[float, float]:
        """Pixels of words on screen."""
        editor = self.page.locator(within).first
        x, y = self.eventually(lambda: editor.evaluate(_PLACE, [words, nth]), lambda found: found is not None)
        return x, y

    def _clear(self) -> None:
        """Take the mouse away, and with it the hover, which may cover what is meant next."""
        self.page.mouse.move(200, 18)
        self.eventually(lambda: not self.page.locator(SHOWN_HOVER).count())

    def go(self, line: int, column: int = 1) -> None:
        """Put the cursor there; both count from 1."""
        self.press("Control+g")
        box = self.page.locator(".quick-input-widget input")
        box.wait_for()
        box.fill(f":{line}:{column}")
        self.press("Enter")
        self.page.locator(".quick-input-widget").wait_for(state="hidden")

    def click(self, words: str, nth: int = 0) -> None:
        """Put the cursor into the words."""
        self._clear()
        self.page.mouse.click(*self.place(words, nth))

    def type(self, text: str) -> None:
        """Key by key, at the cursor; what the editor completes by itself is the caller's to switch off."""
        self.page.keyboard.type(text)

    def text(self) -> str:
        """The whole text of the editor that has the keys, saved or not, by way of the clipboard. The cursor goes to the begin."""
        nothing = "nothing was copied"
        self.page.evaluate("text => navigator.clipboard.writeText(text)", nothing)
        self.press("Control+a", "Control+c", "Control+Home")
        return self.eventually(lambda: self.page.evaluate("navigator.clipboard.readText()"), lambda found: found != nothing)

    def replace_all(self, text: str) -> None:
        """Paste over everything: one step to undo. Pasting takes a while, and a key in between would call it off."""
        if self.text() == text:
            return
        before = self.lines()
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.press("Control+a", "Control+v")
        self.eventually(self.lines, lambda found: found != before)
        assert self.text() == text

    def undo(self) -> None:
        self.press("Control+z")

    def save(self) -> None:
        """Until the tab has no dot; the file is written then."""
        self.press("Control+s")
        self.eventually(lambda: "dirty" not in (self.active_tab().get_attribute("class") or ""))

    def lines(self) -> list[str]:
        """The lines on screen, top to bottom."""
        found: list[str] = self.page.locator(EDITOR).first.evaluate(
            """editor => [...editor.querySelectorAll('.view-line')]
            .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
            .map(line => line.textContent.replaceAll('\\u00a0', ' '))"""
        )
        return found

    def write_settings(self, whose: str, text: str) -> None:
        """All settings of the ``User`` or the ``Machine``, in the workbench's own editor."""
        self.palette(f"Preferences: Open {'User' if whose == 'User' else 'Remote'} Settings (JSON)")
        self._opened("settings.json")
        self.replace_all(text)
        self.save()
        self.close_tab()
        self.eventually(self.tabs, lambda found: "settings.json" not in found)

    # ------------------------------------------------------------ what the extension adds to the editor

    def lenses(self) -> list[str]:
        """Texts of the code lenses on screen, in the order of reading."""
        return [text.replace("\xa0", " ") for text in self._all(f"{EDITOR} .codelens-decoration a", "a => a.textContent", reading=True)]

    def lens(self, text: str | re.Pattern[str]) -> Locator:
        self._clear()
        return self.page.locator(f"{EDITOR} .codelens-decoration a").filter(has_text=text).first

    def hover(self, words: str, nth: int = 0) -> Locator:
        """The box that appears over words, once it has said something else than that it is loading."""
        box = self.page.locator(SHOWN_HOVER).first
        self.click(words, nth)  # an editor shows none from a right-click until the next click

        def said() -> str:
            self._clear()  # as a person does where nothing appears: lines that moved under the mouse take a hover away
            self.page.mouse.move(*self.place(words, nth), steps=4)
            end = time.monotonic() + 10
            while time.monotonic() < end:
                text = box.inner_text().strip() if box.is_visible() else ""
                if text and text != "Loading...":
                    return text
                self.page.wait_for_timeout(50)
            return ""

        self.eventually(said)
        return box

    def actions(self, words: str, nth: int = 0) -> list[str]:
        """What the lightbulb offers at words; the list stays open."""
        self.click(words, nth)
        _, y = self.place(words, nth)
        return self.open_actions(y)

    def open_actions(self, y: float, within: str = EDITOR) -> list[str]:
        """What the lightbulb offers where the cursor is, at that height.

        The editor asks by itself where the cursor has come to. An answer to that while one acts takes away what one acts on.
        """
        bulbs = self.page.locator(f"{within} .lightBulbWidget")
        self.eventually(lambda: [box for bulb in bulbs.all() if (box := bulb.bounding_box()) and abs(box["y"] - y) < 40])
        rows = self.page.locator(".action-widget .monaco-list-row.action")

        def opened() -> list[str]:
            self.press("Control+.")  # again, as a person does where an answer that came late has closed the list
            end = time.monotonic() + 10
            while not rows.first.is_visible() and time.monotonic() < end:
                self.page.wait_for_timeout(50)
            return [text.strip() for text in rows.all_inner_texts()]

        return self.eventually(opened)

    def act(self, title: str | re.Pattern[str]) -> None:
        """Choose from the open list, by keys."""
        rows = self.page.locator(".action-widget .monaco-list-row.action")
        for _ in range(rows.count()):
            now = self.page.locator(".action-widget .monaco-list-row.action.focused").inner_text().strip()
            if title.search(now) if isinstance(title, re.Pattern) else now == title:
                self.press("Enter")
                rows.first.wait_for(state="detached")
                return
            self.press("ArrowDown")
        raise AssertionError(f"{title!r} is not among {rows.all_inner_texts()!r}")

    def squiggles(self, severity: str) -> int:
        """How many words are underlined; ``severity`` is error, warning, info or hint."""
        return self.page.locator(f"{EDITOR} .squiggly-{severity}").count()
