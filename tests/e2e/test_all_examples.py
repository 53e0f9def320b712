"""Every example without a GPU: its benchmark is captured, replays, stays inside of its tensors, and is what the moves' tests are told."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests import captured_examples

ROOT = Path(__file__).parents[2]
SAME = ("kernel", "grid", "num_warps", "num_stages", "num_ctas", "constants", "scalars", "tensors", "config", "target")


#: Captured in seconds on a small machine. The others' benchmarks walk long columns or many programs: tests/stress/test_all_examples.py.
QUICK = ("flash_attention", "rms_norm")


@pytest.mark.parametrize("name", QUICK)
def test_captured_as_the_moves_tests_are_told(name: str, worker_python: str) -> None:
    prove(name, worker_python)


def prove(name: str, python: str) -> None:
    """Capture it again and compare, on a slow machine as far as the capture got in its time, which it must have said then."""
    result = captured_examples.capture(name, python)
    got = len(result["cases"])
    assert got == 3 or (got in (1, 2) and result["truncated"]), result["notes"]
    assert [(c["role"], c["boundary"], c["replayable"]) for c in result["cases"]] == [("time", "host_call", True)] * got
    assert result["out_of_bounds"] == []
    told = json.loads((captured_examples.FOLDER / f"{name}.json").read_text())
    assert _same(captured_examples.facts_of(result)) == _same(told)[:got], f"run python -m tests.captured_examples {name}"


def _same(cases: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """What doesn't depend on how traffic is counted."""
    return [
        [
            {**{k: x[k] for k in SAME}, "lines": [(line["line"], line["kind"], line["masked"]) for line in x["lines"]]}
            for x in case["launches"]
        ]
        for case in cases
    ]


def test_every_example_is_tested() -> None:
    files = {captured_examples.SEVERAL.get(name, name) for name in captured_examples.NAMES}
    assert {p.stem for p in (ROOT / "examples").glob("*.py")} == files | {"vector_add", "fused_softmax", "layer_norm", "matmul"}


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.py")), ids=lambda f: f.stem)
def test_each_is_one_file_with_a_test_and_a_benchmark(file: Path) -> None:
    module = ast.parse(file.read_text())
    assert len((ast.get_docstring(module) or "").splitlines()) == 1
    functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    assert any(name.startswith("test_") for name in functions)
    assert "bench" in functions
