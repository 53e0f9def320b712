"""Operation ``profile``: what the hardware counters say of the target's launch in a case, else how long that kernel takes by itself.

The launch is written down and repeated by a small process under Nsight Compute (profile_launch.py, profile_replay.py); where that can't
be, torch's profiler times the kernel. Call it with the GPU's lock held: neither is a measurement, and both would disturb one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional, Tuple, cast

import kernelband_worker
from kernelband_worker import system
from kernelband_worker.measure import profile_ncu
from kernelband_worker.measure.activity import device_profile
from kernelband_worker.measure.gpu import memory, require_gpu
from kernelband_worker.state import State
from kernelband_worker.wire import KernelProfile, ProfileParams, ProfileResult

LIMIT_S = 1.5
CALLS = 3  # under torch's profiler, each with a cold cache
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kernelband_worker.measure.profile_replay import main; main()"


def profile(state: State, params: Dict[str, Any]) -> Dict[str, Any]:
    """ProfileParams -> ProfileResult.

    Raises:
        OperationFailed: no GPU, out of memory, or the program fails.
    """
    require_gpu(state)
    wanted = cast("ProfileParams", params)
    start = time.perf_counter()
    with memory(state), tempfile.TemporaryDirectory(prefix="profile-", dir=os.getcwd()) as folder:
        profiles, note, usable = _profiles(state, wanted, Path(folder))
    result: ProfileResult = {"profiles": profiles, "note": note, "usable": usable, "seconds": time.perf_counter() - start}
    return cast("Dict[str, Any]", result)


def _profiles(state: State, wanted: ProfileParams, folder: Path) -> Tuple[List[KernelProfile], Optional[str], bool]:
    from kernelband_worker.cases.expected import kept_inputs
    from kernelband_worker.cases.replay import open_case
    from kernelband_worker.cases.tuned import settle
    from kernelband_worker.measure.replayed import of_the_program, sides

    variant = wanted.get("variant")
    replay: Any = open_case(state, wanted["case"])
    side = sides(replay, kept_inputs(state, replay, 0), variant)["B"]
    try:
        settle(state, variant)
        side.restore()
        side.call()  # compiled and loaded: what is watched comes after
        note, usable, ncu = None, True, wanted.get("ncu")
        if ncu is not None:
            records, why = _records(state, side, folder, _targets(replay.case))
            if not why:
                found, why = _by_ncu(ncu, records, wanted.get("limit_s", LIMIT_S))
                if found:
                    return found, None, True
                usable = False
            note = f"Nsight Compute gave no figures, {why}: headroom comes from the kernel's time and counted bytes instead."
        return _by_torch(state, side, replay.case), note, usable
    except Exception as error:
        known = of_the_program(error, "The original" if variant is None else "The variant")
        if known is None:
            raise
        raise known from error


def _targets(case: Dict[str, Any]) -> List[str]:
    """Qualnames of the kernels that the case is about."""
    return list(dict.fromkeys(x["kernel"]["qualname"] for x in case["launches"] if x["target"]))


# ---------------------------------------------------------------- Nsight Compute


def _records(state: State, side: Any, folder: Path, targets: List[str]) -> Tuple[Dict[str, Path], str]:
    """Folders by kernel with its last launch in one call, and a clause why there is none.

    A variant may have renamed its kernel: then all that it launches.
    """
    import torch

    from kernelband_worker.launches import LaunchEvent, observe
    from kernelband_worker.measure.profile_launch import NotRecordableError, binaries, record

    events: Dict[str, Tuple[LaunchEvent, Any]] = {}
    with binaries() as found:

        def keep(event: LaunchEvent) -> None:
            events[event.function["qualname"]] = (event, found.of(event.kernel))

        with observe(state, keep):
            side.restore()
            kept = side.call()
            torch.cuda.synchronize()
    chosen = {name: events[name] for name in targets if name in events} or events
    records: Dict[str, Path] = {}
    try:
        for number, (name, (event, compiled)) in enumerate(chosen.items()):
            if compiled is None:
                return {}, f"{name} is launched in a way that can't be repeated"
            records[name] = folder / str(number)
            records[name].mkdir()
            record(event, compiled, records[name])
    except NotRecordableError as error:
        return {}, f"since {error}"
    finally:
        del kept
    return (records, "") if records else ({}, "since nothing was launched")


def _by_ncu(ncu: str, records: Dict[str, Path], limit_s: float) -> Tuple[List[KernelProfile], str]:
    """A profile of each record within the limit for all of them; the clause says what went wrong with the first that has none."""
    import torch

    out: List[KernelProfile] = []
    end = time.perf_counter() + limit_s
    asked = profile_ncu.metrics(torch.cuda.get_device_capability())
    torch.cuda.synchronize()
    for name, folder in records.items():
        ran, text = watched(profile_ncu.command(ncu, asked, replaying(folder)), folder, end - time.perf_counter())
        if not ran:
            return out, f"it took longer than {limit_s:g} s"
        table = profile_ncu.read(text)
        if not table:
            return out, profile_ncu.failure(text)
        grid = json.loads((folder / "launch.json").read_text())["grid"]
        out.append(cast("KernelProfile", {"source": "ncu", "kernel": name, "grid": grid, **profile_ncu.facts(table)}))
    return out, ""


def replaying(folder: Path) -> List[str]:
    """What repeats a record: this Python without site packages, and this package from where it was loaded, zip or folder."""
    home = Path(kernelband_worker.__file__ or "").parent.parent
    return [sys.executable, "-I", "-S", "-B", "-c", _START, str(home), str(folder)]


def watched(command: List[str], folder: Path, limit_s: float) -> Tuple[bool, str]:
    """Whether a command ended within the limit, and everything that it printed. It is killed with its group when it didn't."""
    # The profiler's lock file is in TMPDIR: profilers of other GPUs don't wait for each other when each has its own.
    environment = {**os.environ, "TMPDIR": str(folder)}
    try:
        process: Any = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            encoding="utf-8",
            errors="replace",
            **system.new_group(),
        )
    except OSError as error:
        return True, f"==ERROR== {error}"
    try:
        text, _ = process.communicate(timeout=max(0.1, limit_s))
    except subprocess.TimeoutExpired:
        system.kill_group(process)
        process.communicate()
        return False, ""
    return True, text


# ---------------------------------------------------------------- torch's profiler


def _by_torch(state: State, side: Any, case: Dict[str, Any]) -> List[KernelProfile]:
    """Median duration of each target kernel by itself, summed over its launches in a call; none where no kernel has its name."""
    import torch
    from torch.autograd import DeviceType

    from kernelband_worker.measure.time import workbench

    device = workbench(state).device
    targets = {name.rpartition(".")[2]: name for name in _targets(case)}
    spent: Dict[str, List[float]] = {}
    for _ in range(CALLS):
        side.restore()
        device.flush()
        torch.cuda.synchronize()
        with device_profile() as profiler:
            side.call()
            torch.cuda.synchronize()
        call: Dict[str, float] = {}
        for event in profiler.function_events or []:
            if event.device_type == DeviceType.CUDA and event.name in targets:
                call[event.name] = call.get(event.name, 0.0) + event.time_range.elapsed_us()
        for name, us in call.items():
            spent.setdefault(name, []).append(us)
    return [cast("KernelProfile", {"source": "profiler", "kernel": targets[name], "us": median(us)}) for name, us in spent.items()]
