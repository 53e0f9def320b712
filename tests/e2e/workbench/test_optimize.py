"""*Optimize*: one list with all that a run will do, which Enter begins; and what is missing is led to from there."""

from __future__ import annotations

import re
import sys

from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.workbench.screen import Screen
from tests.e2e.workbench.test_first_minute import begin, has_variants, line, line_of, until_the_end
from tests.e2e.workbench.workbench import Workbench

LINES = ["Start", "Python", "Entry", "Device", "Budget"]
WITHOUT_ENTRY = KERNEL.partition("\n\ndef test_scale")[0] + "\n"


def asked(screen: Screen) -> list[str]:
    """The lines of the list, once a lens has opened it."""
    screen.lens(re.compile("^Optimize$")).click()
    return screen.eventually(lambda: [label.strip() for label in screen.picks("Budget") if label.strip()])


def test_one_list_says_what_a_run_will_do_and_enter_begins_it(workbench: Workbench, home: Home) -> None:
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    assert asked(screen) == LINES
    screen.eventually(
        lambda: line(screen, "Python"), lambda found: bool(re.search(r"…/\.worker/bin/python.*torch \d.* · Triton \d", found))
    )
    screen.eventually(
        lambda: line(screen, "Start"),
        lambda found: bool(re.search(r"60 s Python 3\.\d+.* · torch \d.* · no GPU: predicted for H100", found)),
    )
    assert "scale.py::bench" in line(screen, "Entry")
    assert "no GPU: predicted for H100" in line(screen, "Device")
    assert "60 s" in line(screen, "Budget")

    # each line opens its own choice and comes back
    line_of(screen, "Device").click()
    screen.picks("As the settings say")
    screen.pick(re.compile("No GPU: predicted for .*A100"))
    screen.eventually(lambda: line(screen, "Device"), lambda found: "A100" in found)
    line_of(screen, "Entry").click()
    screen.picks("The best one that is found")
    screen.pick("bench (scale.py)")
    screen.eventually(lambda: line(screen, "Entry"), lambda found: "Chosen by you" in found)
    line_of(screen, "Python").click()
    assert {"Browse…", "Open the setting"} <= set(screen.picks("Browse…"))
    screen.press("Escape")
    screen.eventually(lambda: line(screen, "Start"), lambda found: "60 s" in found)
    begin(screen, "2 trials")
    until_the_end(screen)
    lenses = screen.eventually(screen.lenses, has_variants)
    assert "A100" in lenses[0]

    # the next time it is known how long a trial takes
    assert asked(screen) == LINES
    screen.eventually(lambda: line(screen, "Start"), lambda found: bool(re.search(r"2 trials · about \d+ (s|min)", found)))
    assert "From the last run" in line(screen, "Budget")
    screen.press("Escape")
    assert screen.notifications() == []


def test_what_is_missing_is_led_to(workbench: Workbench, home: Home) -> None:
    home.file.write_text(WITHOUT_ENTRY)
    workbench.configure({"kernelband.python": sys.executable})  # it has no torch
    screen = workbench.start(home.work)
    screen.explore("scale.py")
    screen.eventually(screen.lenses, lambda found: found == ["Optimize"])
    asked(screen)
    screen.eventually(lambda: line(screen, "Start"), lambda found: "choose a Python first" in found)
    assert "torch can't be used" in line(screen, "Python")
    screen.press("Enter")
    screen.picks("Browse…")
    screen.pick("Open the setting")
    page = screen.page.locator(".settings-editor")
    page.locator(".setting-item-label").get_by_text(
        "Python", exact=True
    ).wait_for()  # it belongs to the machine that the window is connected to
    screen.close_tab()

    workbench.configure({"kernelband.python": home.python}, screen)
    screen.open("scale.py")
    asked(screen)
    screen.eventually(lambda: line(screen, "Start"), lambda found: "choose an entry first" in found)
    assert "nothing yet: choose or write one" in line(screen, "Entry")
    screen.press("Enter")
    assert screen.picks("Write one") == ["Name one in the settings…", "Write one"]
    screen.pick("Name one in the settings…")
    page.locator(".setting-item-label").get_by_text("Entry", exact=True).wait_for()
    screen.close_tab()
    assert screen.notifications() == []
