"""A history with two variants of a kernel, and a window to review them in. The figures are written down by hand: nothing was timed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import evolve, frozen

from kernelband.history import Store, runs, trials
from kernelband.history.records import FinalRow
from kernelband.source import between, patch_to_json
from tests.e2e.workbench.conftest import keep_what_failed
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.workbench import Workbench
from tests.unit.history.rows import run_row, trial_row, variant_row

FIGURE = "1.84"
TEXT = """import torch
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
    # one program for each block
    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


def bench_scale():
    scale(torch.randn(4096, device="cuda"))


def other(x):
    return x+1
"""
LAUNCH = ("(n, 64),)](x, y, n, BLOCK=64)", "(n, 512),)](x, y, n, BLOCK=512)")
LOAD = (
    "    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)",
    "    a = tl.load(x + i, mask=i < n)\n    tl.store(y + i, 2.0 * a, mask=i < n)",
)
WARPS = ("BLOCK=64)", "BLOCK=64, num_warps=1)")
RATIOS = {1: (1.84, 1.8, 1.88), 2: (1.21, 1.17, 1.25)}
VARIANTS = {1: (LAUNCH, LOAD), 2: (WARPS,), 3: (LAUNCH,)}
PARENTS = {1: 3}  # the first was made in two steps


def edited(text: str, *edits: tuple[str, str]) -> str:
    """The text with each edit made once."""
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


#: The same kernel with its host function in another file.
KERNEL_FILE = TEXT[: TEXT.index("\n\ndef scale(x)")]
HOST_FILE = "import torch\nimport triton\nfrom kernels import scale_kernel\n\n" + TEXT[TEXT.index("\n\ndef scale(x)") + 1 :]
FACTOR = (("y, n, BLOCK: tl", "y, n, factor, BLOCK: tl"), ("2.0 * tl.load", "factor * tl.load"))
PASSED = ("(x, y, n, BLOCK=64)", "(x, y, n, 2.0, BLOCK=64)")


def keep(db: Path, run: str, path: Path) -> None:
    """A run of ``TEXT`` in that file that has verified its variants."""
    what = {1: "The load has a name.", 2: "1 warp for each program.", 3: "512 elements in each program."}
    _keep(db, run, {path: TEXT}, {n: {path: edited(TEXT, *edits)} for n, edits in VARIANTS.items()}, what)


def keep_two_files(db: Path, run: str, kernels: Path, host: Path) -> None:
    """A run of ``KERNEL_FILE`` and ``HOST_FILE`` that has verified a variant of both."""
    after = {kernels: edited(KERNEL_FILE, *FACTOR), host: edited(HOST_FILE, PASSED)}
    _keep(db, run, {kernels: KERNEL_FILE, host: HOST_FILE}, {1: after}, {1: "The factor is passed."})


def _keep(
    db: Path,
    run: str,
    texts: Mapping[Path, str],
    after: Mapping[int, Mapping[Path, str]],
    what: Mapping[int, str],
) -> None:
    (path, *_) = texts
    row = run_row(run, path=str(path), kernel="scale_kernel", state="finished", device="NVIDIA H200 SXM")
    row = evolve(row, environment={"triton": "3.6.0", "torch": "2.9", "gpus": [{"name": "NVIDIA H200 SXM"}]}, created=time.time() - 60)
    before = {str(file): text for file, text in texts.items()}
    made = {n: patch_to_json(between(before, {str(file): text for file, text in edits.items()})) for n, edits in after.items()}
    named = {n: evolve(variant_row(run, n), patch=made[n], what=what[n], key=f"k{n}", identity=f"i{n}") for n in after}
    variants = tuple(evolve(row, parent=PARENTS[n]) if PARENTS.get(n) in after else row for n, row in named.items())
    cases = {"cases": [{"case": "1"}, {"case": "2"}]}
    finals = tuple(FinalRow(run, n, True, *RATIOS[n], cases, seconds=1.0) for n in after if n in RATIOS)
    tried = tuple(evolve(trial_row(run, n), score=2.0 - n / 2) for n in after)
    db.parent.mkdir(exist_ok=True)
    with Store.write(db) as store:
        runs.begin(store, row, before)
        trials.write(store, trials.Rows(variants=(variant_row(run, 0), *variants), trials=tried, finals=finals))


#: Of each test; that of two files has another one beside it.
FILES = ("part.py", "keys.py", "reloaded.py", "verified.py", "unwritten.py", "formatted.py", "kernels.py")


@frozen
class Scene:
    """The workbench with the extension, and a file of whose kernel the history has two variants."""

    workbench: Workbench
    screen: Screen
    file: Path
    db: Path
    run: str

    def decisions(self) -> list[tuple[int, str]]:
        with Store.read(self.db) as store:
            return [(d.variant, d.decision) for d in trials.decisions(store, self.run)]


class Window:
    """One for all tests here, since each has a file and a run of its own; after a test that failed there is another."""

    def __init__(self, make: Callable[[], Workbench], folder: Path) -> None:
        self._make, self._folder = make, folder
        self._opened = 0
        self.workbench: Workbench | None = None

    def scene(self, name: str) -> Scene:
        if self.workbench is None:
            self._opened += 1
            self.work = self._folder / str(self._opened) / "work"
            self.db = self.work.parent / "db" / "history.db"
            self._write()
            self.workbench = self._make()
            self.workbench.configure({"kernelband.db": str(self.db)})
            self.screen = self.workbench.start(self.work)
        return Scene(self.workbench, self.screen, self.work / name, self.db, _run(name))

    def _write(self) -> None:
        self.work.mkdir(parents=True)
        for name in FILES[:-1]:
            (self.work / name).write_text(TEXT)
            keep(self.db, _run(name), self.work / name)
        kernels, host = self.work / FILES[-1], self.work / "host.py"
        kernels.write_text(KERNEL_FILE)
        host.write_text(HOST_FILE)
        keep_two_files(self.db, _run(FILES[-1]), kernels, host)
        # git has a change of its own where the first variant has one
        first = self.work / FILES[0]
        first.write_text(TEXT.replace("2.0 *", "1.0 *"))
        for command in (("init", "-q"), ("add", "."), ("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "before")):
            subprocess.run(["git", *command], cwd=self.work, check=True, timeout=60)
        first.write_text(TEXT)

    def close_files(self) -> None:
        """A test has passed: the next begins with no file open."""
        self.screen.palette("File: Save All")
        self.screen.eventually(self.screen.tabs, lambda found: not any(tab.endswith("●") for tab in found))
        self.screen.palette("View: Close All Editors")
        self.screen.eventually(self.screen.tabs, lambda found: found == [])

    def give_up(self, test: str) -> list[str]:
        workbench, self.workbench = self.workbench, None
        if workbench is None:
            return []
        keep_what_failed({"workbench": workbench}, test)
        return workbench.stop()


def _run(name: str) -> str:
    return f"0123abc{FILES.index(name)}"
