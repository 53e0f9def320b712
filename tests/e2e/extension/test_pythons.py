"""The carried server runs on every Python from 3.10 on, by itself: an empty home, no packages of the user's, no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
ASK = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
IMPORT = """import importlib, pathlib, sys
libs = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(libs))
names = {p.name.removesuffix(".py") for p in libs.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
for name in sorted(names):
    module = importlib.import_module(name)
    assert pathlib.Path(module.__file__).is_relative_to(libs), module
import kernelband.lsp.server, kernelband.cli, kernelband.history
print(len(names))
"""


def find(version: str) -> str | None:
    """A Python of that version: on PATH, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (shutil.which(f"python{version}"), *(str(p / "bin" / "python3") for p in sorted(pyenv.glob(f"{version}.*")))):
        if path is None:
            continue
        told = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True, timeout=30, check=False)
        said, _, executable = told.stdout.strip().partition(" ")
        if told.returncode == 0 and said == version:
            return executable  # what a shim of pyenv's stands for
    return None


PYTHONS = {version: find(version) for version in VERSIONS}


def test_there_is_a_python_to_look_at() -> None:
    assert any(PYTHONS.values())


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> list[str]:
    """The command that starts it, where it can be done without a network."""
    found = PYTHONS[request.param]
    if found is None:
        pytest.skip(f"no python{request.param} on this machine")
    alone = ["unshare", "--map-root-user", "--net"]
    able = shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True, timeout=20, check=False).returncode == 0
    return [*(alone if able else []), found, "-I", "-B", "-X", "utf8", "-W", "error::SyntaxWarning"]


def run(command: list[str], home: Path) -> str:
    environment = {"HOME": str(home), "PATH": "/nonexistent"}
    full = [shutil.which(command[0]) or command[0], *command[1:]]
    done = subprocess.run(full, env=environment, cwd=home, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_carried_can_be_imported(python: list[str], installed: Path, tmp_path: Path) -> None:
    assert int(run([*python, "-c", IMPORT, str(installed / "bundled" / "libs")], tmp_path)) > 10
    assert list(tmp_path.iterdir()) == [], "nothing was written at home"


def test_the_server_answers(python: list[str], installed: Path, tmp_path: Path) -> None:
    command = [*python, str(installed / "bundled" / "start.py"), "lsp"]
    with Client(command, tmp_path) as client:
        greeting = client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        assert greeting["capabilities"]["codeLensProvider"] == {"resolveProvider": False}
        client.tell("initialized", {})
        asked = {"command": "kernelband.server.kernels", "arguments": []}
        assert client.ask("workspace/executeCommand", asked) == {"kernels": [], "truncated": False}
        assert client.ask("shutdown", None) is None
        client.tell("exit", None)
        assert client.process.wait(20) == 0


class Client:
    """Says one thing after the other."""

    def __init__(self, command: list[str], home: Path) -> None:
        full = [shutil.which(command[0]) or command[0], *command[1:]]
        environment = {"HOME": str(home), "PATH": "/nonexistent"}
        self.process = subprocess.Popen(full, env=environment, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.late = threading.Timer(60, self.process.kill)
        self.number = 0

    def __enter__(self) -> Client:
        self.late.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.late.cancel()
        self.process.kill()
        self.process.wait(10)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def tell(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        self.tell(method, params, id=self.number)
        while (message := self._hear()).get("id") != self.number:
            pass
        assert "error" not in message, message
        return message["result"]

    def _hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))
