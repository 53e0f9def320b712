"""Three hundred random programs: every move that strategies offer for any of them gives what the original gives.

pytest -s -m stress tests/stress/test_soundness.py
KERNELBAND_SEEDS=120:180 pytest -s -m stress tests/stress/test_soundness.py   # goes on where another run has stopped
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.strategies.soundness.programs import generate
from tests.e2e.strategies.soundness.trials import Tally, Worker, examine

EACH = 20  # programs of a test, and of a process


def ranges() -> list[range]:
    """The seeds asked for, in parts."""
    first, _, last = os.environ.get("KERNELBAND_SEEDS", "0:300").partition(":")
    return [range(a, min(a + EACH, int(last))) for a in range(int(first), int(last), EACH)]


@pytest.mark.stress
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seeds", ranges(), ids=lambda r: f"{r.start}-{r.stop - 1}")
def test_moves_of_random_programs(seeds: range, tmp_path: Path, worker_python: str) -> None:
    tally, worker = Tally(), Worker(worker_python)
    try:
        for seed in seeds:
            examine(generate(seed), seed, tmp_path, worker, tally, children=4)
    finally:
        worker.end()
    print(
        f"seeds {seeds.start} to {seeds.stop - 1}: {tally.programs} programs, {tally.proposals} proposals of {len(tally.moves)} moves, "
        f"{tally.tried} of them told apart, {tally.calls} comparisons ({tally.hard} on the unfriendly machine), {len(tally.wrong)} wrong"
    )
    assert [f"{w.seed} ({w.program}) {w.key}: {w.reason}\n{w.text}" for w in tally.wrong] == []
