"""One ladder of outcomes: what speaks against a variant comes before what speaks for it, and each rung has a word."""

from __future__ import annotations

from typing import get_args

import pytest
from attrs import asdict

from kernelband.hardware.forecast import Tier
from kernelband.history.outcome import FAULTS, TIERS, Outcome, outcome, outcome_in
from kernelband.judge.result import Correctness, Fault, Integrity, Performance, Result
from kernelband.search._base import CORRECT, FAILED, FREE


@pytest.mark.parametrize(
    ("result", "tier", "found"),
    [
        (Result("passed", "faster"), None, Outcome.FASTER),
        (Result("passed", "faster", integrity="suspect"), None, Outcome.SUSPECT),
        (Result("wrong", "faster", integrity="suspect"), None, Outcome.WRONG),
        (Result("nondeterministic"), None, Outcome.NONDETERMINISTIC),
        (Result("passed", fault="timeout"), None, Outcome.TIMEOUT),
        (Result("untested", "equal"), "likely faster", Outcome.EQUAL),
        (Result("untested"), "likely faster", Outcome.UNTESTED),
        (Result("untested", "faster", integrity="suspect"), None, Outcome.SUSPECT),
        (Result("interpreted"), "likely slower", Outcome.LIKELY_SLOWER),
        (Result("interpreted"), None, Outcome.UNCLEAR),
        (Result("interpreted", fault="oom"), "likely faster", Outcome.OOM),
    ],
)
def test_what_is_said_first(result: Result, tier: str | None, found: Outcome) -> None:
    assert outcome(result, tier) is found
    if tier is None:
        assert outcome_in(asdict(result)) is found  # as a row keeps it


def test_every_word_of_the_judge_and_of_the_forecast_has_a_rung() -> None:
    said = {*get_args(Correctness), *get_args(Performance), *get_args(Fault), *get_args(Integrity)} - {
        "passed",
        "interpreted",
        "none",
        "ok",
    }
    assert {o.value for o in Outcome} >= said
    assert {o.value for o in FAULTS} == {*get_args(Fault)} - {"none"}
    assert get_args(Tier) == TIERS


def test_the_log_of_a_run_says_the_same_words() -> None:
    assert {*CORRECT, *FAILED, *FREE} - {o.value for o in Outcome} == {"duplicate", "nothing_left"}
