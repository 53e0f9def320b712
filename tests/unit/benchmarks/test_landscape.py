"""Recording a landscape with a laboratory whose truth is known, and reading it back."""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from recorded import load

from kernelband.errors import UsageError, WorkerError
from tests.unit.search.fake_lab import TEXT, FakeAuthor, FakeExecutor, FakeLab

ROOT = Path(__file__).resolve().parents[3]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("landscape_script", ROOT / "benchmarks" / "landscape.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plan(**more: Any) -> argparse.Namespace:
    values = {
        "entry": None,
        "seconds": 250.0,
        "gpu": None,
        "worker": None,
        "python": None,
        "seed": 0,
        "depth": 2,
        "first": 0.4,
        "best": 3,
        "per_strategy": 1,
        "drawn": 1,
        "ahead": 3,
        "dry": False,
    }
    return argparse.Namespace(**(values | more))


def recorded(folder: Path, author: FakeAuthor, start: Any = None, **more: Any) -> tuple[Any, Path]:
    file = folder / "k.py"
    file.write_text(TEXT)
    out = folder / "k.json.gz"
    survey = script().record(file, out, plan(**more), start_lab=start or (lambda workspace, **_: FakeLab(workspace)), author=author)
    return survey, out


def test_every_move_to_depth_two_is_recorded_with_its_time(tmp_path: Path) -> None:
    survey, out = recorded(tmp_path, FakeAuthor())
    found = load(out)
    assert found.facts["complete"]
    assert found.facts["measured"]
    first = {n.key: n for n in found.nodes.values() if n.id and n.parent == 0}
    assert set(first) == {
        "tiling.block(BLOCK=32,trouble=)",
        "tiling.block(BLOCK=64,trouble=)",
        "pipeline.block(BLOCK=128,trouble=)",
        "fusion.block(BLOCK=16,trouble=)",  # the original's own text
    }
    at_128 = first["pipeline.block(BLOCK=128,trouble=)"]
    assert at_128.outcome == "faster"
    assert exp(found.log(at_128)) == pytest.approx(5 / 2, rel=0.01)  # |log2 16 - 8| + 1 = 5 units before, 2 after
    assert found.best() == pytest.approx(log(5), rel=0.01)  # 256, at depth two
    assert {n.parent for n in found.nodes.values()} >= {0, at_128.id}
    assert survey.executed == sum(n.outcome in ("faster", "slower", "inconclusive") for n in found.nodes.values())
    assert at_128.headroom or at_128.features


def test_a_program_that_was_met_before_is_named_and_not_executed_again(tmp_path: Path) -> None:
    found = load(recorded(tmp_path, FakeAuthor())[1])
    duplicates = [n for n in found.nodes.values() if n.outcome == "duplicate"]
    assert duplicates  # 16 x 4 x 2 is 16 x 8
    for node in duplicates:
        assert node.same_as is not None
        assert found.nodes[node.same_as].same_as is None
        assert not node.cases


def test_what_goes_wrong_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    troubles = ("wrong", "crashed", "timeout", "oom", "compile_error", "compiler_hangs", "same", "slow_timeout")
    found = load(recorded(tmp_path, FakeAuthor(troubles))[1])
    outcomes = {n.key.partition("trouble=")[2][:-1]: n.outcome for n in found.nodes.values() if n.parent == 0 and n.strategy == "tiling"}
    assert outcomes["wrong"] == "wrong"
    assert outcomes["crashed"] == "crashed"
    assert outcomes["timeout"] == "timeout"
    assert outcomes["oom"] == "oom"
    assert outcomes["compile_error"] == "compile_error"
    assert outcomes["compiler_hangs"] == "compile_error"
    assert outcomes["same"] == "duplicate"
    assert outcomes["slow_timeout"] == "timeout"
    assert outcomes[""] == "faster"


def test_a_lost_worker_leaves_what_was_recorded(tmp_path: Path) -> None:
    class Losing(FakeExecutor):
        def call(self, operation: str, *rest: Any, **more: Any) -> Any:
            if operation == "check" and self.lab.calls.count("check") >= 2:
                raise WorkerError("The worker is gone.", kind="lost")
            return super().call(operation, *rest, **more)

    class Lab(FakeLab):
        def measuring(self) -> FakeExecutor:
            return Losing(self)

    with pytest.raises(WorkerError):
        recorded(tmp_path, FakeAuthor(), lambda workspace, **_: Lab(workspace))
    found = load(tmp_path / "k.json.gz")
    assert not found.facts["complete"]
    assert sum(n.outcome == "faster" for n in found.nodes.values()) == 2


def test_seconds_end_it(tmp_path: Path) -> None:
    survey, out = recorded(tmp_path, FakeAuthor(), seconds=1e-6)
    assert survey.executed == 0
    assert set(load(out).nodes) == {0}


def test_a_recording_names_no_machine(tmp_path: Path) -> None:
    _, out = recorded(tmp_path, FakeAuthor())
    text = gzip.decompress(out.read_bytes()).decode()
    assert str(tmp_path) not in text
    value = json.loads(text)
    assert value["texts"] == {"k.py": TEXT}
    assert "uuid" not in value["gpu"]


def test_without_executing_everything_is_compiled_and_forecast(tmp_path: Path) -> None:
    survey, out = recorded(tmp_path, FakeAuthor(), dry=True)
    found = load(out)
    assert survey.executed == 0
    assert not found.facts["measured"]
    assert {n.outcome for n in found.nodes.values()} <= {"original", "unmeasured", "duplicate"}
    assert max(n.parent for n in found.nodes.values()) > 0  # depth two


def test_another_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_bytes(b"no")
    with pytest.raises(UsageError, match="record it again"):
        load(tmp_path / "x.json.gz")
    (tmp_path / "y.json.gz").write_bytes(gzip.compress(b'{"format": 0}'))
    with pytest.raises(UsageError, match="format 0"):
        load(tmp_path / "y.json.gz")
