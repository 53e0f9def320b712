"""The command line as a person runs it: a process of its own, with a home folder that holds nothing."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attrs import frozen

#: Reached only when something is broken: machines that share their processors are three times slower than a plain one.
PATIENCE_S = 500.0

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    # each program scales one block
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


def scale(x):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


def test_scale():
    x = torch.randn(4096, device="cuda")
    assert torch.allclose(scale(x), 2 * x)
"""


@frozen
class Done:
    """What a command did."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def sentence(self) -> str:
        """What a person reads first on stderr."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[0] if lines else ""

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def named(self, name: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e["event"] == name]


class Home:
    """A workspace, a home, a database; nothing of the real user's."""

    def __init__(self, folder: Path, python: str) -> None:
        self.work = folder / "work"
        self.home = folder / "home"
        self.db = folder / "db" / "history.db"
        self.python = python
        self.said = folder / "stderr.txt"
        for made in (self.work, self.home):
            made.mkdir(parents=True)
        self.file = self.work / "scale.py"
        self.file.write_text(KERNEL)

    @property
    def environment(self) -> dict[str, str]:
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "KERNELBAND", "VIRTUAL_ENV", "CONDA", "PYTHONDONT"))}
        return {**keep, "HOME": str(self.home), "COLUMNS": "120", "OMP_NUM_THREADS": "1"}

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        """The command in a session of its own, to be watched and killed; what it says on stderr is in ``said``."""
        with self.said.open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "kernelband", *arguments],
                cwd=self.work,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def run(self, *arguments: str, seconds: float = PATIENCE_S) -> Done:
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "kernelband", *arguments],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - start)

    def optimize(self, *arguments: str, seconds: float = PATIENCE_S) -> Done:
        return self.run("optimize", *arguments, "--db", str(self.db), "--python", self.python, "--json", seconds=seconds)

    def snapshot(self) -> dict[str, str]:
        """Every file of workspace, home and database folder, with its content's hash."""
        out: dict[str, str] = {}
        for top in (self.work, self.home, self.db.parent):
            for path in sorted(top.rglob("*")) if top.exists() else []:
                out[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        return out
