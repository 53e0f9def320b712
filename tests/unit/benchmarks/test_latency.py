"""The latency benchmark in small: a real server answers all that is asked, and every kind of sample comes out. No time is looked at."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import latency
import pytest


def test_every_request_is_answered_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "samples.json"
    small = ["--requests", "3", "--lines", "200", "--kernels", "3", "--trials", "30", "--idle", "0.1", "--out", str(out)]
    monkeypatch.setattr(latency, "STARTS", 2)
    monkeypatch.setattr(sys, "argv", ["latency.py", *small])
    assert latency.main() == 0
    kept = json.loads(out.read_text())
    assert kept["options"]["search"] == ""
    assert set(kept["samples_ms"]) == set(latency.KINDS)
    assert [len(kept["samples_ms"][kind]) for kind in latency.KINDS[:4]] == [3] * 4
    assert [len(kept["samples_ms"][kind]) for kind in latency.KINDS[5:]] == [2, 2, 0]
    assert all(ms > 0 for samples in kept["samples_ms"].values() for ms in samples)
    assert kept["empty"]["lens"] == kept["empty"][latency.KINDS[3]] == 0
    assert {"first open to its lenses, ms", "memory at most, MiB"} < set(kept["figures"])
    table = capsys.readouterr().out
    assert all(f"| {kind} |" in table for kind in latency.KINDS[:4])


def test_percentiles_are_samples() -> None:
    samples = [float(n) for n in range(100, 0, -1)]
    assert [latency.percentile(samples, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50.0, 95.0, 99.0, 100.0]
    assert latency.percentile([7.0], 0.95) == 7.0
