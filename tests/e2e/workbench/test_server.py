"""The language server and what the language status says of it: looked at, killed, restarted, and one that can't be started."""

from __future__ import annotations

import re
from pathlib import Path

import psutil

from tests.e2e.cli_world import Home
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.workbench import Workbench

#: Answers what every Python is asked before it is taken (src/python/probe.ts), and ends when it shall run the server.
ENDS = """#!/bin/sh
case "$*" in *start.py*) exit 3;; esac
exec python3 "$@"
"""


def servers(workbench: Workbench) -> list[psutil.Process]:
    """Ours: at most one."""
    return workbench.processes("start.py")


def language_status(screen: Screen) -> list[str]:
    """Click on the braces of the status bar, and read what they show."""
    screen.page.mouse.move(400, 300)
    screen.page.locator(r"#status\.languageStatus").click()
    items = screen.page.locator(".hover-language-status")
    items.first.wait_for()
    return [text.replace("\n", " ") for text in items.all_inner_texts()]


def is_there(screen: Screen) -> None:
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])


def is_said_only_when_needed(screen: Screen, status: str, sentence: str) -> None:
    """Why there is no server: in the language status at once, in a notification when something is asked for."""
    screen.eventually(lambda: language_status(screen), lambda found: any(status in text for text in found))
    screen.press("Escape")
    assert screen.notifications() == []
    screen.palette("KernelBand: Verify my edit")
    screen.notification(sentence).wait_for()
    screen.dismiss()


def test_what_there_is_is_said_and_a_server_that_ends_comes_back(workbench: Workbench, home: Home) -> None:
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    is_there(screen)
    items = language_status(screen)
    assert [text for text in items if "…/.worker/bin/python" in text], items
    (packages,) = (text for text in items if "torch" in text)
    assert "not checked" in packages
    assert workbench.processes("kernelband_worker") == []
    screen.page.locator(".hover-language-status").filter(has_text="torch").get_by_role("button", name="Check").click()
    told = screen.notification(re.compile(r"torch \S+ · Triton \S+"))
    told.wait_for()
    assert "no GPU: predicted" in told.inner_text()
    screen.dismiss()
    (packages,) = (text for text in language_status(screen) if "torch" in text)
    assert re.search(r"torch \d\S* · Triton \d", packages)
    screen.press("Escape")
    screen.palette("KernelBand: Log, restart and diagnostics")
    assert screen.picks() == ["Show the log", "Restart the language server"]
    (before,) = servers(workbench)
    screen.pick("Restart the language server")
    screen.eventually(lambda: servers(workbench), lambda found: bool(found) and before not in found)
    is_there(screen)

    # killed again and again it comes back, until that is no use
    for killed in range(6):
        (old,) = screen.eventually(lambda: servers(workbench))
        old.kill()
        if killed < 5:
            screen.eventually(lambda old=old: servers(workbench), lambda found, old=old: bool(found) and old not in found)
            is_there(screen)
    screen.eventually(lambda: language_status(screen), lambda found: any("ended six times" in text for text in found))
    screen.press("Escape")
    assert servers(workbench) == []
    assert screen.notifications() == []
    assert not any("crash" in text.lower() for text in screen.status())
    screen.palette("KernelBand: Restart the language server")
    is_there(screen)

    # asked for while it starts, again and again: one at a time, and one in the end
    for _ in range(4):
        screen.palette("KernelBand: Restart the language server")
        assert len(servers(workbench)) <= 1
    screen.steady(lambda: [process.pid for process in servers(workbench)], 4)
    assert len(servers(workbench)) == 1
    is_there(screen)
    assert screen.notifications() == []


def test_a_server_that_never_starts_is_said_when_it_is_needed(workbench: Workbench, home: Home, tmp_path: Path) -> None:
    workbench.configure({"kernelband.server.interpreter": "/bin/false"})
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    is_said_only_when_needed(screen, "Python 3.10 or newer", "Python 3.10 or newer")
    assert servers(workbench) == []
    assert screen.lenses() == []

    # one that ends while it starts says so once
    python = tmp_path / "python"
    python.write_text(ENDS)
    python.chmod(0o755)
    workbench.configure({"kernelband.server.interpreter": str(python)}, screen)
    screen.open("scale.py")
    is_said_only_when_needed(screen, "ended six times", "ended six times in three minutes")
