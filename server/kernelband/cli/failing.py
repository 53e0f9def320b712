"""``verify --fail-on``: an exit code for what came out, where a program reads it and no person."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelband.cli.failure import say
from kernelband.errors import HardwareError

FAILED = 12
FAIL_ON = ("wrong", "slower", "not-faster")  # each also where one before it is so
REFUSED = ("wrong", "nondeterministic", "untested")


def require_known(fail_on: str | None, *, measured: bool) -> None:
    """Refuse to promise what nobody can know without a GPU.

    Raises:
        HardwareError: nothing is measured, and a time is asked for.
    """
    if fail_on in ("slower", "not-faster") and not measured:
        raise HardwareError(
            f"--fail-on {fail_on} needs a GPU to measure on, and none is available, or another one is named: "
            "without one only --fail-on wrong can be known."
        )


def failed(db: Path, run: str, fail_on: str | None) -> int:
    """The exit code of a run that judged one edit; what it failed on is said."""
    if fail_on is None:
        return 0
    from kernelband.history import Store, runs, trials

    with Store.read(db) as store:
        row = runs.find(store, run)
        final = next(iter(trials.finals(store, row.id)), None)
        result = final.result if final is not None else trials.trials(store, row.id)[0].result
        found = standing(result, measured=row.mode == "measured", verified=final is not None and final.verified)
    if found is None or FAIL_ON.index(found) > FAIL_ON.index(fail_on):
        return 0
    say(f"Fails, as --fail-on {fail_on} asks: the edit is {found.replace('-', ' ')}.")
    return FAILED


def standing(result: Mapping[str, Any], *, measured: bool, verified: bool) -> str | None:
    """The first word of ``FAIL_ON`` that holds of a result, as its row has it; None of one that is verified, or right and not measured."""
    if result["fault"] != "none" or result["integrity"] != "ok":
        return "wrong"
    if result["correctness"] in REFUSED and result["performance"] != "equal":
        return "wrong"
    if verified or not measured:
        return None
    return "slower" if result["performance"] == "slower" else "not-faster"
