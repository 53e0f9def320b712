"""Operation ``hide``: the stresses of a final as cases that are called among those that are timed, where nothing tells them from those.

A check runs with a profiler, poisoned memory and the original beside the variant: what notices any of that can be right just there. So what
the original accepts of a check's stress goes into the store as cases of their own, made by a process that never loads a variant. A finalist
calls them in its turns, and the referee compares what it gets.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, cast

import torch

from kernelband_worker.cases.capture import PROGRAMS
from kernelband_worker.cases.expected import run_original, shelf_of
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.store import HIDDEN, StoredCase, open_store
from kernelband_worker.cases.stress import Stress, smallest, stresses
from kernelband_worker.cases.stressed import Resized, Stressed
from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure import bound
from kernelband_worker.measure.contents import budget
from kernelband_worker.state import State
from kernelband_worker.wire import HiddenCase, HideParams

#: Bytes of a case at most: its inputs lie in the store, once for each stress, and for a moment beside what a turn has on the GPU.
MOST_BYTES = 256 << 20
SHARE = 8  # of what a process may fill with contents, one part at most


def hide(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """HideParams -> HideResult.

    Raises:
        OperationFailed: no such case, out of memory, or the original fails.
    """
    wanted = cast("HideParams", params)
    store, programs = open_store(state), params.get("programs", PROGRAMS)
    most = min(MOST_BYTES, budget(state) // SHARE)
    found: List[Tuple[StoredCase, Stress]] = []
    with unfollowed(state):
        replays = [open_case(state, case_id) for case_id in wanted["cases"]]
        for replay in smallest(replays):
            for stress in stresses(state, replay, replays, shelf_of(state), programs):
                made = _hidden(replay, stress, most, sizes=wanted["sizes"])
                if made is not None:
                    found.append((made, stress))
        kept = [(made, stress) for made, stress in found if _runs(state, made, stress)]
    for made, _ in kept:
        store.save(made)
    cases: List[HiddenCase] = [{"id": made.case["id"], "name": stress.name} for made, stress in kept]
    return {"cases": cases, "threads": bound.threads()}


def _hidden(origin: ReplayCase, stress: Stress, most: int, *, sizes: bool) -> Optional[StoredCase]:
    """None for what is no other call than those that are timed, what can't be stored, and new sizes of what is tuned for each."""
    replay, label = stress.replay, f"hidden, {stress.name}"
    if replay is None or replay.case["memory_bytes"] > most:
        return None
    if isinstance(replay, Stressed) and replay.differs:
        try:
            made = replay.as_case(label)
        except torch.cuda.OutOfMemoryError:
            return None
        except Exception as error:  # objects of the program's may refuse to be stored, in their own ways
            if "CUDA error" in str(error):
                raise
            return None
    elif isinstance(replay, Resized) and sizes and not any(launch["config"] is not None for launch in origin.case["launches"]):
        made = replay.as_case(label)
    else:
        return None
    made.case["role"] = HIDDEN
    return made


def _runs(state: State, made: StoredCase, stress: Stress) -> bool:
    """Whether the original runs on another size without zones around its tensors, too: it may read too far, into what isn't there."""
    if state.role != "gpu" or not isinstance(stress.replay, Resized):
        return True
    plain = ReplayCase(state, open_store(state), made)
    plain.kept, plain.zone_bytes = False, 0
    try:
        run_original(state, plain, 0, PROGRAMS)
        torch.cuda.synchronize()
    except (torch.cuda.OutOfMemoryError, OperationFailed):
        return False
    return True
