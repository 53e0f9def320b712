"""Events as JSON lines on stdout."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from kernelband.search.events import Event, RunEnded


class JsonLines:
    """One object a line, flushed at once, whole lines also when several threads speak."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def hear(self, event: Event) -> None:
        """Print it."""
        text = json.dumps(event.to_json(), ensure_ascii=False, default=str)
        with self._lock:
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")  # JSON is UTF-8, whatever the terminal's encoding is
            sys.stdout.flush()

    def finish(self, ended: RunEnded, db: Path) -> None:
        """The last event has said it."""
