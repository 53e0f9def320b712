"""A case is replayed twice before it counts: what differs from the recorded call, or from itself, is refused with the reason."""

from __future__ import annotations

import pytest

HOSTS = """

import itertools
import os

COUNT = itertools.count(1)
os.environ["CALLED"] = ""


def first():
    called, os.environ["CALLED"] = os.environ["CALLED"], "yes"
    return not called


def by_state(x):
    return scale(x * 3 if first() else x)


def by_count(x):
    return scale(x * next(COUNT))


def while_open(x):
    if not first():
        raise RuntimeError("closed")
    return scale(x)


def as_many(x):
    return (scale(x), x + 1) if first() else scale(x)


"""
ENTRY = """
def test_it():
    HOST(torch.ones(100, device="cuda"))
"""
STATE = ": it keeps state between calls, or reads what was not recorded"
REASONS = {
    "by_state": f"its replay differs from the recorded call in return{STATE}",
    "by_count": f"two replays differ in return{STATE}",
    "while_open": "its replay raises RuntimeError: closed",
    "as_many": f"its replay has other outputs than the recorded call{STATE}",
}


@pytest.mark.parametrize("host", REASONS)
def test_what_cannot_be_repeated_is_no_case(make, host):
    run = make({"hosts.py": make().served.files["plain_function.py"] + HOSTS + ENTRY.replace("HOST", host)})
    cases = run.capture("hosts", "scale_kernel", [host], "test_it", neighbours=False)
    assert [(c["function"]["qualname"], c["replayable"], c["reason"]) for c in cases] == [(host, False, REASONS[host])]
