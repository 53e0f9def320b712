"""The workbench's programs, one browser for all tests, the extension as it is shipped, and workbenches that leave nothing behind.

To start code-server, to install and to load the workbench for the first time take longer than most tests. So tests use one workbench
after the other (``lend``), whose profile is made as clean as a new one's in between. A test that needs an environment of its own, or that
is about the first time, starts its own (``start_workbench``).
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests.e2e.cli_world import Home
from tests.e2e.searched import SCALE_WITH_BENCH
from tests.e2e.workbench.workbench import Programs, Workbench

ROOT = Path(__file__).parents[3]
#: As root, without a GPU. Pages live for seconds, so what they run isn't worth being optimised. The last: one that asks another machine is
#: told that there is none.
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--js-flags=--no-opt --no-maglev",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
FAILED = pytest.StashKey[bool]()
StartWorkbench = Callable[..., Workbench]
Lend = Callable[..., Workbench]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def find_programs() -> Programs:
    """Those that ``make workbench`` installed.

    Raises:
        FileNotFoundError: it didn't.
    """
    told = subprocess.run(["bash", ".ci/workbench", "folder"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=300)
    folder = Path(told.stdout.strip())
    if not (folder / "ready").exists():
        raise FileNotFoundError(f"{folder} isn't ready: run `make workbench`")
    (node,) = folder.glob("node_modules/node-linux-*/bin/node")
    return Programs(node, folder / "node_modules" / "code-server" / "out" / "node" / "entry.js")


@pytest.fixture(scope="session")
def programs() -> Programs:
    return find_programs()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as it is shipped, of the sources as they are."""
    (ROOT / ".cache").mkdir(exist_ok=True)
    with (ROOT / ".cache" / "vsix.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test process may be building it
        environments = ("-o", ".venv/ready", "-o", "node_modules/ready")  # this runs in the first: it isn't made anew meanwhile
        done = subprocess.run(["make", "-s", *environments, "vsix"], cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        made = ROOT / "vscode-extension" / "dist" / "kernelband.vsix"
        return Path(shutil.copy(made, tmp_path_factory.mktemp("vsix")))


@pytest.fixture(scope="session")
def installed(programs: Programs, browser: Browser, vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of extensions that holds ours, installed once."""
    workbench = Workbench(programs, browser, tmp_path_factory.mktemp("installed") / "profile")
    workbench.install(vsix)
    return workbench.extensions


def keep_what_failed(workbenches: Mapping[str, Workbench], test: str) -> None:
    """Pictures and logs of workbenches by name, beside the stage's log: pytest's folders go when others come."""
    for name, workbench in workbenches.items():
        folder = ROOT / ".cache" / "test" / "workbench" / re.sub(r"[^\w.-]+", "-", test).strip("-") / name
        print(f"Pictures and logs: {folder}")
        try:
            for said in workbench.keep(folder):
                print(said)
        except PlaywrightError as error:  # what failed may be the browser: it is ended all the same
            print(f"They are not complete: {error.message.splitlines()[0]}")


def has_failed(request: pytest.FixtureRequest) -> bool:
    """Whether the test of this fixture has, so far."""
    return request.node.stash.get(FAILED, False)


@pytest.fixture
def start_workbench(request: pytest.FixtureRequest, programs: Programs, browser: Browser, tmp_path: Path) -> Iterator[StartWorkbench]:
    """Make workbenches, each with a clean profile; they are ended, and proven to be gone, at the end of the test."""
    made: list[Workbench] = []

    def make(**options: Any) -> Workbench:
        made.append(Workbench(programs, browser, tmp_path / f"profile{len(made) + 1}", **options))
        return made[-1]

    yield make
    left: list[str] = []
    with ExitStack() as ending:
        for workbench in made:
            ending.callback(lambda workbench=workbench: left.extend(workbench.stop()))
        if has_failed(request):
            keep_what_failed({f"workbench{number}": workbench for number, workbench in enumerate(made, 1)}, request.node.name)
    assert left == [], "a workbench has ended, and these of its processes have not"
    if not has_failed(request):
        for workbench in made:
            workbench.remove()


class Lending:
    """Two workbenches with the extension, one that asks for trust and one that doesn't, which tests use one after the other."""

    def __init__(self, make: Callable[[bool], Workbench]) -> None:
        self._make = make
        self._kept: dict[bool, Workbench] = {}
        self._lent: set[bool] = set()

    def lend(self, *, trust: bool = False) -> Workbench:
        if trust not in self._kept:
            self._kept[trust] = self._make(trust)
        self._lent.add(trust)
        return self._kept[trust]

    def take_back(self) -> list[str]:
        """The command lines of what a test has left running."""
        left = [line for trust in self._lent for line in self._kept[trust].renew()]
        self._lent.clear()
        return left

    def give_up(self, test: str) -> None:
        """A test has failed: what it was lent is looked at, and is of no use to another."""
        lent = {"trust" if trust else "workbench": self._kept.pop(trust) for trust in self._lent}
        self._lent.clear()
        keep_what_failed(lent, test)
        for workbench in lent.values():
            workbench.stop()

    def end(self) -> list[str]:
        return [line for workbench in self._kept.values() for line in workbench.stop()]


@pytest.fixture(scope="session")
def lending(programs: Programs, browser: Browser, installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lending]:
    def make(trust: bool) -> Workbench:
        return Workbench(programs, browser, tmp_path_factory.mktemp("lent") / "profile", trust=trust, extensions=installed)

    lending = Lending(make)
    yield lending
    assert lending.end() == [], "a workbench has ended, and these of its processes have not"


@pytest.fixture
def lend(request: pytest.FixtureRequest, lending: Lending) -> Iterator[Lend]:
    """A workbench with the extension, as a new one is; at the end of the test nothing that its windows started is left."""
    yield lending.lend
    if has_failed(request):
        lending.give_up(request.node.name)
    else:
        assert lending.take_back() == [], "the windows are closed, and these of their processes have not ended"


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    """A folder with one kernel and its bench function."""
    home = Home(tmp_path, worker_python)
    home.file.write_text(SCALE_WITH_BENCH)
    return home


def ready_to_search(workbench: Workbench, home: Home) -> Workbench:
    """With the worker's Python and the search's packages, as a person has them after the first *Optimize*."""
    workbench.configure({"kernelband.python": home.python, "kernelband.search.interpreter": sys.executable, "kernelband.db": str(home.db)})
    return workbench


@pytest.fixture
def workbench(lend: Lend, home: Home) -> Workbench:
    return ready_to_search(lend(), home)
