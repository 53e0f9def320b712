"""GPU facts from torch and nvidia-smi, with both played by stand-ins: a real one is asked in tests/gpu."""

from __future__ import annotations

import os
import time
import types
from pathlib import Path
from typing import Any

import pytest

from kernelband_worker import environment as rooms
from kernelband_worker.state import State

UUID = "GPU-6f1c0a52-1111-2222-3333-444455556666"


class Cuda:
    """Two GPUs; the second tells as little as an old torch does."""

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 2

    def mem_get_info(self, index: int) -> tuple[int, int]:
        return (7 * 2**30, 8 * 2**30)

    def get_device_properties(self, index: int) -> Any:
        facts = {"name": "NVIDIA H200", "major": 9, "minor": 0, "multi_processor_count": 132, "total_memory": 150 * 10**9}
        if index == 0:
            facts.update(uuid=UUID[4:], L2_cache_size=60 * 2**20, shared_memory_per_block_optin=232448, regs_per_multiprocessor=65536)
            facts.update(clock_rate=1980000, memory_clock_rate=3201000)
        else:
            facts.update(pci_domain_id=0, pci_bus_id=27, pci_device_id=0)
        return types.SimpleNamespace(**facts)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = types.SimpleNamespace(__version__="2.11.0+cu130", version=types.SimpleNamespace(cuda="13.0"), cuda=Cuda())
    triton = types.SimpleNamespace(__version__="3.6.0")
    monkeypatch.setattr(rooms, "require", lambda: (module, triton))
    monkeypatch.setattr(rooms, "_shared_limit", lambda index: 101376)
    return module


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An nvidia-smi that prints what the folder's files hold."""
    path = tmp_path / "nvidia-smi"
    path.write_text(f'#!/bin/sh\ncase "$1" in --query-gpu=*) cat {tmp_path}/gpus;; *) cat {tmp_path}/apps;; esac\n')
    path.chmod(0o755)
    (tmp_path / "gpus").write_text(f"{UUID}, 580.65.06, 140000, 1980, 3201\nGPU-other, 580.65.06, [N/A], 1980, 3201\n")
    (tmp_path / "apps").write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def found(role: str = "gpu") -> Any:
    return rooms.environment(State(role=role, ask=lambda *_: None, tell=lambda *_: None), {})


def test_what_is_known_of_a_gpu(torch: Any, smi: Path) -> None:
    result = found()
    assert (result["driver"], result["cuda"], result["torch"], result["triton"]) == ("580.65.06", "13.0", "2.11.0+cu130", "3.6.0")
    assert result["gpus"][0] == {
        "index": 0,
        "uuid": UUID,
        "name": "NVIDIA H200",
        "capability": [9, 0],
        "multiprocessors": 132,
        "memory_bytes": 150 * 10**9,
        "free_bytes": 140000 * 2**20,
        "l2_bytes": 60 * 2**20,
        "shared_limit_bytes": 232448,
        "registers": 65536,
        "clock_khz": 1980000,
        "memory_clock_khz": 3201000,
        "processes": [],
    }
    other = result["gpus"][1]
    assert (other["uuid"], other["free_bytes"], other["shared_limit_bytes"]) == ("PCI-0-27-0", 7 * 2**30, 101376)


def test_no_gpus_where_a_stand_in_would_answer(torch: Any, smi: Path) -> None:
    assert found("cpu")["gpus"] == []


def test_the_assembler_that_triton_brings(torch: Any, smi: Path) -> None:
    """For the newest GPUs there is a second one."""
    for version in found("cpu")["ptxas"].split(" and "):
        assert version[0].isdigit()


def test_processes_of_others(torch: Any, smi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, gone = os.getppid(), 2**22 + 1
    (smi / "apps").write_text(f"{UUID}, {parent}, /usr/bin/python3, 512\n{UUID}, {gone}, [Not Found], [N/A]\nGPU-other, 1, other, 1\n")
    user, *rest = found()["gpus"][0]["processes"][0].split()
    assert rest == [str(parent), "/usr/bin/python3", "512", "MiB"]
    assert user
    assert found()["gpus"][0]["processes"][1] == f"unknown {gone} [Not Found] memory unknown"


def test_processes_of_this_worker_are_left_out(torch: Any, smi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    with subprocess.Popen(["/bin/sleep", "30"], env={"KERNELBAND_SCRATCH": "/scratch/mine"}) as ours:
        try:
            while not Path(f"/proc/{ours.pid}/environ").read_bytes():  # it is there a moment later than the process
                time.sleep(0.01)
            (smi / "apps").write_text(f"{UUID}, {ours.pid}, sleep, 5\n")
            monkeypatch.setenv("KERNELBAND_SCRATCH", "/scratch/mine")
            assert found()["gpus"][0]["processes"] == []
            monkeypatch.setenv("KERNELBAND_SCRATCH", "/scratch/another")
            assert len(found()["gpus"][0]["processes"]) == 1
        finally:
            ours.kill()


@pytest.mark.parametrize("text", [None, "#!/bin/sh\nexit 9\n", "#!/bin/sh\necho NVIDIA-SMI has failed\n", "#!/bin/sh\nsleep 60\n"])
def test_without_a_working_nvidia_smi(torch: Any, smi: Path, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    (smi / "nvidia-smi").unlink()
    if text is None:
        monkeypatch.setenv("PATH", str(smi))  # this machine may have one
    else:
        (smi / "nvidia-smi").write_text(text)
        (smi / "nvidia-smi").chmod(0o755)
    monkeypatch.setattr(rooms, "_SMI_SECONDS", 0.3)
    result = found()
    assert result["driver"] is None
    assert result["gpus"][0]["free_bytes"] == 7 * 2**30
    assert result["gpus"][0]["processes"] == []
