"""``verify --fail-on``: an exit code for what came out, where a program reads it and no person."""

from __future__ import annotations

from pathlib import Path

from kernelband.cli.failure import say
from kernelband.errors import HardwareError
from kernelband.history import Store, runs, trials
from kernelband.history.outcome import MEASURED, PREDICTED, Outcome, of_final, outcome

FAILED = 12
FAIL_ON = ("wrong", "slower", "not-faster")  # each also where one before it is so


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
    with Store.read(db) as store:
        row = runs.find(store, run)
        final = next(iter(trials.finals(store, row.id)), None)
        found = standing(of_final(final) if final is not None else outcome(trials.trials(store, row.id)[0]))
    if found is None or FAIL_ON.index(found) > FAIL_ON.index(fail_on):
        return 0
    say(f"Fails, as --fail-on {fail_on} asks: the edit is {found.replace('-', ' ')}.")
    return FAILED


def standing(found: Outcome) -> str | None:
    """The first word of ``FAIL_ON`` that holds; None of what is verified, or right and not measured."""
    if found is Outcome.VERIFIED or found in PREDICTED:
        return None
    if found in (*MEASURED, Outcome.EQUAL):
        return "slower" if found is Outcome.SLOWER else "not-faster"
    return "wrong"
