"""Whether a recorded call can be a case: the original is replayed, on all its input sets, and what it does wrong itself is seen.

And whether a neighbour of one can: there the original may do wrong only what it does on the case itself.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Optional

import torch

from kernelband_worker.cases import choose, verify
from kernelband_worker.cases.expected import run_original
from kernelband_worker.cases.faults import Faults, others
from kernelband_worker.cases.neighbours import INTERPRETED_BYTES, Change, changeable, changes, made_of, varied
from kernelband_worker.cases.recording import Recording
from kernelband_worker.cases.replay import ReplayCase, open_case
from kernelband_worker.cases.store import Store, StoredCase
from kernelband_worker.cases.stressed import Stressed
from kernelband_worker.cases.zones import LEAST
from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State


def accept(state: State, store: Store, stored: StoredCase, recording: Recording, *, programs: int, notes: List[str]) -> Optional[Faults]:
    """Replay the original, see what it does wrong itself, give up further input sets that don't work. None where it isn't replayable."""
    case = stored.case
    if not case["replayable"]:
        return None
    if ranks() > 1:
        _give_up(case, "it runs on several ranks")
        return None
    room = _free_memory(state) / 2
    if case["memory_bytes"] > room:
        inputs = sum(s.bytes for s in stored.sets[0].storages)
        if case["memory_bytes"] - inputs > room:
            _give_up(case, f"it needs {case['memory_bytes'] >> 20} MiB and half of the free memory is {int(room) >> 20} MiB")
            return None
        stored.sets, case["input_sets"] = stored.sets[:1], 1
        notes.append(f"{case['function']['qualname']} ({case['arguments']}) needs so much memory that it is run on one input set only.")
    replay = _stored(state, store, stored)
    verdict = verify.verify(state, store, replay, recording, programs)
    if verdict.reason is None and _check_drawn(state, stored, verdict, programs):
        replay = _stored(state, store, stored)
        verdict = verify.verify(state, store, replay, recording, programs)
    faults, reason = verdict.faults, verdict.reason
    if reason is None and state.role == "gpu":
        reason = beside(state, store, case, replay, faults=faults, programs=programs)
    if reason is not None:
        store.forget(case["id"])
        state.cases.pop(case["id"], None)
        _give_up(case, reason)
        return None
    case["noise"], case["replay_s"] = faults.noise, verdict.seconds / 2
    case["outputs"], case["aliases"] = [name for name, _ in verdict.outputs], verdict.aliases
    work = verify.work(state, replay)
    if work:
        case["device_us"] = work["device_us"]
        triton = {x["kernel"]["qualname"].rpartition(".")[2] for x in case["launches"]}
        case["other_kernels"] = [name for name, _ in work["kernels"] if name not in triton]
        mine = sum(
            us
            for name, us in work["kernels"]
            if name in {x["kernel"]["qualname"].rpartition(".")[2] for x in case["launches"] if x["target"]}
        )
        total = max(sum(us for _, us in work["kernels"]), 1e-9)
        case["target_share"] = mine / total
        case["shares"] = {name: sum(us for found, us in work["kernels"] if found == name) / total for name in sorted(triton)}
    _stored(state, store, stored)
    return faults


def _stored(state: State, store: Store, stored: StoredCase) -> ReplayCase:
    """The case as it is now, for every executor of the run, this one too."""
    store.save(stored)
    state.cases.pop(stored.case["id"], None)
    return open_case(state, stored.case["id"])


def beside(state: State, store: Store, case: Dict[str, Any], replay: ReplayCase, *, faults: Faults, programs: int) -> Optional[str]:
    """See between zones what the interpreter sees elsewhere: what the original writes beside its tensors, and which results hang on what it
    reads there. Both go into ``faults``, and that some hang into the case, which is called between zones from then on.

    Why the case can't be used, None where it can.
    """
    try:
        found = run_original(state, Stressed(state, store, replay, "between zones", zone_bytes=LEAST), 0, programs)
    except (torch.cuda.OutOfMemoryError, OperationFailed):  # it takes its tensors only as they are
        return None
    faults.strays = found.faults.strays
    for name, (count, total) in found.faults.unwritten.items():
        if count > faults.unwritten.get(name, (0, total))[0]:
            faults.hanging[name] = (count, total)
            if count == total:
                return f"all of {name} depends on what it reads outside of its tensors"
    case["beside"] = bool(faults.hanging or found.restless)
    return None


def neighbours(
    state: State, store: Store, stored: List[StoredCase], seconds: float, *, programs: int, own: Dict[str, Faults]
) -> List[StoredCase]:
    """Up to four neighbours of each of the heaviest replayable cases, made and tried within ``seconds``. ``own``: the original's faults on
    each case.

    Without a GPU of the lightest one: it is the sizes that matter to a mask, and interpreting takes its time.
    """
    deadline = time.monotonic() + seconds
    made: List[StoredCase] = []
    usable = [s for s in stored if s.case["replayable"] and changeable(s)]
    usable.sort(key=lambda s: -choose.weight(s.case))
    if state.role == "cpu":
        usable = [one for one in usable[-1:] if one.case["memory_bytes"] <= INTERPRETED_BYTES]
    for one in usable:
        for label, change in changes(one.case):
            if time.monotonic() > deadline or len(made) >= choose.CHECK_AT_MOST - len(stored):
                return made
            neighbour = _neighbour(state, store, one, label, change=change, programs=programs, own=own[one.case["id"]])
            if neighbour is not None:
                made.append(neighbour)
    return made


def _neighbour(
    state: State, store: Store, origin: StoredCase, label: str, *, change: Change, programs: int, own: Faults
) -> Optional[StoredCase]:
    """A case like that one, changed; None where the original doesn't run, leaves something unwritten, or leaves its tensors, unless it does
    so on the case itself.
    """
    dumped = varied(state, store, origin, change)
    if dumped is None:
        return None
    made = made_of(store, origin, label, dumped, origin.case["tensors"])
    case = made.case
    store.save(made)
    replay = open_case(state, case["id"])
    verdict = verify.verify(state, store, replay, None, programs)
    reason = verdict.reason
    if reason is None and state.role == "gpu":  # where two programs write the same element, either may be the last
        reason = beside(state, store, case, replay, faults=verdict.faults, programs=programs)
    more = others(verdict.faults, own, same_sizes=False) or set(verdict.faults.hanging) - set(own.hanging)
    if reason is not None or more or not verify.finite(verdict.outputs):
        store.forget(case["id"])
        state.cases.pop(case["id"], None)
        return None
    case["noise"], case["replay_s"] = verdict.faults.noise, verdict.seconds / 2
    store.save(made)
    state.cases.pop(case["id"], None)
    return made


def _check_drawn(state: State, stored: StoredCase, verdict: verify.Verdict, programs: int) -> bool:
    """Input sets with drawn tensors must run and stay finite where the recorded one did; else they are given up.

    Whether the original writes inputs there that it seemed to leave alone: they held what it writes. From now on they are outputs.
    """
    kept, written = stored.sets[:1], set(stored.mutated)
    for number in range(1, len(stored.sets)):
        record = stored.sets[number]
        if any(s.fit for s in record.storages):
            replay = open_case(state, stored.case["id"])
            prepared = replay.inputs(number)
            try:
                outputs, _ = verify.run(state, replay, prepared, None, first=False, programs=programs)
            except Exception:  # noqa: BLE001, S112 - the user's function refuses drawn data: that set is not used
                continue
            if verify.finite(verdict.outputs) and not verify.finite(outputs):
                continue
            changed = replay.changed(prepared)
            written |= {t["storage"] for t in stored.case["tensors"] if t["name"] in changed}
        kept.append(record)
    if len(kept) != len(stored.sets):
        stored.sets = kept
        stored.case["input_sets"] = len(kept)
    more = len(written) > len(stored.mutated)
    stored.mutated = sorted(written)
    for tensor in stored.case["tensors"]:
        tensor["mutated"] = tensor["storage"] in written
    return more


def _give_up(case: Dict[str, Any], reason: str) -> None:
    case["replayable"], case["reason"] = False, reason


def ranks() -> int:
    """How many processes work together here."""
    distributed = torch.distributed
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def _free_memory(state: State) -> float:
    if state.role == "gpu":
        return float(torch.cuda.mem_get_info()[0])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):  # not on every platform
        return 4.0 * 2**30
