"""The capture fixtures on a real GPU: the same expectations as tests/e2e/test_capture.py, with real launches, times and kernels.

Run with an engine Python: KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_capture.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture_fixtures import FIXTURES
from tests.capturing import Bench, prove
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]


@pytest.fixture(scope="module")
def bench(worker_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:  # noqa: F811  # the fixture
    made = Bench(worker_python, "gpu", tmp_path_factory.mktemp("capture"))
    yield made
    made.close()


@pytest.mark.parametrize("name", FIXTURES)
def test_captured_and_replayed_or_refused(bench: Bench, name: str) -> None:
    prove(bench, FIXTURES[name])


def test_device_work_is_known(bench: Bench) -> None:
    captured = bench.capture(FIXTURES["two kernels"])
    first = captured.cases[0]
    assert first["device_us"] is not None
    assert 0 < first["device_us"] < 1000
    assert 0 < first["target_share"] < 1
    assert sum(c["share"] or 0 for c in captured.cases if c["neighbour_of"] is None) == pytest.approx(1)
    assert any("20 µs" in note for note in captured.notes)


def test_other_kernels_are_named(bench: Bench) -> None:
    captured = bench.capture(FIXTURES["atomics"])
    assert captured.cases[0]["other_kernels"]  # torch.zeros fills by a kernel or a memset


def test_the_workspace_is_untouched(bench: Bench) -> None:
    assert bench.files() == bench.before
