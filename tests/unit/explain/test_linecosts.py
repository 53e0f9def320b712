"""Shares of bytes and of machine code by line."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kernelband.explain.linecosts import LineCost, in_words, line_costs
from tests.unit.hardware.conftest import make_work


def facts(**lines: int) -> Any:
    return {**make_work().facts, "lines": [{"path": "k.py", "line": int(n[1:]), "instructions": count} for n, count in lines.items()]}


def launch(*moved: tuple[int, str, int]) -> Any:
    return {"lines": [{"path": "k.py", "line": line, "kind": kind, "moved_bytes": bytes_} for line, kind, bytes_ in moved]}


def test_loads_and_stores_of_a_line_count_together_and_the_most_bytes_come_first() -> None:
    found = line_costs(facts(l5=30, l6=60, l9=10), launch((5, "load", 100), (9, "load", 200), (9, "store", 100)))
    assert found == (LineCost("k.py", 9, 0.75, 0.1), LineCost("k.py", 5, 0.25, 0.3), LineCost("k.py", 6, 0.0, 0.6))


def test_what_was_not_counted_is_unknown() -> None:
    assert line_costs(facts(), launch((5, "load", 100))) == (LineCost("k.py", 5, 1.0, None),)
    assert line_costs(facts(l5=3), None) == (LineCost("k.py", 5, None, 1.0),)
    assert line_costs(make_work().facts, launch()) == ()  # of a run that knew no lines


def test_lines_of_little_of_both_are_left_out() -> None:
    assert [cost.line for cost in line_costs(facts(l5=990, l6=10), launch((5, "load", 1)))] == [5]


def test_a_share_that_is_next_to_nothing_is_not_said() -> None:
    assert in_words(LineCost("k.py", 5, 0.01, 0.5)) == "50 % of the instructions"
    assert in_words(LineCost("k.py", 5, 0.6, 0.2)) == "60 % of the bytes, 20 % of the instructions"
    assert in_words(LineCost("k.py", 5, 0.6, None)) == "60 % of the bytes"


@given(st.dictionaries(st.integers(1, 50), st.integers(0, 10**12)), st.dictionaries(st.integers(1, 50), st.integers(0, 10**6)))
def test_shares_are_parts_of_one(moved: dict[int, int], code: dict[int, int]) -> None:
    found = line_costs(facts(**{f"l{n}": count for n, count in code.items()}), launch(*((n, "load", count) for n, count in moved.items())))
    for shares in ([cost.bytes for cost in found], [cost.instructions for cost in found]):
        known = [share for share in shares if share is not None]
        assert len(known) in (0, len(found))
        assert all(0 <= share <= 1 for share in known)
        assert sum(known) <= 1 + 1e-9
