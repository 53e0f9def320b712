"""A test in a package, whose text in the editor isn't the one on the disk, which pytest would read to rewrite its assertions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelband.hardware import driver_properties, find_device
from kernelband.source import Workspace
from kernelband.worker import Executor, Worker, WorkerCommand
from tests.e2e.cli_world import KERNEL


def test_the_editors_text_is_run(worker_python: str, tmp_path: Path) -> None:
    path = tmp_path / "package" / "test_scale.py"
    path.parent.mkdir()
    (path.parent / "__init__.py").touch()
    (tmp_path / "pyproject.toml").touch()
    path.write_text(KERNEL)
    space = Workspace.for_file(str(path), {str(path): KERNEL.replace("4096", "500")})
    module = space.module_name(str(path))
    assert module == "package.test_scale"
    device = find_device("h100")
    with Worker.start(WorkerCommand.of(python=worker_python), files=space) as worker:
        session: Any = {
            "id": "s",
            "top_level": space.top_level(),
            "store": f"{worker.hello['scratch']}/store",
            "cache": f"{worker.hello['scratch']}/cache",
            "seed": 0,
            "target": device.target,
            "device_properties": driver_properties(device),
        }
        place = {"module": module, "path": str(path), "qualname": "scale_kernel"}
        params = {
            "entry": {"kind": "pytest", "module": module, "path": str(path), "name": "test_scale"},
            "kernel": place,
            "hosts": [{**place, "qualname": "scale"}],
            "seconds": 60.0,
            "programs": 0,
        }
        told: Any = Executor(worker, "cpu", "cpu", session=session).call("capture", params, 120.0)
    (case,) = [c for c in told["cases"] if c["neighbour_of"] is None]
    assert case["boundary"] == "host_call"  # the recorder is in the module, too
    assert case["tensors"][0]["shape"] == [500]
