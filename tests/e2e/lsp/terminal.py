"""A terminal with a program in it, as a person sees it: keys go in, and every screen that was shown can be read."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pexpect
import pyte

PATIENCE_S = 240.0  # reached only when something is broken
COLUMNS, LINES = 110, 36

#: What pyte would show as text: device control strings, and a colon between the parts of a colour or an underline.
_CONTROL = re.compile(rb"\x1bP.*?\x1b\\|(?<=\x1b\[)(\d+):[\d:]*(?=m)", re.DOTALL)
_CUT = re.compile(rb"\x1b(P[^\x1b]*\x1b?|\[[\d:;?]*)?$")  # one that isn't all there


class Terminal:
    """A program in a pseudo-terminal. ``screens``: all that differed from the one before, the newest last."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        env = {**environment, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self._child = pexpect.spawn(command[0], list(command[1:]), cwd=str(folder), env=env, dimensions=(LINES, COLUMNS), echo=False)
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._screen.write_process_input = self._child.send  # what a terminal answers when it is asked what it is
        self._stream = pyte.ByteStream(self._screen)
        self._left = b""
        self.screens: list[str] = [""]

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(force=True)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return self.screens[-1]

    def type(self, keys: str) -> None:
        self._child.send(keys)

    def read(self, seconds: float) -> None:
        """Let the program go on, and look."""
        end = time.monotonic() + seconds
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            while (left := end - time.monotonic()) > 0:
                self._feed(self._child.read_nonblocking(1 << 16, timeout=left))

    def _feed(self, data: bytes) -> None:
        data = self._left + data
        cut = _CUT.search(data)
        whole = cut.start() if cut is not None else len(data)
        self._left = data[whole:]
        self._stream.feed(_CONTROL.sub(lambda m: m[1] or b"", data[:whole]))
        shown = "\n".join(line.rstrip() for line in self._screen.display)
        if shown != self.screens[-1]:
            self.screens.append(shown)

    def until(self, pattern: str, seconds: float = PATIENCE_S) -> re.Match[str]:
        """Wait for it to be on the screen."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text, re.MULTILINE)):
            assert time.monotonic() < end, f"no {pattern!r} on the screen:\n{self.text}"
            self.read(0.05)
        return found

    def shown(self, pattern: re.Pattern[str]) -> list[str]:
        """The lines of any screen so far on which it was found, each once."""
        return list(dict.fromkeys(line for screen in self.screens for line in screen.splitlines() if pattern.search(line)))

    def ended(self) -> None:
        """Wait for the program's end."""
        end = time.monotonic() + PATIENCE_S
        while self._child.isalive():
            assert time.monotonic() < end, f"it goes on:\n{self.text}"
            self.read(0.05)
