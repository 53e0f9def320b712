"""The executor of a rehearsal: the real operations on the interpreter, on the host's clock. Runs in the worker.

A session's id names one defence that is switched off, so that a test can show which cheat it is there for; or none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelband_worker import compare, executor
from kernelband_worker.cases import effects, faults, hidden, neighbours, stress
from kernelband_worker.cases.replay import ReplayCase
from kernelband_worker.measure import bound, contents
from kernelband_worker.measure import prepare as preparing
from kernelband_worker.measure import referee as refereeing
from kernelband_worker.measure import turn as turning
from kernelband_worker.state import State

#: However slow the machine is, all stress is tried.
stress._SECONDS = 1e6


def main() -> None:
    """As kernelband_worker.executor.main; what the final asks for finds a bench that measures without a GPU."""
    own = {name: f"rehearsal:{name}" for name in ("prepare", "survey", "turn", "reveal", "referee", "check", "hide")}
    executor.main({**executor.OPERATIONS, **own})


def prepare(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return preparing.prepare(_ready(state), params)


def survey(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return turning.survey(_ready(state), params)


def turn(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return turning.turn(_ready(state), params)


def reveal(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return turning.reveal(_ready(state), params)


def referee(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return refereeing.referee(_ready(state), params)


def check(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """All programs are interpreted, so that "passed" may be said of what passes."""
    return {**compare.check(_ready(state), {**params, "programs": 0}), "interpreted": False}


def hide(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return hidden.hide(_ready(state), {**params, "programs": 0})


def _ready(state: State) -> State:
    """With a bench; the final calls here before any of the program is imported."""
    import host  # tests/unit_worker/measure/host.py

    if "time" not in state.kept:
        state.kept["time"] = host.bench()
        assert state.session is not None
        WITHOUT[state.session["id"]]()
    return state


# ------------------------------------------------------------ without one of the defences


def _replaced(*swaps: tuple[Any, str, Any]) -> Callable[[], None]:
    def replace() -> None:
        for owner, name, stand_in in swaps:
            setattr(owner, name, stand_in)

    return replace


WITHOUT: dict[str, Callable[[], None]] = {
    "": _replaced(),
    "several buffers": _replaced((contents, "MOST_BUFFERS", 1)),
    "threads": _replaced((bound, "threads", lambda: 0)),
    "poison": _replaced((effects, "fill", lambda tensor, first: tensor.zero_())),
    "sizes": _replaced((neighbours, "further_changes", lambda case, *, gpu, largest: ())),
    "bounds": _replaced(
        (faults, "beyond", lambda mine, own: []),
        (compare, "beyond", lambda mine, own: []),
        (ReplayCase, "outside", lambda self, prepared: {}),
    ),
    "inputs left alone": _replaced((ReplayCase, "changed", lambda self, prepared: [])),
}
