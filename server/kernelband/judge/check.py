"""Checking a candidate on cases: the operation, in groups of cases that have the same number of input sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import cast

from kernelband.judge.protocol import Candidate, Case, Executor, Settings, check_deadline, interpreted_deadline
from kernelband_worker.wire import CheckParams, CheckResult

#: Comparisons of a case under stress, at most.
STRESSES = 40
#: Seconds for what they compile or interpret, on a busy machine.
STRESS_S = 300.0


def check(
    executor: Executor,
    candidate: Candidate,
    cases: Sequence[Case],
    *,
    sets: int | None,
    settings: Settings,
    lock: str | None = None,
    shared: bool = False,
    programs: Callable[[Case], int] | None = None,  # of each launch of a case, by the interpreter
    stress: bool = False,
) -> CheckResult:
    """Compares a candidate with the original on the first ``sets`` input sets of each case (None: on all that it has).

    ``stress``: recorded cases that pass are compared on other values, numbers and sizes, too, as a finalist's are.

    Stops at the first group that shows it wrong. A function counts as exercised when any group exercised it.

    Raises:
        ExecutorFault: the executor timed out, died or ran out of memory.
        KernelBandError: the operation failed.
    """

    def count(case: Case) -> tuple[int, int]:
        used = max(1, case["input_sets"] if sets is None else min(sets, case["input_sets"]))
        return used, -programs(case) if programs is not None else 0  # what is looked at most closely comes first

    whole: CheckResult | None = None
    for (used, sampled), group in groupby(sorted(cases, key=count), key=count):
        members = list(group)
        params: CheckParams = {
            "variant": candidate.variant,
            "cases": [c["id"] for c in members],
            "input_sets": list(range(used)),
            "numerics": candidate.numerics,
        }
        if programs is not None:
            params["programs"] = -sampled
        if stress:
            params["stress"] = True
        deadline = check_deadline(members, used, settings) if programs is None else interpreted_deadline(members, settings)
        if stress:
            recorded = [c for c in members if c.get("neighbour_of") is None]
            deadline += (STRESS_S + check_deadline(recorded, STRESSES, settings)) if recorded else 0.0
        part = cast("CheckResult", executor.call("check", params, deadline, lock, shared=shared))
        whole = part if whole is None else _merged(whole, part)
        if part["out_of_bounds"] or not all(c["ok"] for c in part["cases"]):
            break
    return whole or {"cases": [], "not_exercised": [], "interpreted": False, "out_of_bounds": [], "seconds": 0.0}


def _merged(first: CheckResult, second: CheckResult) -> CheckResult:
    return {
        "cases": first["cases"] + second["cases"],
        "stress": first.get("stress", []) + second.get("stress", []),
        "not_exercised": [name for name in first["not_exercised"] if name in second["not_exercised"]],
        "interpreted": first["interpreted"] or second["interpreted"],
        "out_of_bounds": first["out_of_bounds"] + second["out_of_bounds"],
        "seconds": first["seconds"] + second["seconds"],
    }
