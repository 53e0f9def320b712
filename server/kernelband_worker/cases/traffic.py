"""Operation traffic: what a variant's launches would move and compute, from a few interpreted programs. Nothing is compared.

For ranking candidates before one is checked. What floats hold decides nothing about what is moved, so tensors of floats are left as they
come from the allocator, which costs no memory.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Dict, List

from kernelband_worker.cases import facts
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.replay import open_case
from kernelband_worker.errors import OperationFailed
from kernelband_worker.launches import observe
from kernelband_worker.state import State

PROGRAMS = 3  # the first, the last and one between


def traffic(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """TrafficParams -> TrafficResult. Role cpu, or compile.

    Raises:
        OperationFailed: a launch or the code around it fails.
    """
    state = _interpreting(state)
    found: Dict[str, List[Dict[str, Any]]] = {}
    end = time.monotonic() + params.get("within_s", float("inf"))
    with unfollowed(state):
        for case in params["cases"]:
            if found and time.monotonic() > end:
                break
            found[case] = _of(state, case, params)
    return {"launches": found}


def _interpreting(state: State) -> State:
    """Of a process that compiles: the one that runs launches in it, with cases of its own, for the other's were opened not to be run."""
    if state.role == "cpu":
        return state
    if "interpreting" not in state.kept:
        state.kept["interpreting"] = replace(state, role="cpu", cases={}, kept={})
    return state.kept["interpreting"]


def _of(state: State, case: str, params: Dict[str, Any]) -> List[Dict[str, Any]]:
    replay = open_case(state, case)
    prepared = replay.inputs(0, blank=True)
    target = next((x["kernel"] for x in replay.case["launches"] if x["target"]), None)
    launches: List[Dict[str, Any]] = []

    def on_launch(event: Any) -> None:
        launches.append(facts.launch_facts(event, target or event.function))

    try:
        with observe(state, on_launch, programs=params.get("programs", PROGRAMS), configs=replay.configs):
            replay.call(params.get("variant"), prepared)
    except OperationFailed:
        raise
    except Exception as error:  # the variant's code may raise anything
        name = replay.case["function"]["qualname"]
        raise OperationFailed(f"{name} fails: {type(error).__name__}: {error}".splitlines()[0], "entry_failed") from error
    return launches
