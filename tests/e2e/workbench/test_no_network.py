"""Without a network: all but the search works at once; the search says what it lacks, and takes it from a folder of wheels."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.test_session import BENCH
from tests.e2e.workbench.conftest import ROOT, StartWorkbench
from tests.e2e.workbench.test_first_minute import LIKELY, until_the_end

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
    done = subprocess.run([*command, "-d", str(folder), "-r", str(lock)], capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_all_but_the_search_works_and_the_search_from_a_wheelhouse(
    start_workbench: StartWorkbench, vsix: Path, tmp_path: Path, worker_python: str, wheelhouse: Path
) -> None:
    home = Home(tmp_path, worker_python)
    text = home.file.read_text()
    home.file.write_text(text[: text.index("\n\ndef test_scale")] + BENCH)
    earlier = home.optimize(f"{home.file}::scale_kernel", "--trials", "2", "--db", str(home.db))
    assert earlier.code == 0, earlier.err
    workbench = start_workbench(env=CUT)
    workbench.install(vsix)
    # The Python that the wheels are for; nothing is said of the search.
    workbench.configure({"kernelband.python": home.python, "kernelband.server.interpreter": sys.executable, "kernelband.db": str(home.db)})
    screen = workbench.start(home.work)
    screen.explore("scale.py")

    lenses = screen.eventually(screen.lenses, lambda found: bool(found) and found[0].startswith("likely faster on"))
    assert "likely faster" in screen.hover("scale_kernel").inner_text()
    before = screen.text()
    assert any(LIKELY.match(title) for title in screen.actions("tl.store"))
    screen.act(LIKELY)
    screen.eventually(screen.text, lambda found: found != before)
    screen.undo()
    assert screen.text() == before

    screen.lens("Optimize").click()
    said = screen.dialog().inner_text()
    assert "The search needs numpy, scikit-learn and openai" in said
    assert re.search(r"about \d+ MB", said)
    screen.dialog().get_by_role("button", name="Install").click()
    refused = screen.notification("The package index can't be reached")
    refused.wait_for(timeout=60_000)
    assert "kernelband.search.wheelhouse" in refused.inner_text()
    assert not list(workbench.data.glob("User/globalStorage/*/search/*"))  # nothing half-made is left

    workbench.configure({"kernelband.search.wheelhouse": str(wheelhouse)}, screen)
    screen.eventually(screen.lenses, lambda found: found == lenses)
    screen.lens("Optimize").click()
    assert str(wheelhouse) in screen.dialog().inner_text()
    screen.dialog().get_by_role("button", name="Install").click()
    screen.eventually(screen.lenses, lambda found: found[-1] == "Cancel", seconds=120)
    until_the_end(screen)
    assert screen.eventually(screen.lenses, lambda found: found[0].startswith("likely faster on"))
