"""What a check says of a variant: passed, wrong, nondeterministic, or seen by the interpreter only."""

from __future__ import annotations

from kernelband.judge.result import Correctness
from kernelband_worker.wire import CheckResult


def judge_check(check: CheckResult) -> tuple[Correctness, str]:
    """Correctness, and one sentence when it isn't as hoped.

    The comparison, with its tolerances, is the worker's: it holds the tensors, and has taken off what the original does wrong itself. Any
    other access out of bounds is wrong even where outputs agree.
    """
    if check["out_of_bounds"]:
        first = check["out_of_bounds"][0]
        place = f"{first.get('path', '?')}:{first.get('line', '?')}: {first.get('message', '')}"
        return "wrong", f"It reads or writes outside of a tensor, where the original doesn't: {place}"
    if not check["cases"]:
        return "untested", "No case exercised the variant, so nothing is known of its results."
    for case in check["cases"]:
        if not case["ok"] and case["deterministic"] and case.get("comparable", True):
            return "wrong", case[
                "reason"
            ] or f"Its result differs from the original's on case {case['case'][:8]}, input set {case['input_set']}."
    for case in check["cases"]:
        if not case["deterministic"]:
            said = case["reason"] or f"Two runs of it differ by more than two runs of the original on case {case['case'][:8]}."
            return "nondeterministic", said
    for case in check["cases"]:
        if not case.get("comparable", True):
            return "untested", f"Nothing can be said of it: {case['reason']}."
    if check["interpreted"]:
        return "interpreted", "Interpreted: arithmetic and bounds on sampled programs only, not races and not the tensor cores' rounding."
    return "passed", _not_exercised(check)


def _not_exercised(check: CheckResult) -> str:
    names = check["not_exercised"]
    return f"Not exercised by any case: {', '.join(names)}." if names else ""
