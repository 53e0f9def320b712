"""Operation environment: what this Python has, and which GPUs it sees."""

from __future__ import annotations

import contextlib
import csv
import gc
import glob
import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, List, Optional, Tuple, cast

from kernelband_worker.bytecode import of_libraries
from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State
from kernelband_worker.wire import SCRATCH, Environment, Gpu

OLDEST = {"torch": (2, 6), "triton": (3, 2)}
_SMI_SECONDS = 10.0
REAL_PATH = "KERNELBAND_REAL_PATH"
_TOOLS: Dict[str, Tuple[str, ...]] = {"cc": ("cc", "gcc", "clang"), "nvidia-smi": ("nvidia-smi",), "ncu": ("ncu",), "nsys": ("nsys",)}
_TOOL_FOLDERS = (
    "/usr/local/cuda/bin",
    "/opt/nvidia/nsight-compute/*",
    "/opt/nvidia/nsight-systems/*/bin",
)  # where NVIDIA's packages put them
_untold: List[BaseException] = []  # what ``require_ahead`` ran into
_GPU_FIELDS = ("uuid", "driver_version", "memory.free", "clocks.max.sm", "clocks.max.memory")


def missing(name: str) -> OperationFailed:
    """The sentence for a package that isn't there."""
    kind = f"{name}_missing" if name in OLDEST else "import_failed"
    return OperationFailed(
        f"{sys.executable} has no {name}: install it there ({_pip(name)}), or name the Python that has it with --python.", kind
    )


def _pip(name: str) -> str:
    version = ".".join(map(str, OLDEST[name])) if name in OLDEST else ""
    return f"{sys.executable} -m pip install '{name}>={version}'" if version else f"{sys.executable} -m pip install {name}"


def require() -> Tuple[ModuleType, ModuleType]:
    """Import torch and triton.

    Raises:
        OperationFailed: one is missing (``torch_missing``, ``triton_missing``), can't be imported (the same, with its own error as
            detail) or is too old (``too_old``).
    """
    if _untold:
        raise _untold.pop()  # a second attempt in one process may fail in another way
    collects = gc.isenabled()
    gc.disable()  # a third of the time that torch takes goes into collections that find nothing
    try:
        with of_libraries():
            torch, triton = (_import(name) for name in OLDEST)
    finally:
        if collects:
            gc.freeze()  # modules stay: no later collection needs to look at them
            gc.enable()
    return torch, triton


def require_ahead() -> bool:
    """``require`` before anybody asks. Whether it went well: if not, the first who asks is told why."""
    try:
        require()
    except BaseException as error:  # noqa: BLE001  # an installation may raise anything, SystemExit included
        _untold.append(error)
        return False
    return True


def _import(name: str) -> ModuleType:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise missing(name) from error
        raise _broken(name, error) from error
    except Exception as error:  # a package that fails while it is imported may raise anything
        raise _broken(name, error) from error
    version = str(getattr(module, "__version__", "0"))
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST[name]:
        oldest = ".".join(map(str, OLDEST[name]))
        raise OperationFailed(f"{sys.executable} has {name} {version}, and KernelBand needs {oldest} or newer: {_pip(name)}.", "too_old")
    return module


def _broken(name: str, error: BaseException) -> OperationFailed:
    text = f"{type(error).__name__}: {error}"
    why = text.splitlines()[0][:200]
    sentence = f"{sys.executable} has {name}, but it can't be imported ({why}). Repair that installation, or name another with --python."
    return OperationFailed(sentence, f"{name}_missing", detail=text)


def environment(state: State, params: Dict[str, Any]) -> Environment:  # noqa: ARG001  # every operation takes parameters
    """Versions, settings and GPUs. Raises what ``require`` raises."""
    torch, triton = require()
    numpy: Optional[str] = None
    with contextlib.suppress(ImportError):
        numpy = str(importlib.import_module("numpy").__version__)
    smi = query_gpus()
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "triton": str(triton.__version__),
        "numpy": numpy,
        "cuda": torch.version.cuda,
        "driver": next((row["driver_version"] for row in smi), None),
        "ptxas": _ptxas(),
        "settings": {k: v for k, v in sorted(os.environ.items()) if k.startswith("TRITON_")},
        "tools": {name: _tool(name) for name in _TOOLS},
        "gpus": [_gpu(torch, index, smi) for index in range(_count(torch) if state.role == "gpu" else 0)],  # else a stand-in answers,
    }


def _count(torch: Any) -> int:
    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0


def _gpu(torch: Any, index: int, smi: List[Dict[str, str]]) -> Gpu:
    facts = torch.cuda.get_device_properties(index)
    uuid = _uuid(facts, index)
    row = next((r for r in smi if r["uuid"] == uuid), {})
    free = _number(row.get("memory.free"))
    total = int(facts.total_memory)
    limit = getattr(facts, "shared_memory_per_block_optin", 0) or _shared_limit(index)
    return {
        "index": index,
        "uuid": uuid,
        "name": str(facts.name),
        "capability": [int(facts.major), int(facts.minor)],
        "multiprocessors": int(facts.multi_processor_count),
        "memory_bytes": total,
        # nvidia-smi rounds to MiB: of an idle GPU it says a little more than there is.
        "free_bytes": min(free * 2**20, total) if free is not None else int(torch.cuda.mem_get_info(index)[0]),
        "l2_bytes": int(getattr(facts, "L2_cache_size", 0)),
        "shared_limit_bytes": int(limit),
        "registers": int(getattr(facts, "regs_per_multiprocessor", 65536)),
        "clock_khz": int(getattr(facts, "clock_rate", 0)) or 1000 * (_number(row.get("clocks.max.sm")) or 0),
        "memory_clock_khz": int(getattr(facts, "memory_clock_rate", 0)) or 1000 * (_number(row.get("clocks.max.memory")) or 0),
        "processes": processes_of_others(uuid),
    }


def _uuid(facts: Any, index: int) -> str:
    """As nvidia-smi spells it, the same for every process of the machine: the lock's name."""
    uuid = str(getattr(facts, "uuid", "") or "")
    if uuid:
        return uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    bus = getattr(facts, "pci_bus_id", None)
    return f"PCI-{getattr(facts, 'pci_domain_id', 0)}-{bus}-{getattr(facts, 'pci_device_id', 0)}" if bus is not None else f"INDEX-{index}"


def _shared_limit(index: int) -> int:
    """From Triton's driver, for torch versions that don't tell."""
    from triton.runtime import driver

    return int(cast("Any", driver.active).utils.get_device_properties(index)["max_shared_mem"])


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and text.isdigit() else None


def _path() -> str:
    """PATH without the tools that a program is to believe in (``cpu/smi.py``)."""
    return os.environ.get(REAL_PATH, os.environ.get("PATH", os.defpath))


def _tool(name: str) -> Optional[str]:
    """Where that program is: $CC or PATH, else where its own package puts it."""
    names = _TOOLS[name]
    if name == "cc" and os.environ.get("CC"):
        names = (os.environ["CC"], *names)
    for word in names:
        found = shutil.which(word, path=_path())
        if found:
            return found
    for folder in _TOOL_FOLDERS:
        for path in sorted(glob.glob(os.path.join(folder, name)), reverse=True):
            if os.access(path, os.X_OK):
                return path
    return None


def _ptxas() -> Optional[str]:
    """The version of the assembler that Triton brings; the one for the newest GPUs has its own, both are named."""
    try:
        from triton.backends.nvidia import compiler as nvidia
    except ImportError:  # a build for other GPUs
        return None
    found: List[str] = []
    for path in sorted((Path(nvidia.__file__).parent / "bin").glob("ptxas*")):
        try:
            done = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=_SMI_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        match = re.search(r"\bV(\d[\d.]*)", done.stdout)
        if match:
            found.append(match.group(1))
    return " and ".join(found) or None


# ---------------------------------------------------------------- nvidia-smi


def query_gpus() -> List[Dict[str, str]]:
    """One row per GPU of the machine, by field of ``nvidia-smi --query-gpu``; empty without nvidia-smi."""
    return _query("--query-gpu=", _GPU_FIELDS)


def processes_of_others(uuid: str) -> List[str]:
    """Who else computes on that GPU: "user pid name MiB". Processes of this worker are left out."""
    out: List[str] = []
    for row in _query("--query-compute-apps=", ("gpu_uuid", "pid", "process_name", "used_memory")):
        if row["gpu_uuid"] != uuid or _is_ours(row["pid"]):
            continue
        used = f"{row['used_memory']} MiB" if row["used_memory"].isdigit() else "memory unknown"
        out.append(f"{_owner(row['pid'])} {row['pid']} {row['process_name']} {used}")
    return out


def _query(option: str, fields: Tuple[str, ...]) -> List[Dict[str, str]]:
    command = ["nvidia-smi", option + ",".join(fields), "--format=csv,noheader,nounits"]
    try:
        env = {**os.environ, "PATH": _path()}
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=False, env=env)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    rows = [[cell.strip() for cell in row] for row in csv.reader(done.stdout.splitlines())]
    return [dict(zip(fields, row)) for row in rows if len(row) == len(fields)]


def _is_ours(pid: str) -> bool:
    scratch = os.environ.get(SCRATCH)
    try:
        variables = Path("/proc", pid, "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return scratch is not None and f"{SCRATCH}={scratch}".encode() in variables


def _owner(pid: str) -> str:
    try:
        import pwd

        number = Path("/proc", pid).stat().st_uid
    except (ImportError, OSError):
        return "unknown"
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
