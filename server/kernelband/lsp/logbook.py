"""The last lines of the log, kept in memory for a report of a problem. Of an exception its type and where, never the user's code."""

from __future__ import annotations

import logging
import time
import traceback
from collections import deque
from pathlib import PurePath
from types import TracebackType

from kernelband.errors import KernelBandError

MOST = 200  # lines
OURS = ("kernelband", "kernelband_worker", "pygls", "lsprotocol", "asyncio")


class Logbook(logging.Handler):
    """What passes the root logger, for as long as it is attached to it."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=MOST)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record as lines."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # whose arguments don't fit is the logger's own to report
            message = record.msg
        when = time.strftime("%H:%M:%S", time.localtime(record.created))
        lines = [f"{when} {record.levelname} {record.name}: {message}"]
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            said = f": {error.message}" if isinstance(error, KernelBandError) else ""
            lines += [f"  {type(error).__name__}{said}", *_frames(error.__traceback__)]
        self._lines.extend(part for line in lines for part in line.splitlines())

    @property
    def lines(self) -> tuple[str, ...]:
        """The last ones, the newest last."""
        self.acquire()
        try:
            return tuple(self._lines)
        finally:
            self.release()


def _frames(begin: TracebackType | None) -> list[str]:
    """Where in our packages, the innermost last."""
    out: list[str] = []
    for frame, number in traceback.walk_tb(begin):
        parts = PurePath(frame.f_code.co_filename).parts
        at = next((i for i, part in enumerate(parts) if part in OURS), None)
        if at is not None:
            out.append(f"    at {'/'.join(parts[at:])}:{number} in {frame.f_code.co_name}")
    return out
