"""Without a network: all but the search works at once; the search says what it lacks, and takes it from a folder of wheels."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.workbench.conftest import ROOT, StartWorkbench
from tests.e2e.workbench.test_first_minute import LIKELY, goes_on, has_variants, line, optimize, until_the_end

#: Whoever asks for anything outside of this machine is told at once that there is nothing.
NOTHING = "http://127.0.0.1:9"
CUT = {
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOTHING),
    "no_proxy": "127.0.0.1,localhost",
    "PIP_INDEX_URL": f"{NOTHING}/simple",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_RETRIES": "0",
}


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a person brings on a stick: the wheels of the lock that the extension carries."""
    folder = tmp_path_factory.mktemp("wheels")
    lock = ROOT / "requirements" / "search.txt"
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"]
    done = subprocess.run([*command, "-d", str(folder), "-r", str(lock)], capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_all_but_the_search_works_and_the_search_from_a_wheelhouse(
    start_workbench: StartWorkbench, installed: Path, searched: Home, wheelhouse: Path
) -> None:
    home = searched
    workbench = start_workbench(env=CUT, extensions=installed)
    # The Python that the wheels are for; nothing is said of the search.
    workbench.configure({"kernelband.python": home.python, "kernelband.server.interpreter": sys.executable, "kernelband.db": str(home.db)})
    screen = workbench.start(home.work)
    screen.explore("scale.py")

    lenses = screen.eventually(screen.lenses, has_variants)
    assert "likely faster" in screen.hover("scale_kernel").inner_text()
    before = screen.text()
    assert any(LIKELY.search(title) for title in screen.actions("tl.store"))
    screen.act(LIKELY)
    screen.eventually(screen.text, lambda found: found != before)
    screen.undo()
    screen.eventually(screen.text, lambda found: found == before)

    screen.lens("Optimize").click()
    screen.eventually(lambda: line(screen, "Start"))
    screen.press("Enter")
    assert screen.picks("Install") == ["Install", "Use another Python…", "Install from a folder of wheels…"]
    assert "The search needs numpy, scikit-learn and openai" in screen.page.locator(".quick-input-widget").inner_text()
    assert re.search(r"about \d+ MB", line(screen, "Install"))
    screen.pick("Install")
    refused = screen.notification("The package index can't be reached")
    refused.wait_for()
    assert "kernelband.search.wheelhouse" in refused.inner_text()
    assert not list(workbench.data.glob("User/globalStorage/*/search/*"))  # nothing half-made is left

    workbench.configure({"kernelband.search.wheelhouse": str(wheelhouse)}, screen)
    screen.eventually(screen.lenses, lambda found: found == lenses)
    optimize(screen, "2 trials")
    screen.picks("Install")
    assert "once, from" in line(screen, "Install")
    screen.pick("Install")
    screen.eventually(screen.lenses, goes_on, seconds=300)
    until_the_end(screen)
    assert screen.eventually(screen.lenses, has_variants)
