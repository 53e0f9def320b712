"""What a call depends on besides its arguments: generator states, and torch's grad, inference, autocast and dtype modes."""

from __future__ import annotations

import contextlib
import pickle
import random
import sys
from typing import Any, Callable, ContextManager, Dict, Iterator, Optional

import torch


def generator_states(gpu: bool) -> Dict[str, Any]:
    """The states of Python's, NumPy's and torch's default generators."""
    states: Dict[str, Any] = {"python": random.getstate(), "torch": torch.get_rng_state().numpy().tobytes()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        states["numpy"] = (kind, keys.tobytes(), *rest)
    if gpu and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state().numpy().tobytes()
    return states


def restore_generators(states: Dict[str, Any], gpu: bool) -> None:
    """Put generators back to ``generator_states``; the GPU's only where there is one."""
    random.setstate(states["python"])
    torch.set_rng_state(_byte_tensor(states["torch"]))
    if "numpy" in states:
        import numpy as np

        kind, keys, *rest = states["numpy"]
        np.random.set_state((kind, np.frombuffer(keys, dtype=np.uint32), *rest))
    if gpu and "cuda" in states:
        torch.cuda.set_rng_state(_byte_tensor(states["cuda"]))


def _byte_tensor(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def pack(states: Dict[str, Any]) -> bytes:
    """Generator states as bytes for the store."""
    return pickle.dumps(states, protocol=4)


def unpack(data: bytes) -> Dict[str, Any]:
    """Generator states from ``pack``."""
    return pickle.loads(data)  # our own, from the run's private store


def current_modes(gpu: bool) -> Dict[str, Any]:
    """The modes that differ from a fresh process, as JSON; empty when none does."""
    modes: Dict[str, Any] = {}
    if torch.is_inference_mode_enabled():
        modes["inference"] = True
    elif not torch.is_grad_enabled():
        modes["no_grad"] = True
    device = "cuda" if gpu else "cpu"
    if torch.is_autocast_enabled(device):
        modes["autocast"] = [device, str(torch.get_autocast_dtype(device)).rpartition(".")[2]]
    if torch.get_default_dtype() != torch.float32:
        modes["default_dtype"] = str(torch.get_default_dtype()).rpartition(".")[2]
    return modes


def entering(modes: Dict[str, Any]) -> Optional[Callable[[], ContextManager[None]]]:
    """A context manager that sets these modes, or None when nothing is to be set (so that timed calls pay nothing)."""
    if not modes:
        return None

    @contextlib.contextmanager
    def enter() -> Iterator[None]:
        default = torch.get_default_dtype()
        with contextlib.ExitStack() as stack:
            if modes.get("inference"):
                stack.enter_context(torch.inference_mode())
            if modes.get("no_grad"):
                stack.enter_context(torch.no_grad())
            if "autocast" in modes:
                device, dtype = modes["autocast"]
                stack.enter_context(torch.autocast(device, dtype=getattr(torch, dtype)))
            if "default_dtype" in modes:
                torch.set_default_dtype(getattr(torch, modes["default_dtype"]))
                stack.callback(torch.set_default_dtype, default)
            yield

    return enter
