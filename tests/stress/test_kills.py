"""Kills (-9) at seeded random times in every phase: at most the trial in flight is lost, and nobody is left.

Phases ``measure`` and ``final`` exist only where there is a GPU; which ones were covered is printed. The short form is
tests/e2e/test_optimize_kills.py, this is the long one: ``make stress`` ($KERNELBAND_KILLS kills, 100 by default;
$KERNELBAND_PHASES, a list with commas, keeps to some phases).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.stress.kills import Kill, kill_once

EVERYWHERE = ("capture", "compile", "check", "commit")
WITH_GPU = ("capture", "compile", "measure", "commit", "final")
#: Of a size that a GPU can do faster, so that every run there has something to verify: 64 elements a program are too few.
BENCH = """

def bench():
    scale(torch.randn(1 << 24, device="cuda"))
"""


@pytest.fixture(scope="module")
def phases(worker_python: str) -> tuple[str, ...]:
    """Those that this machine's runs have."""
    code = "import torch; print(torch.cuda.is_available())"
    there = subprocess.run([worker_python, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout.strip() == "True"
    wanted = os.environ.get("KERNELBAND_PHASES")
    return tuple(p for p in (WITH_GPU if there else EVERYWHERE) if not wanted or p in wanted.split(","))


def kills(tmp_path: Path, python: str, phases: tuple[str, ...], count: int, seed: int) -> list[Kill]:
    """``count`` kills, the phases in turn."""
    rng = random.Random(seed)
    found: list[Kill] = []
    for number in range(count):
        phase = phases[number % len(phases)]
        home = Home(tmp_path / str(number), python)
        if {"measure", "final"} & set(phases):
            home.file.write_text(home.file.read_text() + BENCH)
        try:
            found.append(kill_once(home, number, phase, rng, ("--trials", "3", "--python", python)))
        except AssertionError as error:
            raise AssertionError(f"kill {number} (seed {seed}, phase {phase}): {error}") from error
        last = found[-1]
        print(
            f"kill {number}: {last.victim} in {phase} after {last.delay:.3f} s, {last.trials_before} trials kept, then {last.state_after}"
        )
    covered = Counter(k.phase for k in found)
    print(f"covered: {dict(covered)}; victims: {dict(Counter(k.victim for k in found))}; not on this machine: {missing(phases)}")
    return found


def missing(phases: tuple[str, ...]) -> list[str]:
    return [p for p in dict.fromkeys((*EVERYWHERE, *WITH_GPU)) if p not in phases]


@pytest.mark.stress
@pytest.mark.timeout(7200)
def test_a_hundred_kills(tmp_path: Path, worker_python: str, phases: tuple[str, ...]) -> None:
    count = int(os.environ.get("KERNELBAND_KILLS", "100"))
    found = kills(tmp_path, worker_python, phases, count, seed=int(os.environ.get("KERNELBAND_SEED", "1")))
    if count >= 10 * len(phases):
        assert all(n >= 10 for n in Counter(k.phase for k in found).values())
    sys.stdout.flush()
