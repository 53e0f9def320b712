"""Makes this process a machine without a GPU that runs programs written for one."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, List, Mapping, Optional, Tuple

import torch
import triton.testing
from triton.runtime.driver import driver as active_driver

from kernelband_worker import triton_versions
from kernelband_worker.cpu import cuda
from kernelband_worker.cpu.driver import TargetDriver
from kernelband_worker.cpu.driver import install as install_driver
from kernelband_worker.cpu.machine import Machine
from kernelband_worker.cpu.tensors import DeviceMode
from kernelband_worker.launches import Watch
from kernelband_worker.state import State
from kernelband_worker.wire import Target


class Shim:
    """What was put in place, so that it can be taken away again."""

    def __init__(self, machine: Machine, mode: DeviceMode) -> None:
        self.machine = machine
        self.mode = mode
        self._patched: List[Tuple[Any, str, Any, bool]] = []
        self._stack = contextlib.ExitStack()

    def set(self, place: Any, name: str, value: Any) -> None:
        """Patch one attribute."""
        self._patched.append((place, name, getattr(place, name, None), hasattr(place, name)))
        setattr(place, name, value)

    def enter(self, manager: Any) -> None:
        """Keep a context open."""
        self._stack.enter_context(manager)

    def uninstall(self) -> None:
        """Back to torch as it was: for tests."""
        self._stack.close()
        for place, name, value, was in reversed(self._patched):
            setattr(place, name, value) if was else delattr(place, name)
        self._patched.clear()


def install(target: Target, properties: Optional[Mapping[str, int]] = None, name: str = "") -> Shim:
    """'cuda' means the CPU from now on; launches outside ``launches.observe`` are interpreted too.

    Args:
        target: the GPU that the program is to believe in.
        properties: what its driver reports (see ``driver.install``).
        name: what ``torch.cuda.get_device_name`` says.
    """
    known = dict(properties or {})
    machine = Machine()
    mode = DeviceMode(machine.memory)
    shim = Shim(machine, mode)
    before = triton_versions.current_driver()
    install_driver(target, known)
    made = triton_versions.current_driver()
    assert isinstance(made, TargetDriver)
    made.machine = machine
    if before is not None:  # compiled kernels ask the driver when they are freed, so there is one to the end
        shim._stack.callback(lambda: active_driver.set_active(before))
    for attribute, value in cuda.replacements(target, known, name or f"{target['backend']} {target['arch']}").items():
        shim.set(torch.cuda, attribute, value)
    for place in (torch.cuda.nvtx,):
        for attribute in ("range_push", "range_pop", "mark"):
            shim.set(place, attribute, lambda *args, **kwargs: None)  # noqa: ARG005
    shim.set(torch, "Generator", cuda.Generator)
    for attribute in ("from_numpy", "frombuffer"):
        shim.set(torch, attribute, mode.made_on_host(getattr(torch, attribute)))
    shim.set(torch, "load", mode.loading(torch.load))
    shim.set(torch, "set_default_device", _default_device(mode, torch.set_default_device))
    for attribute in ("do_bench", "do_bench_cudagraph"):
        shim.set(triton.testing, attribute, cuda.benchmark)
    shim.enter(mode)
    watch = Watch(State("cpu", _nobody, _nobody), None, suppress=False, programs=64, machine=machine)
    shim.enter(watch.installed())
    return shim


def _default_device(mode: DeviceMode, original: Callable[[Any], None]) -> Callable[[Any], None]:
    def set_default_device(device: Any) -> None:
        wanted = torch.device("cpu" if device is None else device)
        mode.default = wanted
        original(None if wanted.type == "cuda" else device)

    return set_default_device


def _nobody(method: str, params: Any) -> Any:
    raise AssertionError(f"nothing is asked here: {method} {params}")
