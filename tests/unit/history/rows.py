"""Rows to write in tests."""

from __future__ import annotations

import time
from typing import Any

from attrs import evolve

from kernelband.history import this_process
from kernelband.history.records import PullRow, RunRow, TrialRow, VariantRow


def run_row(run: str = "a1b2c3", **more: Any) -> RunRow:
    me = this_process()
    row = RunRow(
        id=run,
        created=time.time(),
        kernel_key="k",
        path="/w/k.py",
        kernel="add",
        device="h100",
        mode="measured",
        policy="kernelband",
        objective="device",
        seed=0,
        trials_budget=20,
        seconds_budget=None,
        seconds_used=0.0,
        state="running",
        phase="capture",
        reason="",
        owner=me.text,
        host=me.host,
        pid=me.pid,
        process=me.process,
        heartbeat=time.time(),
        version="0.1.0",
        options={"entry": None},
        environment={"triton": "3.6.0"},
        clock={},
        summary={},
    )
    return evolve(row, **more)


def variant_row(run: str = "a1b2c3", number: int = 1) -> VariantRow:
    return VariantRow(
        run,
        number,
        0,
        "tiling",
        "blocks",
        {"BLOCK": 128},
        key="tiling.blocks(BLOCK=128)",
        numerics="exact",
        what="BLOCK 64→128",
        why="small",
        author="rewriter",
        patch=[{"path": "/w/k.py", "base": "0", "edits": [[0, 1, "é\r\n"]]}],
        identity="i",
        forecast={},
        seconds=1e-3,
        features=[1.0],
    )


def trial_row(run: str = "a1b2c3", number: int = 1) -> TrialRow:
    result: dict[str, Any] = {"correctness": "passed"}
    return TrialRow(
        run, number, number, "passed", "faster", "none", "ok", "", 1.2, 1.1, 1.3, result, started=1.0, seconds=2.0, clock={"check": 0.5}
    )


def pull_row(run: str = "a1b2c3", position: int = 0) -> PullRow:
    return PullRow(run, position, position, 0, "tiling", "blocks", "key", position + 1, True, 0.1, 0.2, "faster", 0, 1.0, "because")
