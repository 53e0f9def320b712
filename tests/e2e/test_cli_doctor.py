"""`kernelband doctor` in a process of its own: on a machine that has all but a GPU, and on ones that lack something."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli_world import Done, Home
from tests.e2e.test_bad_input import shadowing
from tests.e2e.test_cli_inspect import NO_TORCH, NO_TRITON


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    return Home(tmp_path, worker_python)


def asked(home: Home, *arguments: str) -> tuple[Done, dict[str, Any], dict[str, bool]]:
    before = home.snapshot()
    done = home.run("doctor", "--json", "--db", str(home.db), *arguments)
    assert "Traceback" not in done.err
    assert home.snapshot() == before, "something was written"
    told = json.loads(done.out)
    return done, {c["name"]: c for c in told["checks"]}, told["works"]


def test_all_but_a_gpu(home: Home) -> None:
    done, checks, works = asked(home, "--python", home.python)
    assert works["predict"]
    assert works["inspect"]
    assert done.code == 0
    for name in ("kernelband", "search", "worker", "torch", "triton", "ptxas", "history"):
        assert checks[name]["state"] == "ok", checks
        assert checks[name]["means"].endswith(".")
    assert home.python in checks["worker"]["found"]
    assert {"ncu", "nsys"} <= set(checks)


def test_for_people(home: Home) -> None:
    done = home.run("doctor", "--db", str(home.db), "--python", home.python)
    assert done.code == 0, done.err
    assert all(line.split()[0] in ("ok", "note", "missing", "works", "doesn't") for line in done.out.splitlines() if line[:1].strip())
    assert "optimize, checked by the interpreter and predicted" in done.out
    shared = home.run("doctor", "--anonymous", "--db", str(home.db), "--python", home.python)
    assert shared.code == 0, shared.err
    assert home.python in done.out
    assert [private for private in (home.python, str(home.home), str(home.db.parent)) if private in shared.out] == []
    assert len(shared.out.splitlines()) == len(done.out.splitlines())


@pytest.mark.parametrize(
    ("python", "name", "word"),
    [(NO_TORCH, "torch", "has no torch"), (NO_TRITON, "triton", "has no triton")],
    ids=["torch", "triton"],
)
def test_something_is_missing_over_there(home: Home, python: str, name: str, word: str) -> None:
    done, checks, works = asked(home, "--python", shadowing(home, python))
    assert done.code == 1
    assert checks[name]["state"] == "missing"
    assert word in checks[name]["found"]
    assert works == {"read": True, "history": True, "inspect": False, "predict": False, "measure": False}


def test_torch_too_old(home: Home) -> None:
    old = "import sys, types\nold = types.ModuleType('torch')\nold.__version__ = '2.1.0'\nsys.modules['torch'] = old\n"
    done, checks, _ = asked(home, "--python", shadowing(home, old))
    assert done.code == 1
    assert "2.1.0" in checks["versions"]["found"]


@pytest.mark.parametrize("worker", ["cat", "no-such-program-here", "sh -c 'exit 3'", "sh -c 'exec sleep 60'"])
def test_a_worker_command_that_is_no_python(home: Home, worker: str) -> None:
    done, checks, works = asked(home, "--worker", worker)
    assert done.code == 1
    assert checks["worker"]["state"] == "missing"
    assert checks["kernelband"]["state"] == checks["history"]["state"] == "ok"
    assert works["read"]


def test_a_torch_that_never_finishes_its_import(home: Home) -> None:
    slow = (
        "import sys, time\nclass No:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch': time.sleep(600)\nsys.meta_path.insert(0, No())\n"
    )
    done, checks, _ = asked(home, "--python", shadowing(home, slow))  # whose look ends before the command's time is over
    assert done.code == 1
    assert "took longer" in checks["torch"]["found"]


def test_a_damaged_database(home: Home) -> None:
    home.db.parent.mkdir()
    home.db.write_bytes(b"not a database at all " * 500)
    done, checks, works = asked(home, "--python", home.python)
    assert done.code == 1
    assert "damaged" in checks["history"]["found"]
    assert works["inspect"]
    assert not works["predict"]


def test_an_open_quote_is_a_wrong_option(home: Home) -> None:
    done = home.run("doctor", "--worker", "ssh 'box")
    assert done.code == 2
    assert "close the quote" in done.err


def test_a_python_without_the_search_extra(home: Home) -> None:
    """What is installed is asked of the package metadata, so an engine without it is stood in for by hiding that."""
    import subprocess

    code = (
        "import importlib.metadata as m\nreal = m.version\n"
        "def version(name):\n    if name == 'scikit-learn': raise m.PackageNotFoundError(name)\n    return real(name)\n"
        "m.version = version\nfrom kernelband.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", "--python", home.python, "--db", str(home.db)],
        cwd=home.work,
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "pip install 'kernelband[search]'" in done.stdout
    assert "no scikit-learn" in done.stdout
