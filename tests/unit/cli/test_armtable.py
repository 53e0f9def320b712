from __future__ import annotations

import io

from rich.console import Console

from kernelband.cli.show import arms_table
from kernelband.history.records import ArmRow


def text(*rows: ArmRow, measured: bool = True) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=120, highlight=False).print(arms_table(rows, measured=measured))
    return [line.rstrip() for line in out.getvalue().splitlines()]


TILING = ArmRow("r", 0, "tiling", 3, 0.256, 1.0, "l2 at 12 % of peak")
FUSION = ArmRow("r", 0, "fusion", 0, 0.15, 0.0, "exhausted: nothing left to propose")


def test_pulls_reward_weight_and_why() -> None:
    head, first, second = text(TILING, FUSION)
    assert head.split() == ["strategy", "pulls", "mean", "reward", "weight", "why"]
    assert first.split()[:4] == ["tiling", "3", "0.26", "1.00"]
    assert first.endswith("l2 at 12 % of peak")
    assert second.split()[3] == "masked"
    assert "exhausted" in second


def test_clusters_are_named_where_there_are_several() -> None:
    lines = text(ArmRow("r", 1, "tiling", 1, 0.1, 1.0, "not profiled"), TILING)
    assert lines[0].split()[0] == "cluster"
    assert [line.split()[0] for line in lines[1:]] == ["0", "1"]


def test_no_reward_where_nothing_was_measured() -> None:
    assert "reward" not in text(TILING, measured=False)[0]
    assert "0.26" not in text(TILING, measured=False)[1]
