"""The executor of a rehearsal: the real operations on the interpreter, on the host's clock. Runs in the worker."""

from __future__ import annotations

from typing import Any

from kernelband_worker import compare, executor
from kernelband_worker.measure import prepare as preparing
from kernelband_worker.measure import referee as refereeing
from kernelband_worker.measure import turn as turning
from kernelband_worker.state import State


def main() -> None:
    """As kernelband_worker.executor.main; what the final asks for finds a bench that measures without a GPU."""
    own = {name: f"rehearsal:{name}" for name in ("prepare", "survey", "turn", "reveal", "referee", "check")}
    executor.main({**executor.OPERATIONS, **own})


def _ready(state: State) -> State:
    import host  # tests/unit_worker/measure/host.py

    state.kept.setdefault("time", host.bench())
    return state


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
