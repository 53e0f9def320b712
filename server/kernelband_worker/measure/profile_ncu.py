"""Nsight Compute: how it is asked and what it answers. Knows no torch and no Triton.

Metrics and their names: Nsight Compute documentation, "Profiling Guide", sections Speed of Light, Warp State Statistics, Memory Workload
Analysis; the CSV of ``--csv`` has one row per metric ("details" page) or one column per metric ("raw" page), and both are read.
"""

from __future__ import annotations

import csv
import math
from typing import Dict, List, Optional, Sequence, Tuple

#: Share of the peak, percent, by what the engine calls it.
_RATES: Tuple[Tuple[str, str], ...] = (
    ("sm", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("dram", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    ("l2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"),
)
#: Cycles that a warp waits between two instructions, by the reason.
_STALLS = ("long_scoreboard", "short_scoreboard", "wait", "barrier", "math_pipe_throttle", "lg_throttle", "mio_throttle", "gmma")
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_SECTORS: Tuple[Tuple[str, str], ...] = (
    ("load", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
    ("store", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
)
_DURATION = "gpu__time_duration.sum"
_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")
#: The wgmma stall exists from Hopper on; an older GPU's ncu doesn't know its name.
_FROM_HOPPER = ("gmma",)

_UNITS = {
    "nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3, "second": 1e6, "s": 1e6,
    "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9,
}  # fmt: skip

NOT_PERMITTED = "ERR_NVGPUCTRPERM"


def metrics(capability: Sequence[int]) -> List[str]:
    """What is asked of a GPU of that compute capability: few enough for a handful of replays of the kernel."""
    stalls = [_STALL.format(name) for name in _STALLS if name not in _FROM_HOPPER or tuple(capability) >= (9, 0)]
    return [name for _, name in _RATES] + [name for _, name in _SECTORS] + [_DURATION, *_BYTES, *stalls]


def command(ncu: str, asked: Sequence[str], program: Sequence[str]) -> List[str]:
    """Profiles the first launch of ``program``. The clocks are left as they are: others may be measuring on other GPUs of this machine."""
    options = ["--csv", "--print-units", "base", "--clock-control", "none", "--launch-count", "1", "--target-processes", "application-only"]
    return [ncu, *options, "--metrics", ",".join(asked), *program]


def read(text: str) -> Dict[str, Tuple[str, str]]:
    """Metric -> (unit, value as printed) from ncu's output, whatever stands around the table; empty when there is no table."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}
    rows = list(csv.reader(line for line in lines[start:] if line.startswith('"')))
    header = rows[0]
    if "Metric Name" in header:
        name, unit, value = (header.index(column) for column in ("Metric Name", "Metric Unit", "Metric Value"))
        return {row[name]: (row[unit], row[value]) for row in rows[1:] if len(row) == len(header)}
    if len(rows) < 3 or len(rows[1]) != len(header) or len(rows[2]) != len(header):
        return {}
    return {column: (rows[1][i], rows[2][i]) for i, column in enumerate(header)}


def facts(found: Dict[str, Tuple[str, str]]) -> Dict[str, object]:
    """A profile without its kernel (wire.KernelProfile): shares of peak from 0 to 1, microseconds, bytes. What is missing is left out."""
    out: Dict[str, object] = {}
    for name, metric in _RATES:
        value = _number(found, metric)
        if value is not None:
            out[name] = value / 100.0
    duration = _scaled(found, _DURATION)
    if duration is not None:
        out["us"] = duration
    moved = [_scaled(found, metric) for metric in _BYTES]
    known = [m for m in moved if m is not None]
    if len(known) == len(moved):
        out["dram_bytes"] = sum(known)
    sectors = {name: _number(found, metric) for name, metric in _SECTORS}
    out["sectors"] = {name: value for name, value in sectors.items() if value}
    stalls = {name: _number(found, _STALL.format(name)) for name in _STALLS}
    worst = sorted(((value, name) for name, value in stalls.items() if value), reverse=True)
    out["stalls"] = {name: value for value, name in worst}
    return out


def failure(text: str) -> str:
    """Why there is no table, in a clause: permission, or the first error that ncu prints."""
    if NOT_PERMITTED in text:
        return "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM)"
    errors = [line.strip() for line in text.splitlines() if line.startswith("==ERROR==")]
    return errors[0].replace("==ERROR==", "").strip().rstrip(".")[:200] if errors else "Nsight Compute printed no figures"


def _number(found: Dict[str, Tuple[str, str]], metric: str) -> Optional[float]:
    """``1,234.5`` -> 1234.5; None for a metric that wasn't collected ("n/a", "(!) nan")."""
    if metric not in found:
        return None
    try:
        value = float(found[metric][1].replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _scaled(found: Dict[str, Tuple[str, str]], metric: str) -> Optional[float]:
    value = _number(found, metric)
    return None if value is None else value * _UNITS.get(found[metric][0], 1.0)
