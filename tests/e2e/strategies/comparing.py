"""Asks a process of the worker's Python whether variants compute what the original computes. It is started once for each device."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

ROOT = Path(__file__).parents[3]
PYTHON = os.environ.get("KERNELBAND_TEST_WORKER", str(ROOT / ".worker" / "bin" / "python"))
LIMIT_S = 600.0


class Caller:
    """One such process; ``calls.py`` says what it is asked and answers."""

    def __init__(self, python: str, device: str) -> None:
        self.said = TemporaryFile()  # noqa: SIM115  # as long as the process
        script = str(Path(__file__).with_name("calls.py"))
        self.process = subprocess.Popen(
            [python, script, device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True, start_new_session=True
        )
        atexit.register(self.end)

    def ask(self, example: str, texts: Sequence[str]) -> list[str | None]:
        """For each text null, or what differs from the first one's outputs."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        late = threading.Timer(LIMIT_S, self.process.kill)
        late.start()
        try:
            self.process.stdin.write(json.dumps({"example": example, "texts": list(texts)}) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        finally:
            late.cancel()
        if not answer:
            caller.cache_clear()
            self.process.wait(10)
            self.said.seek(0)
            raise AssertionError(f"exit status {self.process.returncode}: {self.said.read()[-3000:].decode()}")
        return json.loads(answer)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(10)


@cache
def caller(python: str, device: str) -> Caller:
    """The process for a device."""
    return Caller(python, device)


def differences(texts: Sequence[str], device: str = "cpu", python: str = PYTHON, example: str = "") -> list[str | None]:
    """What each text's outputs differ in from the first one's; None where they don't.

    Args:
        texts: the original and its variants.
        device: "cpu" (interpreted), "cuda", or "sm_90" (compiled only).
        python: which worker's.
        example: the example whose calls are made; of none, the texts call themselves.
    """
    return caller(python, device).ask(example, texts)
