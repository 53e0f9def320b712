"""One search by a real worker for all tests that only need what it left: folder, home and history are put back for each of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.e2e.cli_world import KERNEL, Home

#: Of a size that a GPU could do faster: 64 elements a program are too few.
BENCH = """

def bench():
    scale(torch.randn(1 << 20, device="cuda"))
"""
SCALE_WITH_BENCH = KERNEL[: KERNEL.index("\n\ndef test_scale")] + BENCH


class Searched:
    """A home in which ``scale_kernel`` was optimized once. Paths stay the same, so what the history says of them holds."""

    def __init__(self, folder: Path, python: str, text: str = SCALE_WITH_BENCH, *options: str) -> None:
        self._kept = folder / "kept"
        self.home = Home(folder / "of", python)
        self.home.file.write_text(text)
        done = self.home.optimize("scale.py::scale_kernel", "--trials", "3", "--seed", "7", *options)
        assert done.code == 0, done.err
        self.run: str = done.named("run_ended")[0]["run"]
        shutil.copytree(folder / "of", self._kept, symlinks=True)

    def again(self) -> Home:
        """The home as the search left it, whatever the last test did to it."""
        shutil.rmtree(self.home.work.parent)
        shutil.copytree(self._kept, self.home.work.parent, symlinks=True)
        self.home.file = self.home.work / "scale.py"
        return self.home
