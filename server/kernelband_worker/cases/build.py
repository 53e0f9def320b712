"""From recordings of several runs of the entry to stored cases: input sets, data policies, the wire's Case."""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Optional

import torch

from kernelband_worker.cases import facts, policy
from kernelband_worker.cases.recording import Recording
from kernelband_worker.cases.store import StorageRecord, Store, StoredCase, TreeRecord, values_of
from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State
from kernelband_worker.wire import Function


def build(state: State, store: Store, runs: List[Dict[str, Recording]], input_sets: int, *, main: Optional[str]) -> List[StoredCase]:
    """One stored case per recording of the first run; further runs give further input sets."""
    return [
        _case(state, store, recording, [run.get(key) for run in runs[1:]], input_sets=input_sets, main=main)
        for key, recording in sorted(runs[0].items(), key=lambda item: item[1].order)
    ]


def _case(
    state: State, store: Store, first: Recording, later: List[Optional[Recording]], *, input_sets: int, main: Optional[str]
) -> StoredCase:
    case = _wire(state, first)
    if first.tree is None:
        return StoredCase(case=case, sets=[], mutated=[], main=main)
    policies = _policies(store, first, later)
    sets: List[TreeRecord] = [first.tree]
    mutated = set(first.mutated)
    for number in range(1, input_sets):
        recording = later[number - 1] if number - 1 < len(later) else None
        if recording is not None and recording.tree is not None and _fits(first, recording):
            mutated |= set(recording.mutated)
            sets.append(_with_fits(recording.tree, policies))
        elif any(p.get("fit") for p in policies):
            sets.append(_with_fits(first.tree, policies, rederived=False))
    for tensor in case["tensors"]:
        tensor["policy"] = policies[tensor["storage"]]["policy"]
        tensor["mutated"] = tensor["storage"] in mutated
    case["input_sets"] = len(sets)
    return StoredCase(case=case, sets=sets, mutated=sorted(mutated), closure=first.closure, main=main)


def _policies(store: Store, first: Recording, later: List[Optional[Recording]]) -> List[Dict[str, Any]]:
    """By storage: recorded for integers and constants, rederived where the runs differ, else drawn from a fit."""
    assert first.tree is not None
    others = [r.tree for r in later if r is not None and r.tree is not None and _fits(first, r)]
    found: List[Dict[str, Any]] = []
    for number, record in enumerate(first.tree.storages):
        views = [f for f in first.facts if f["storage"] == number]
        if not views or not all(getattr(torch, f["dtype"]).is_floating_point for f in views):
            found.append({"policy": "recorded"})
            continue
        values = values_of(store, record, views[0])
        fit = policy.fit(values)
        if any(tree.storages[number].digest != record.digest for tree in others):
            found.append({"policy": "rederived", "fit": fit})
        elif fit is not None:
            found.append({"policy": "drawn", "fit": fit})
        else:
            found.append({"policy": "recorded"})
    return found


def _fits(first: Recording, other: Recording) -> bool:
    assert first.tree is not None
    assert other.tree is not None
    return [s.bytes for s in first.tree.storages] == [s.bytes for s in other.tree.storages]


def _with_fits(tree: TreeRecord, policies: List[Dict[str, Any]], *, rederived: bool = True) -> TreeRecord:
    """A tree whose drawn storages are drawn; without a rerun to go by, the rederived ones too."""
    drawn = ("drawn",) if rederived else ("drawn", "rederived")
    storages = [
        StorageRecord(s.digest, s.bytes, s.device, p.get("fit") if p["policy"] in drawn else None) for s, p in zip(tree.storages, policies)
    ]
    return TreeRecord(tree.tree, storages, tree.rng, tree.modes)


def _wire(state: State, first: Recording) -> Dict[str, Any]:
    source = source_hash(state, first.function)
    inputs = sum(s.bytes for s in first.tree.storages) if first.tree else 0
    return {
        "id": facts.digest([first.boundary, first.function, source, first.key])[:16],
        "boundary": first.boundary,
        "function": first.function,
        "source_hash": source,
        "call_index": first.order,
        "role": "check",
        "neighbour_of": None,
        "arguments": first.line,
        "tensors": first.facts,
        "constants": first.constants,
        "outputs": [name for name, _, _ in first.outputs],
        "aliases": first.aliases,
        "launches": first.launches,
        "other_kernels": [],
        "calls": first.calls,
        "share": None,
        "compulsory_bytes": facts.compulsory_bytes(first.launches),
        "memory_bytes": 2 * inputs + first.output_bytes,
        "reads_rng": first.reads_rng,
        "input_sets": 1,
        "noise": 0.0,
        "device_us": None,
        "replayable": first.reason is None,
        "reason": first.reason,
        "outer": first.outer,
    }


def source_hash(state: State, function: Function) -> str:
    """Hash of the function's own source text; of the whole module where it has none of its own."""
    place: Function = {**function, "qualname": function["qualname"].partition(".<locals>")[0]}
    try:
        found = state.opened.resolve(None, place)
        while not inspect.isfunction(found) and hasattr(found, "fn"):
            found = found.fn
        return facts.digest(inspect.getsource(inspect.unwrap(found)))
    except (OSError, TypeError, OperationFailed):
        return facts.digest(state.opened.sources.find(function["module"]))
