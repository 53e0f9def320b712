"""The tool that projects ask for a GPU, before torch, and which GPU it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from kernelband_worker import environment
from kernelband_worker.cpu import smi


@pytest.mark.usefixtures("shim")
@pytest.mark.skipif("smi-" not in (shutil.which(smi.NAME) or "smi-"), reason="this machine has an nvidia-smi of its own")
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ((), ""),
        (("-L",), "GPU 0: NVIDIA H100\n"),
        (("--query-gpu=compute_cap", "--format=csv,noheader"), "9.0\n"),
        (("--query-gpu=index,name,driver_version", "--format=csv"), "0, NVIDIA H100, [N/A]\n"),
    ],
)
def test_it_is_there_and_knows_the_gpu(asked, answer):
    assert subprocess.run([smi.NAME, *asked], capture_output=True, text=True, check=True).stdout == answer


@pytest.mark.usefixtures("shim")
def test_the_environment_is_this_machines(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with smi.on_path(torch.cuda.get_device_properties(0)):
        assert shutil.which(smi.NAME) is not None
        assert environment.query_gpus() == []


@pytest.mark.usefixtures("shim")
def test_it_goes_again(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with smi.on_path(torch.cuda.get_device_properties(0)):
        found = shutil.which(smi.NAME)
        assert found is not None
    assert shutil.which(smi.NAME) is None
    assert not Path(found).exists()
