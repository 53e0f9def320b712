"""What all tests stand on."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections.abc import Generator
from time import monotonic  # a test may put another clock into its module
from typing import Any

import pytest

# In the background of a script interrupts are ignored, under nohup the end of the terminal, and every process that a test starts would
# inherit that: Ctrl-C couldn't be tested.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), signal.SIG_DFL)):
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# How a person's terminal looks is no matter of the tests', nor of the processes that they start.
for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"):
    os.environ.pop(name, None)

# Modules and syntax trees are many, and stay: looking through them again and again took a tenth of the tests' time.
gc.set_threshold(50_000, 20, 20)

# Every run has the same examples, whatever the last one left; how long one takes says how busy the machine is. A worker's Python may lack
# hypothesis: then nothing that runs there needs it.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("kernelband", deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("kernelband")


def processors() -> float:
    """Seconds of the processors that this process has taken, and the children that ended."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


class Seconds:
    """What fixtures and the end of a test took, as properties of the test in JUnit's file: `make test` shows the slowest.

    ``cpu`` is what the whole test took of the processors, with the fixtures that it was the first or the last to need.
    """

    def __init__(self) -> None:
        self.item: pytest.Item | None = None
        self.taken = 0.0

    def _took(self, what: str, began: float) -> None:
        if self.item is not None and (seconds := monotonic() - began) > 0.5:
            self.item.user_properties.append((what, f"{seconds:.2f}"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.item, self.taken = item, processors()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        began = monotonic()
        try:
            return (yield)
        finally:
            self._took(f"fixture {fixturedef.argname}", began)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        began = monotonic()
        try:
            return (yield)
        finally:
            self._took("end", began)
            if self.item is not None and (taken := processors() - self.taken) > 0.5:
                self.item.user_properties.append(("cpu", f"{taken:.2f}"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Seconds())
