"""Makes this process a machine without a GPU that runs programs written for one."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Iterable, List, Mapping, Optional, Tuple

import torch
import triton.testing
from triton.runtime.driver import driver as active_driver

from kernelband_worker import triton_versions
from kernelband_worker.cpu import accelerator, autocast, cuda, smi, streams
from kernelband_worker.cpu.driver import TargetDriver
from kernelband_worker.cpu.driver import install as install_driver
from kernelband_worker.cpu.eager import compile_
from kernelband_worker.cpu.generators import DefaultGenerator, Generator
from kernelband_worker.cpu.machine import Machine
from kernelband_worker.cpu.operators import Operators
from kernelband_worker.cpu.replaced import Replaced
from kernelband_worker.cpu.tensors import DeviceMode
from kernelband_worker.launches import Watch
from kernelband_worker.state import State
from kernelband_worker.wire import Target

#: Those in place. Nobody else may hold them, and a context that nobody holds is left.
_installed: List[Shim] = []


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
        _installed.remove(self)


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
    _installed.append(shim)
    before = triton_versions.current_driver()
    install_driver(target, known)
    made = triton_versions.current_driver()
    assert isinstance(made, TargetDriver)
    made.machine = machine
    if before is not None:  # compiled kernels ask the driver when they are freed, so there is one to the end
        shim._stack.callback(lambda: active_driver.set_active(before))
    told = cuda.Properties(target, known, name or f"{target['backend']} {target['arch']}")
    _put_in_place(shim, told, target)
    if target["backend"] == "cuda":
        shim.enter(smi.on_path(told))
    _give_the_mode(shim, mode)
    for attribute in ("from_numpy", "frombuffer"):
        shim.set(torch, attribute, mode.made_on_host(getattr(torch, attribute)))
    shim.set(torch, "load", mode.loading(torch.load))
    shim.set(torch, "set_default_device", _default_device(mode, torch.set_default_device))
    shim.set(triton.testing, "do_bench", cuda.benchmarking())
    shim.set(triton.testing, "do_bench_cudagraph", cuda.benchmarking())
    shim.enter(mode)
    watch = Watch(State("cpu", _nobody, _nobody), None, suppress=False, programs=64, machine=machine)
    shim.enter(watch.installed())
    return shim


def _put_in_place(shim: Shim, told: cuda.Properties, target: Target) -> None:
    """Everything that answers without looking at a tensor."""
    current = streams.Streams()
    in_cuda = cuda.replacements(told, target, DefaultGenerator(), current)
    _set_all(shim, torch.cuda, in_cuda, (torch.cuda.memory, torch.cuda.random, torch.cuda.streams, torch.cuda.graphs))
    for attribute, value in cuda.natives(current).items():
        shim.set(torch._C, attribute, value)
    if accelerator.MODULE is not None:
        defining = [getattr(accelerator.MODULE, name) for name in ("memory",) if hasattr(accelerator.MODULE, name)]
        _set_all(shim, accelerator.MODULE, accelerator.replacements(in_cuda, current), defining)
    for attribute in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        shim.set(torch.cuda.nvtx, attribute, cuda.nothing())
    for attribute in ("start", "stop"):
        shim.set(torch.cuda.profiler, attribute, cuda.nothing())
    shim.set(torch, "Generator", Generator)
    shim.set(torch, "Stream", streams.Stream)
    shim.set(torch, "Event", streams.Event)
    shim.set(torch, "compile", compile_)
    shim.set(torch.Tensor, "record_stream", cuda.nothing())


def _set_all(shim: Shim, module: Any, values: Mapping[str, Any], defining: Iterable[Any]) -> None:
    """Patch a module, and those of its parts that define what it shows."""
    for attribute, value in values.items():
        original = getattr(module, attribute, None)
        shim.set(module, attribute, value)
        for part in defining:
            if original is not None and getattr(part, attribute, None) is original:
                shim.set(part, attribute, value)


def _give_the_mode(shim: Shim, mode: DeviceMode) -> None:
    """To the program's code that torch calls from inside: kernels of its operators, backward functions, hooks."""
    operators = Operators(mode, Replaced(mode, shim.enter))
    shim.set(torch.library.Library, "impl", operators.registering(torch.library.Library.impl))
    backward = torch.autograd.function.BackwardCFunction
    for attribute in ("apply", "apply_boxed"):  # the second from 2.11 on
        if hasattr(backward, attribute):
            shim.set(backward, attribute, mode.inside(getattr(backward, attribute)))
    hooks = torch.autograd.graph.saved_tensors_hooks
    shim.set(hooks, "__init__", _hooked(mode, hooks.__init__))
    shim.set(torch.autocast, "__enter__", autocast.entering(torch.autocast.__enter__))
    shim.set(torch.autocast, "__exit__", autocast.leaving(torch.autocast.__exit__))


def _hooked(mode: DeviceMode, original: Callable[..., None]) -> Callable[..., None]:
    """Hooks for saved tensors, in which a checkpoint computes again, with the mode on."""

    @functools.wraps(original)
    def init(self: Any, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        original(self, mode.inside(pack_hook), mode.inside(unpack_hook))

    return init


def _default_device(mode: DeviceMode, original: Callable[[Any], None]) -> Callable[[Any], None]:
    def set_default_device(device: Any) -> None:
        wanted = torch.device("cpu" if device is None else device)
        mode.default = wanted
        original(None if wanted.type == "cuda" else device)

    return set_default_device


def _nobody(method: str, params: Any) -> Any:
    raise AssertionError(f"nothing is asked here: {method} {params}")
