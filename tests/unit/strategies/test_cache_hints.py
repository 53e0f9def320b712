"""``cache_hints`` says that data is read once only where the pointer shows it: by one program, by no place that was loaded."""

from __future__ import annotations

import pytest

from kernelband.strategies import strategy
from tests.unit.strategies.samples import example, example_facts
from tests.unit.strategies.test_edits import changed


def plans(name, tmp_path):
    program = example(name, tmp_path)
    found = [p for p in strategy("access_layout").propose(program, example_facts(name, program)) if p.move == "cache_hints"]
    return {p.parameters["plan"]: "\n".join(changed(program, p)) for p in found}


@pytest.mark.parametrize(
    ("name", "once", "not_once"),
    [
        ("rope", ["x1", "x2"], ["cos", "sin"]),  # 32 heads share a position's angles
        ("rms_norm", ["X_row"], []),
        ("scan", ["x"], []),
    ],
)
def test_data_of_one_program_streams(name, once, not_once, tmp_path):
    marked = [line for line in plans(name, tmp_path)["stream"].splitlines() if line.startswith("+") and "evict_first" in line]
    assert {line[1:].split()[0] for line in marked} >= set(once)
    assert not {line[1:].split()[0] for line in marked} & set(not_once)


def test_rows_that_are_looked_up_may_be_looked_up_again(tmp_path):
    found = plans("gather", tmp_path)
    assert "stream" not in found
    assert "stores" in found
