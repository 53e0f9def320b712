"""A landscape that nobody measured: strategies with known gains, proposals with known forecasts, some failures and duplicates."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from recorded import FORMAT, Landscape, load, save

from kernelband.search._base import ARMS

CASES = ("a", "b")


def logs(total: float, reach: float = 0.01, base_us: float = 100.0) -> dict[str, dict[str, float]]:
    one = {"device": total, "device_reach": reach, "call": total, "call_reach": reach}
    return {c: {**one, "device_us": base_us / exp(total), "call_us": base_us / exp(total)} for c in CASES}


def document(seed: int = 0, width: int = 8, parents: int = 12, good: str = "pipeline") -> dict[str, Any]:
    """Depth two: ``width`` proposals for each arm; those of ``good`` gain 15 % on average, the others lose; forecasts half know it."""
    rng = np.random.default_rng(seed)

    def node(number: int, parent: int, strategy: str, rank: int, base: float) -> dict[str, Any]:
        gain = float(rng.normal(0.14 if strategy == good else -0.05, 0.1))
        total = base + gain
        kind = rng.random()
        outcome = "wrong" if kind < 0.05 else "compile_error" if kind < 0.1 else "faster" if total > 0.03 else "slower"
        out = {
            "id": number,
            "parent": parent,
            "strategy": strategy,
            "move": "m",
            "key": f"{strategy}.m(x={rank})",
            "rank": rank,
            "outcome": outcome,
            "identity": "" if outcome == "compile_error" else f"i{number}",
            "features": [float(x) for x in rng.random(5) * [1, 100, 50, 8, 100]],
            "headroom": {"sm": 0.5, "dram": float(rng.random()), "l2": 0.5},
        }
        if outcome in ("faster", "slower"):
            out["cases"] = logs(total)
        if outcome != "compile_error":
            out["forecast"] = {"score": exp(total + float(rng.normal(0, 0.15))), "tier": "unclear"}
        return out

    original = {
        "id": 0,
        "parent": 0,
        "strategy": "",
        "move": "",
        "key": "",
        "rank": 0,
        "outcome": "original",
        "features": [0.1, 32.0, 0.0, 7.0, 50.0],
        "headroom": {"sm": 0.5, "dram": 0.5, "l2": 0.5},
        "times_us": {"device": dict.fromkeys(CASES, 100.0)},
    }
    nodes: list[dict[str, Any]] = [original]
    for arm in ARMS:
        nodes += [node(len(nodes) + i, 0, arm.name, i, 0.0) for i in range(width)]
    able = sorted((n for n in nodes[1:] if "cases" in n), key=lambda n: -n["cases"]["a"]["device"])[:parents]
    for parent in able:
        for arm in ARMS:
            start = len(nodes)
            nodes += [node(start + i, parent["id"], arm.name, i, parent["cases"]["a"]["device"]) for i in range(width)]
            nodes[start] |= {"outcome": "duplicate", "same_as": 1 + width, "cases": {}, "identity": f"i{1 + width}"}
    return {
        "format": FORMAT,
        "example": f"synthetic{seed}",
        "kernel": "k",
        "device": "h200",
        "gpu": {},
        "objective": "device",
        "measured": True,
        "date": "2026-01-01",
        "environment": {"torch": "2", "triton": "3"},
        "nodes": nodes,
    }


def landscape(folder: Path, **more: Any) -> Landscape:
    path = folder / "synthetic.json.gz"
    save(path, document(**more))
    return load(path)
