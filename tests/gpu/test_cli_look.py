"""capture, inspect and doctor where there is a GPU: what they say then that they can't say elsewhere.

Run with an engine Python: KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_cli_look.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:  # noqa: F811  # the fixture
    return Home(tmp_path, worker_python)


def test_doctor_names_the_gpu_and_says_that_measuring_works(home: Home) -> None:
    done = home.run("doctor", "--json", "--python", home.python, "--db", str(home.db))
    told = json.loads(done.out)
    print(done.out)
    assert done.code == 0, done.err
    assert told["works"] == dict.fromkeys(("read", "history", "inspect", "predict", "measure"), True)
    first = [c for c in told["checks"] if c["name"] == "gpu 0"]
    assert "GiB free" in first[0]["found"]
    assert "driver" in first[0]["found"]
    assert len(first) == 2, "and who else is on it"


def test_capture_measures_shares_and_times(home: Home) -> None:
    done = home.run("capture", "scale.py", "--python", home.python, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["measured"]
    assert result["sizes"] is None
    case = next(c for c in result["cases"] if c["function"]["qualname"] == "scale" and c["neighbour_of"] is None)
    assert case["device_us"] > 0
    assert case["share"] == pytest.approx(1.0)


def test_inspect_for_this_gpu_and_others(home: Home) -> None:
    for gpus in ("h200,a100,mi300x", "a100,h200"):  # captured on the GPU at hand if it is the first; else by the interpreter
        done = home.run("inspect", "scale.py", "--python", home.python, "--json", "--gpu", gpus)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert [one["gpu"] for one in found] == gpus.split(",")
        assert all(one["error"] is None and one["facts"]["registers"] for one in found)
