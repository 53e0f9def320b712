"""The workbench's programs, one browser for all tests, the extension as it is shipped, and workbenches that leave nothing behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.cli_world import Home
from tests.e2e.lsp.test_session import BENCH
from tests.e2e.workbench.workbench import Programs, Workbench

ROOT = Path(__file__).parents[3]
#: As root, without a GPU; the last: a page that asks another machine is told that there is none.
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
FAILED = pytest.StashKey[bool]()
StartWorkbench = Callable[..., Workbench]


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
    told = subprocess.run(["bash", ".ci/workbench", "folder"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=20)
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
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as it is shipped, of the sources as they are."""
    done = subprocess.run(["make", "-s", "vsix"], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = ROOT / "vscode-extension" / "dist" / "kernelband.vsix"
    return Path(shutil.copy(made, tmp_path_factory.mktemp("vsix")))  # the next build may be on its way


@pytest.fixture
def start_workbench(request: pytest.FixtureRequest, programs: Programs, browser: Browser, tmp_path: Path) -> Iterator[StartWorkbench]:
    """Make workbenches, each with a clean profile; they are ended, and proven to be gone, at the end of the test."""
    made: list[Workbench] = []

    def make(**options: Any) -> Workbench:
        made.append(Workbench(programs, browser, tmp_path / f"profile{len(made) + 1}", **options))
        return made[-1]

    yield make
    failed = request.node.stash.get(FAILED, False)
    left: list[str] = []
    with ExitStack() as ending:
        for workbench in made:
            ending.callback(lambda workbench=workbench: left.extend(workbench.stop()))
        for number, workbench in enumerate(made, 1) if failed else ():
            print(f"Pictures and logs: {tmp_path / f'workbench{number}'}")
            workbench.keep(tmp_path / f"workbench{number}")
    assert left == [], "a workbench has ended, and these of its processes have not"
    if not failed:
        for workbench in made:
            workbench.remove()


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    """A folder with one kernel and its bench function."""
    home = Home(tmp_path, worker_python)
    text = home.file.read_text()
    home.file.write_text(text[: text.index("\n\ndef test_scale")] + BENCH)
    return home


@pytest.fixture
def workbench(start_workbench: StartWorkbench, vsix: Path, home: Home) -> Workbench:
    """With the extension, the worker's Python and the search's packages, as a person has them after the first *Optimize*."""
    workbench = start_workbench()
    workbench.install(vsix)
    workbench.configure({"kernelband.python": home.python, "kernelband.search.interpreter": sys.executable, "kernelband.db": str(home.db)})
    return workbench
