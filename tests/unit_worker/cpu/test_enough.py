"""How many programs of a launch are interpreted when they take long, and when their counts speak for the grid."""

from __future__ import annotations

import pytest

from kernelband_worker.cpu.machine import _enough
from kernelband_worker.cpu.traffic import Counter


def counter(*programs, total=100, effort=0.0):
    """A counter after programs that moved so many bytes: the first, then the last, then others."""
    made = Counter()
    made.detailed = False
    for number, moved in enumerate(programs):
        made.loads += moved
        made.program_done(end=number < 2)
    made._steps = effort
    return made


@pytest.mark.parametrize(
    ("programs", "asked", "effort", "enough"),
    [
        ((8, 8, 8), 64, 9000.0, False),  # for checking, four at least
        ((8, 8, 8, 8), 64, 9000.0, True),
        ((8, 8, 8, 8), 64, 1000.0, False),
        ((8,), 3, 9000.0, False),  # for counting, one of each end
        ((8, 8), 3, 9000.0, True),
        ((8, 800), 3, 9000.0, False),  # that agree: else one between them is asked
        ((8, 8), 3, 1000.0, False),
        ((8, 8, 8, 8), 0, 9000.0, False),  # all were asked for: no effort is too much
    ],
)
def test_enough(programs, asked, effort, enough):
    assert _enough(len(programs), asked, counter(*programs, effort=effort)) == enough


@pytest.mark.parametrize(
    ("programs", "total", "even"),
    [
        ((100, 100, 100), 1000, True),
        ((100, 7, 100), 1000, True),  # the last one is at the edge
        ((10, 100, 100), 1000, False),  # the longer the later, as in causal attention
        ((100, 10, 50), 1000, False),
        ((100, 10), 1000, False),  # nobody asked one between them
        ((100, 95), 1000, True),
        ((10, 100, 55), 3, True),  # all there are
        (tuple(range(1, 33)), 1000, True),  # many, spread over the grid
    ],
)
def test_counts_of_few_programs_that_differ_are_a_guess(programs, total, even):
    assert counter(*programs).result(len(programs), total, []).even == even
