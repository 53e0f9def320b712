"""What `doctor` looks at: this Python, the worker's, its GPUs, the database. Each probe ends in time and doesn't raise."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from attrs import frozen

from kernelband import __version__
from kernelband.errors import HardwareError, HistoryError, KernelBandError
from kernelband.hardware import from_gpu
from kernelband.history import Store, examine, find_place
from kernelband.worker import Executor, Worker, WorkerCommand
from kernelband_worker.wire import Environment, Gpu

START_S = 15.0  # a worker that answers at all does so in a second; ssh in a few
WORKER_S = 30.0  # with its executor and the import of torch
INTEGRITY_S = 5.0
SEARCH = {"numpy": "numpy", "scikit-learn": "scikit-learn"}
PROFILERS = {"ncu": "Nsight Compute", "nsys": "Nsight Systems"}


@frozen
class Check:
    """One thing that was looked at. ``state``: ok, missing (something doesn't work) or note (all works, but know this)."""

    name: str
    state: str
    found: str
    means: str


# ---------------------------------------------------------------- this Python


def engine() -> list[Check]:
    """This Python and the packages of the search."""
    out = [
        Check(
            "kernelband",
            "ok",
            f"{__version__}, Python {platform.python_version()} ({sys.executable}) on {platform.system()} {platform.machine()}",
            "Files, runs and patches can be read and shown.",
        )
    ]
    found = {name: version(name) for name in SEARCH}
    missing = [name for name, has in found.items() if has is None]
    if missing:
        out.append(Check("search", "missing", f"no {' and no '.join(missing)}", "optimize can't search: pip install 'kernelband[search]'."))
    else:
        out.append(Check("search", "ok", ", ".join(f"{name} {has}" for name, has in found.items()), "optimize can search."))
    return out


def version(package: str) -> str | None:
    """Of an installed package; None without it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


# ---------------------------------------------------------------- the worker


class _NoFiles:
    """Nothing of the user's is loaded to look around."""

    def find_module(self, name: str) -> None:  # noqa: ARG002 - a FileServer
        return None

    def top_level(self) -> list[str]:
        return []

    def blob(self, sha256: str) -> bytes:
        raise KernelBandError(f"No file {sha256} is served here.")


def worker(command: WorkerCommand) -> list[Check]:
    """The Python with torch and Triton, wherever it is, and its GPUs."""
    end = time.monotonic() + WORKER_S
    out: list[Check] = []
    try:
        with Worker.start(command, files=_NoFiles(), deadline_s=START_S) as started:
            hello = started.hello
            text = f"Python {hello['python']} ({hello['executable']}), {hello['user']}@{hello['host']}, {hello['cpus']} cores"
            out.append(Check("worker", "ok", text, f"Your program runs there{'' if command.prefix else ', on this machine'}."))
            there: Any = Executor(started, "doctor", "gpu").call("environment", {}, max(1.0, end - time.monotonic()))
            return [*out, *environment(there)]
    except KernelBandError as error:
        return [*out, _refused(error)]


def _refused(error: KernelBandError) -> Check:
    """What stands in the way, named by what is missing."""
    names = {"torch_missing": "torch", "triton_missing": "triton", "too_old": "versions"}
    if getattr(error, "fault", "") == "timeout":
        return Check(
            "torch",
            "missing",
            f"importing torch or asking for the GPU took longer than {WORKER_S:g} s",
            "Nothing can be run there until it answers: try `python -c 'import torch; torch.cuda.device_count()'` by hand.",
        )
    own = [line.strip() for line in error.detail.splitlines() if line.strip()]  # the last line of a traceback says what happened
    text = f"{error.message} ({_first(own[-1])})" if own else error.message
    return Check(names.get(error.kind, "worker"), "missing", text, "Nothing can be captured, inspected or optimized.")


def environment(there: Environment) -> list[Check]:
    """What the worker's Python said of itself and its GPUs."""
    cuda = f", built for CUDA {there['cuda']}" if there["cuda"] else ", built without CUDA"
    out = [
        Check("torch", "ok", f"{there['torch']}{cuda}", "Your program can run." if there["cuda"] else "Your program runs on the CPU."),
        Check("triton", "ok", there["triton"], "Kernels can be compiled for any GPU, and interpreted without one."),
        _assembler(there),
        *(Check("setting", "note", f"{k}={v}", "Triton uses this; figures hold only with it.") for k, v in there["settings"].items()),
    ]
    for gpu in there["gpus"]:
        out += gpu_checks(gpu, there)
    tools = there.get("tools", {})
    if not there["gpus"]:
        out.append(_no_gpu(there, tools.get("nvidia-smi")))
    elif not tools.get("cc"):
        out.append(Check("compiler", "missing", "no C compiler (cc, gcc or clang)", "Triton needs one to launch kernels on a GPU."))
    for name, title in PROFILERS.items() if tools else ():
        path = tools.get(name)
        means = f"{title} is installed; KernelBand doesn't need it." if path else "Not needed: KernelBand has its own timing."
        out.append(Check(name, "ok" if path else "note", path or "not found", means))
    return out


def _assembler(there: Environment) -> Check:
    if there["ptxas"]:
        return Check("ptxas", "ok", there["ptxas"], "Machine code for NVIDIA GPUs can be made and read.")
    return Check("ptxas", "note", "not found beside Triton", "Kernels can't be compiled for NVIDIA GPUs.")


def gpu_checks(gpu: Gpu, there: Environment) -> list[Check]:
    """One GPU, and who else is on it."""
    name = f"gpu {gpu['index']}"
    driver = f", driver {there['driver']}" if there["driver"] else ""
    size = f"{gpu['free_bytes'] / 2**30:.0f} of {gpu['memory_bytes'] / 2**30:.0f} GiB free"
    text = f"{gpu['name']}{driver}, {size}"
    try:
        from_gpu(gpu)
    except HardwareError as error:
        return [Check(name, "missing", text, error.message)]
    first = gpu["index"] == 0
    out = [Check(name, "ok", text, "Variants are measured on it." if first else "Not used: CUDA_VISIBLE_DEVICES chooses another.")]
    if gpu["processes"]:
        out.append(
            Check(
                name, "note", "in use by " + "; ".join(gpu["processes"]), "Measuring still works, but other processes make times unsteady."
            )
        )
    elif first:
        out.append(Check(name, "ok", "no other process uses it", "Times are steady."))
    return out


def _no_gpu(there: Environment, smi: str | None) -> Check:
    if there["driver"]:
        why = "this torch is built without CUDA" if not there["cuda"] else "torch doesn't see it: look at CUDA_VISIBLE_DEVICES"
        return Check("gpu", "missing", f"driver {there['driver']} is there, but {why}", "Results are predicted, not measured.")
    if smi:
        return Check("gpu", "missing", f"{smi} is there, but finds no GPU", "Results are predicted, not measured.")
    return Check("gpu", "note", "none available", "Results are predicted, not measured; --worker 'ssh box' reaches a GPU elsewhere.")


# ---------------------------------------------------------------- the database


def database(asked: str | None) -> list[Check]:
    """The history: where, how large, whole or not. Nothing is written, not even an upgrade."""
    try:
        place = find_place(asked)
        out = [Check("history", "note", place.note, "Runs are kept, but not in the usual place.")] if place.note else []
        return [*out, _at(place.path)]
    except HistoryError as error:
        return [Check("history", "missing", error.message, "Runs can't be kept or shown.")]


def _at(path: Path) -> Check:
    if not path.exists():
        folder = next(p for p in path.parents if p.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            return Check("history", "missing", f"{path} can't be created: {folder} isn't writable", "Runs can't be kept: give --db PATH.")
        return Check("history", "ok", f"{path} does not exist yet", "The first run creates it.")
    pending = examine(path)
    size = sum(p.stat().st_size for p in (path, path.with_name(path.name + "-wal")) if p.exists())
    text = f"{path}, {size / 2**20:.1f} MiB"
    if not os.access(path, os.W_OK):
        return Check("history", "missing", f"{text}, not writable", "Runs can be shown, not kept: change its permissions, or give --db.")
    if pending:
        return Check("history", "note", f"{text}, lacks {', '.join(pending)}", "The next command that opens it brings it up to date.")
    with Store.read(path) as store:
        count = store.rows("SELECT count(*) AS n FROM runs")[0]["n"]
        text = f"{text}, {count} run{'' if count == 1 else 's'}"
        try:
            whole = store.integrity(INTEGRITY_S)
        except TimeoutError:
            return Check("history", "note", text, f"It can be used; checking all of it would have taken longer than {INTEGRITY_S:g} s.")
    if whole != "ok":
        return Check("history", "missing", f"{text}, damaged: {_first(whole)}", "Move it away or give --db PATH.")
    return Check("history", "ok", f"{text}, integrity ok", "Runs are kept, shown and resumed.")


def _first(text: str) -> str:
    return re.sub(r"\s+", " ", text.splitlines()[0])[:120]
