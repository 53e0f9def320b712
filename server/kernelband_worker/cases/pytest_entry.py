"""A pytest node as an entry: pytest collects a stand-in file in the scratch folder, the module itself comes from the loader.

So the node runs on the editor's text, on a machine that needn't have the workspace, and nothing is written into it (no cache, no
bytecode, rootdir in the scratch folder). ``conftest`` modules come from the loader too.

pytest is the user's own, imported when there is such an entry and not before: the worker needs only the standard library, torch, triton and
numpy, and runs where pytest isn't installed.
"""

from __future__ import annotations

import importlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from kernelband_worker.cases.alarm import Alarm
from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State


@dataclass
class Sets:
    """Parameter sets of a test, where not all must run: none is begun ``enough_s`` after the first."""

    enough_s: float
    ran: int = 0  # to their end
    total: int = 0

    @property
    def partly(self) -> bool:
        """Whether some ran, and not all."""
        return 0 < self.ran < self.total


class _Plugin:
    def __init__(self, pytest: Any, load: Callable[[], Any], sets: Sets) -> None:
        class Served(pytest.Module):
            def _getobj(self) -> Any:
                return load()  # once the conftests are configured, on which its import may rest

        self._served = Served
        self._sets = sets
        self._begun: Optional[float] = None
        self.error: Optional[BaseException] = None
        self.skipped: List[str] = []

    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> Any:
        """Collect the loader's module in place of the stand-in file."""
        return self._served.from_parent(parent, path=module_path)

    def pytest_collection_finish(self, session: Any) -> None:
        """Know how many sets there are."""
        self._sets.total = len(session.items)

    def pytest_runtest_setup(self) -> None:
        """Know when the first set began."""
        if self._begun is None:
            self._begun = time.monotonic()

    def pytest_runtest_teardown(self, item: Any) -> None:
        """Let no further set begin when there were enough."""
        if self._begun is not None and self._sets.ran and time.monotonic() - self._begun > self._sets.enough_s:
            item.session.shouldstop = "enough"

    def pytest_exception_interact(self, call: Any) -> None:
        """Keep the first error, with its traceback."""
        if self.error is None and call.excinfo is not None:
            self.error = call.excinfo.value

    def pytest_internalerror(self, excinfo: Any) -> None:
        """Keep what pytest takes for an error of its own: our stop, where the module is imported."""
        if self.error is None:
            self.error = excinfo.value

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count what really ran."""
        if report.when == "call" and report.passed:
            self._sets.ran += 1
        if report.skipped:
            self.skipped.append(str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else "skipped")


def run_node(state: State, entry: Dict[str, Any], alarm: Alarm, sets: Optional[Sets] = None) -> None:
    """Run the node; what its test raises is raised. ``sets``: counts them; None: all must run.

    Raises:
        OperationFailed: pytest finds no such node, or it is skipped.
    """
    pytest = importlib.import_module("pytest")

    def load() -> Any:
        with alarm.importing():
            return state.opened.original(entry["module"])

    sets = Sets(float("inf")) if sets is None else sets
    plugin = _Plugin(pytest, load, sets)
    stand_in = Path.cwd() / Path(entry["path"]).name
    stand_in.write_text("")
    Path("empty.ini").write_text("[pytest]\n")
    environment = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if name in os.environ}
    node = f"{stand_in}::{entry['name']}"
    # Rewriting assertions, pytest would read test modules of packages from the disk itself: not the editor's text, nor a variant's.
    arguments = [node, "-q", "-s", "-x", "--assert=plain", "-p", "no:cacheprovider", "-c", "empty.ini", "--rootdir", str(Path.cwd())]
    with alarm.importing():
        conftests = _conftests(state, entry["module"])
    try:
        code = pytest.main(arguments, plugins=[plugin, *conftests])
    finally:
        os.environ.update(environment)
    if plugin.error is not None:
        raise plugin.error
    if sets.ran == 0:
        why = f"pytest skips it ({plugin.skipped[0]})" if plugin.skipped else f"pytest finds no such test (exit code {int(code)})"
        raise OperationFailed(f"The entry {entry['name']} in {entry['path']} doesn't run: {why}.", "entry_failed")


def _conftests(state: State, module: str) -> List[Any]:
    """The conftest modules above a test module, outermost first."""
    parts = module.split(".")[:-1]
    names = [".".join([*parts[:n], "conftest"]) for n in range(len(parts) + 1)]
    loader = state.opened
    return [loader.original(n) for n in names if n.partition(".")[0] in loader.top_level and loader.sources.find(n) is not None]
