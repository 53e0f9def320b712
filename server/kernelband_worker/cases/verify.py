"""Is a recorded case replayable? The original is replayed twice and compared with the recording."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from kernelband_worker.cases import effects
from kernelband_worker.cases.faults import Faults, finding, placed
from kernelband_worker.cases.following import followed, unfollowed
from kernelband_worker.cases.recording import Recording
from kernelband_worker.cases.replay import Prepared, ReplayCase
from kernelband_worker.cases.store import Store, values_of
from kernelband_worker.launches import observe
from kernelband_worker.measure.activity import device_profile
from kernelband_worker.state import State

Handler = Callable[[Any], None]


def _nobody(event: Any) -> None:
    """Launches are of no interest."""


@dataclass
class Verdict:
    """``reason``: why it isn't replayable."""

    reason: Optional[str] = None
    faults: Faults = field(default_factory=Faults)
    outputs: List[Tuple[str, torch.Tensor]] = field(default_factory=list)  # what it writes of them
    aliases: Dict[str, Optional[str]] = field(default_factory=dict)
    seconds: float = 0.0  # that the two runs took, with what is done around them


def run(
    state: State, replay: ReplayCase, prepared: Prepared, variant: Optional[str], *, first: bool, programs: int, handler: Handler = _nobody
) -> Tuple[List[Tuple[str, torch.Tensor]], Any]:
    """One call from restored inputs, fresh memory poisoned; its outputs (live tensors) and what it returned."""
    zones = prepared.zones
    with followed(state):
        replay.restore(prepared)
        if zones is not None:
            zones.begin(first)
        with observe(state, handler, programs=programs, configs=replay.choices(variant)), effects.Poison(first, zones):
            returned = replay.call(variant, prepared)
    if zones is not None:
        zones.look()
    return replay.outputs(prepared, returned), returned


def unknown(state: State, tensor: torch.Tensor) -> torch.Tensor:
    """Mask of the elements that no sampled program wrote (role cpu); nothing elsewhere."""
    if state.role == "cpu":
        from kernelband_worker.cpu.machine import machine_of

        mask = machine_of(state).memory.unknown(tensor)
        if mask is not None:
            return mask.to(torch.bool)
    return torch.zeros(tensor.shape, dtype=torch.bool, device=tensor.device)


def verify(state: State, store: Store, replay: ReplayCase, recording: Optional[Recording], programs: int) -> Verdict:
    """Replay the original twice on the first input set; compare with each other and with the recording, if there is one."""
    with unfollowed(state):
        return _verify(state, store, replay, recording, programs)


def _verify(state: State, store: Store, replay: ReplayCase, recording: Optional[Recording], programs: int) -> Verdict:
    begin = time.monotonic()
    prepared = replay.inputs(0)
    try:
        with finding(state) as found:
            live, _ = run(state, replay, prepared, None, first=True, programs=programs)
            first = [(n, t.detach().clone(), unknown(state, t)) for n, t in live]
            assert prepared.last is not None
            aliases = effects.aliases(live, [(t["name"], x) for t, x in zip(replay.case["tensors"], prepared.last.tensors)])
            second = [(n, t.detach().clone()) for n, t in run(state, replay, prepared, None, first=False, programs=programs)[0]]
    except torch.cuda.OutOfMemoryError:
        return Verdict("there is not enough memory to replay it")
    except Exception as error:  # noqa: BLE001 - the user's function may raise anything
        said = str(error).strip().splitlines()
        return Verdict(f"its replay raises {type(error).__name__}{': ' + said[0][:200] if said else ''}")
    verdict = Verdict(aliases=aliases, seconds=time.monotonic() - begin)
    faults = verdict.faults
    faults.out_of_bounds, faults.outside = placed(found, replay, prepared), replay.outside(prepared)
    if [n for n, _, _ in first] != [n for n, _ in second]:
        verdict.reason = "two replays have different outputs" + _state(recording)
        return verdict
    if recording is not None and not _as_recorded([n for n, _, _ in first], recording):
        verdict.reason = "its replay has other outputs than the recorded call" + _state(recording)
        return verdict
    for (name, a, hidden), (_, b) in zip(first, second):
        ignore = effects.unwritten(a, b) | hidden if a.shape == b.shape and a.dtype == b.dtype else hidden
        empty = ignore & ~hidden
        if bool(empty.any()):
            faults.unwritten[name] = (int(empty.sum()), a.numel())
        noise = effects.difference(a, b, ignore)
        if noise > effects.rounding(a.dtype):
            verdict.reason = f"two replays differ in {name}" + _state(recording)
            return verdict
        if recording is not None:
            recorded = _recorded(store, recording, name).to(a.device)
            apart = effects.difference(recorded, a, ignore) if recorded.shape == a.shape else float("inf")
            if apart > effects.rounding(a.dtype):
                verdict.reason = f"its replay differs from the recorded call in {name}" + _state(recording)
                return verdict
            noise = max(noise, apart)
        faults.noise = max(faults.noise, noise)
        verdict.outputs.append((name, effects.pick(a, ~empty) if name in faults.unwritten else a))
    changed = replay.changed(prepared)
    if changed:
        verdict.reason = f"its replay writes {changed[0]}, which the recorded call did not"
    return verdict


def _state(recording: Optional[Recording]) -> str:
    if recording is None:
        return ""
    if recording.changed_globals:
        names = ", ".join(recording.changed_globals[:3])
        return f": it keeps state between calls (the call changes {names} of {recording.function['module']})"
    return ": it keeps state between calls, or reads what was not recorded"


def _as_recorded(names: List[str], recording: Recording) -> bool:
    """Whether outputs are those of the recorded call. It may have left an argument as it was that it writes on other input sets."""
    recorded = [n for n, _, _ in recording.outputs]
    left = {f"{f['name']} (mutated)" for f in recording.facts if f["storage"] not in recording.mutated}
    return [n for n in names if n not in left] == recorded


def _recorded(store: Store, recording: Recording, name: str) -> torch.Tensor:
    """What an output held after the recorded call."""
    for recorded, digest, how in recording.outputs:
        if recorded == name:
            dtype = getattr(torch, how["dtype"])
            return store.get_tensor(digest, math.prod(how["shape"]) * dtype.itemsize).view(dtype).reshape(how["shape"])
    assert recording.tree is not None
    left = next(f for f in recording.facts if f"{f['name']} (mutated)" == name)
    return values_of(store, recording.tree.storages[left["storage"]], left)


def finite(outputs: List[Tuple[str, torch.Tensor]]) -> bool:
    """Whether every float output is finite."""
    return all(bool(torch.isfinite(effects.widen(t)).all()) for _, t in outputs if t.dtype.is_floating_point)


def work(state: State, replay: ReplayCase) -> Dict[str, Any]:
    """Role gpu: device work of one warm call by the profiler: {"device_us", "kernels": [(name, microseconds)]}; empty elsewhere."""
    if state.role != "gpu":
        return {}
    prepared = replay.inputs(0)
    for _ in range(2):
        replay.restore(prepared)
        replay.call(None, prepared)
    replay.restore(prepared)
    torch.cuda.synchronize()
    with device_profile() as profile:
        replay.call(None, prepared)
        torch.cuda.synchronize()
    found = sorted(
        (e.time_range.start, e.time_range.end, e.name)
        for e in profile.function_events or ()
        if e.device_type == torch.autograd.DeviceType.CUDA
    )
    if not found:
        return {}
    # The sum, not first to last: nothing hides the submission here, so between two short kernels the device waits for the host.
    return {"device_us": sum(end - start for start, end, _ in found), "kernels": [(name, end - start) for start, end, name in found]}
