"""Operation ``hide``: the stresses of a final as cases that are called among those that are timed, where nothing tells them from those.

A check runs with a profiler, poisoned memory and the original beside the variant: what notices any of that can be right just there. So what
the original accepts of a check's stress goes into the store as cases of their own, made by a process that never loads a variant. A finalist
calls them in its turns, and the referee compares what it gets.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, cast

from kernelband_worker.cases.capture import PROGRAMS
from kernelband_worker.cases.expected import shelf_of
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.store import HIDDEN, StoredCase, open_store
from kernelband_worker.cases.stress import Stress, smallest, stresses
from kernelband_worker.cases.stressed import Resized, Stressed
from kernelband_worker.cases.tensors import NotReplayable
from kernelband_worker.state import State
from kernelband_worker.wire import HiddenCase, HideParams


def hide(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """HideParams -> HideResult.

    Raises:
        OperationFailed: no such case, out of memory, or the original fails.
    """
    wanted = cast("HideParams", params)
    store, programs = open_store(state), params.get("programs", PROGRAMS)
    found: List[HiddenCase] = []
    with unfollowed(state):
        replays = [open_case(state, case_id) for case_id in wanted["cases"]]
        for replay in smallest(replays):
            for stress in stresses(state, replay, replays, shelf_of(state), programs):
                made = _hidden(replay, stress)
                if made is not None:
                    store.save(made)
                    found.append({"id": made.case["id"], "case": stress.case, "name": stress.name})
    return {"cases": found}


def _hidden(origin: ReplayCase, stress: Stress) -> Optional[StoredCase]:
    """None for what is no other call than those that are timed, what can't be stored, and new sizes of what is tuned for each."""
    tuned = any(launch["config"] is not None for launch in origin.case["launches"])
    label = f"hidden, {stress.name}"
    if isinstance(stress.replay, Stressed) and stress.replay.differs:
        try:
            made = stress.replay.as_case(label)
        except NotReplayable:
            return None
    elif isinstance(stress.replay, Resized) and not tuned:
        made = stress.replay.as_case(label)
    else:
        return None
    made.case["role"] = HIDDEN
    return made
