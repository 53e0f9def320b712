"""A client that can't wait, or a terminal that is gone, ends the server with a signal: nobody and nothing stays."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.conftest import all_end, family
from tests.e2e.lsp.raw import Raw, notification


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_with_its_runs(
    tmp_path: Path,
    worker_python: str,
    number: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders = tmp_path / "tmp"
    folders.mkdir()
    monkeypatch.setenv("TMPDIR", str(folders))
    monkeypatch.setattr(tempfile, "tempdir", None)
    client = Raw(Home(tmp_path, worker_python)).begin(python=worker_python, trials=50)
    trusted = {"uri": client.home.work.as_uri(), "trusted": True}
    unsaved = {"textDocument": {"uri": client.uri, "version": 2}, "contentChanges": [{"text": client.home.file.read_text() + "\n# more\n"}]}
    client.send(notification("kernelband/didChangeTrust", {"folders": [trusted]}), notification("textDocument/didChange", unsaved))
    command = {"command": "kernelband.server.optimize", "arguments": [client.uri, "scale_kernel"]}
    assert "run" in client.ask("o", "workspace/executeCommand", command)["result"]
    client.until(lambda m: m.get("method") == "kernelband/runChanged" and m["params"]["phase"] == "capture", 120)
    children = [pid for pid in family(client.process.pid) if pid != client.process.pid]
    assert len(children) >= 2  # the search and its worker
    assert list(folders.glob("kernelband-run-*"))  # with the unsaved text
    client.process.send_signal(number)
    assert client.end(60) == 128 + number
    assert all_end(children)
    assert not list(folders.glob("kernelband-run-*"))
    assert "Traceback" not in client.stderr


def test_under_nohup_it_outlives_its_terminal(tmp_path: Path, worker_python: str) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        client = Raw(Home(tmp_path, worker_python)).begin()
    finally:
        signal.signal(signal.SIGHUP, before)
    client.hover("before")
    client.process.send_signal(signal.SIGHUP)
    assert "scale" in client.hover("after")
    client.process.send_signal(signal.SIGTERM)
    assert client.end(60) == 128 + signal.SIGTERM
