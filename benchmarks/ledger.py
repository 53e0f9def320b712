"""Results of a long benchmark, kept as they come, so that the next call goes on where this one ended; and the seconds that a call has."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import field, frozen

Record = dict[str, Any]


class LedgerError(Exception):
    """A file that holds something else than results. The text is one sentence."""


class Ledger:
    """JSON lines: each has ``step`` and ``key``, and ``error`` where that came to nothing. What was cut off while it was written is gone.

    Raises:
        LedgerError: the file can't be read, or holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerError(f"The results in {path} can't be read: {error}.") from error
        self._torn = bool(text) and not text.endswith("\n")
        lines = text.split("\n")[:-1]
        self.records: list[Record] = [self._parsed(line, n) for n, line in enumerate(lines, 1) if line.strip()]

    def _parsed(self, line: str, number: int) -> Record:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("step"), str) or not isinstance(record.get("key"), str):
            raise LedgerError(f"Line {number} of {self.path} is no result: name another file with --results.")
        return record

    def add(self, step: str, key: str, **more: Any) -> Record:
        """Keep a result, and write it down at once."""
        record = {"step": step, "key": key, "when": time.time(), **more}
        with self._lock:
            whole = "".join(json.dumps(r) + "\n" for r in self.records) if self._torn else ""
            self.records.append(record)
            line = json.dumps(record) + "\n"
            if self._torn:
                self.path.write_text(whole + line, encoding="utf-8")
                self._torn = False
            else:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line)
        return record

    def of(self, step: str) -> list[Record]:
        """What a step has found, of each key the newest; none that failed."""
        return list({r["key"]: r for r in self.records if r["step"] == step and "error" not in r}.values())

    def failed(self, step: str) -> list[Record]:
        """Failures of a step after which nothing of the same key, or of a key that begins with it and a space, has come out."""
        out: dict[str, Record] = {}
        for record in (r for r in self.records if r["step"] == step):
            if "error" in record:
                out[record["key"]] = record
            else:
                out = {key: r for key, r in out.items() if not (record["key"] + " ").startswith(key + " ")}
        return list(out.values())

    def longest(self, step: str, name: str, guess: float) -> float:
        """Of a figure in seconds that a step's results have; the guess while there is none."""
        return max((r[name] for r in self.of(step) if name in r), default=guess)


@frozen
class Allowance:
    """``seconds`` from ``begun`` on; None: as many as it takes."""

    seconds: float | None
    begun: float = field(factory=time.monotonic)

    @property
    def left(self) -> float:
        return float("inf") if self.seconds is None else self.seconds - (time.monotonic() - self.begun)

    def fits(self, needed: Iterable[float]) -> bool:
        """Whether what takes so long in all would still end in time."""
        return sum(needed) <= self.left
