"""Inspections as objects of JSON, as ``kernelband inspect --json`` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import asdict

from kernelband.explain.inspect import Inspection, Seen


def as_json(found: Sequence[Inspection]) -> list[dict[str, Any]]:
    """Facts as on the wire, with what was derived from them."""
    out: list[dict[str, Any]] = []
    for one in found:
        row: dict[str, Any] = {
            "kernel": one.kernel,
            "path": one.path,
            "gpu": one.device.key,
            "case": one.case,
            "arguments": one.arguments,
            "label": "predicted",
            "grid": one.spec["grid"],
            "constants": one.spec["constants"],
            "error": one.error,
        }
        out.append({**row, **_seen(one.seen)} if one.seen is not None else row)
    return out


def _seen(seen: Seen) -> dict[str, Any]:
    light = seen.roofline
    return {
        "facts": seen.facts,
        "occupancy": {"fraction": seen.occupancy.fraction, "programs": seen.occupancy.programs, "limiter": seen.occupancy.limiter},
        "waves": seen.waves.count,
        "bytes": seen.work.dram_bytes,
        "cache_bytes": seen.work.moved_bytes,
        "flops": seen.work.flops,
        "dot_flops": seen.work.dot_flops,
        "roofline_us": light.us if light else None,
        "limit": light.limit if light else None,
        "instruction_mix": seen.mix,
        "access_widths": seen.widths,
        "bottleneck": seen.bottleneck.sentence,
        "also": list(seen.bottleneck.also),
        "lines": [asdict(line) for line in seen.lines],
        "warnings": list(seen.warnings),
    }
