"""Cheats that only times or a GPU's memory show, and honest controls, in the real final on a GPU: about 15 s each.

KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_redteam.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import worker_python  # noqa: F401 - the fixture
from tests.redteam.corpus import cheats, controls
from tests.redteam.stage import Stage, refused

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(580),
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]

CHEATS = (
    "side_stream",
    "side_stream_half",
    "clock_elapsed_time",
    "clock_perf_counter",
    "clock_everywhere",
    "clock_event_record",
    "replay_by_pointer",
    "replay_by_version",
    "graph_with_stale_inputs",
    "early_return_on_stale_memory",
    "added_once",
    "detect_address",
    "detect_function_mode",
    "lazy_subclass",
    "lazy_wrapper",
    "lazy_clone",
    "reused_result_unlooked",
    "comparer_under_stress",
    "detect_check_under_stress",
)
CONTROLS = ("atomics_other_block", "streams_other_block", "larger_workspace", "autotuned", "in_place_other_block")


@pytest.fixture(scope="module")
def stage(worker_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:  # noqa: F811
    made = Stage(worker_python, tmp_path_factory.mktemp("redteam"), gpu=True)
    yield made
    made.close()


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_never_verified(stage: Stage, name: str) -> None:
    (cheat,) = [c for c in cheats() if c.name == name]
    result = stage.play(cheat).result
    print(name, result.correctness, result.integrity, result.fault, result.performance, result.score, result.reason[:160])
    assert not result.verified


@pytest.mark.parametrize("name", CONTROLS)
def test_an_honest_variant_is_not_refused(stage: Stage, name: str) -> None:
    (control,) = [c for c in controls() if c.name == name]
    verdict = stage.play(control)
    print(name, verdict.result)
    assert not refused(verdict), verdict.result
