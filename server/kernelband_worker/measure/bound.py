"""What measuring leans on, bound before any of the user's code is imported.

A program may replace ``time.perf_counter``, ``torch.Tensor.copy_`` or ``torch.cuda.synchronize``, by mistake or not; these names keep what
they were. Types of torch's extension can't be changed from Python, those of its Python part can: it is the former's methods that are kept.
"""

from __future__ import annotations

import os
import sys
import time

import torch

now = time.perf_counter
urandom = os.urandom
total = torch.sum
Tensor, Parameter = torch.Tensor, torch.nn.Parameter
_frames = sys._current_frames
_copy, _clone, _detach = torch._C.TensorBase.copy_, torch._C.TensorBase.clone, torch._C.TensorBase.detach
_no_functions, _no_dispatch = torch._C.DisableTorchFunction, torch._C._DisableTorchDispatch


def copy(into: torch.Tensor, source: torch.Tensor) -> None:
    """Write ``source`` into ``into``."""
    with _no_functions(), _no_dispatch():
        _copy(into, source)


def clone(tensor: torch.Tensor) -> torch.Tensor:
    """A copy, without what it was computed from. Nothing of the program's runs, so nothing is computed just then that should be there."""
    with _no_functions(), _no_dispatch():
        return _clone(_detach(tensor))


def threads() -> int:
    """How many threads run Python code in this process."""
    return len(_frames())


def kind(tensor: torch.Tensor) -> str:
    """``Tensor`` or ``Parameter``; a subclass by its name and by what it is, whatever it calls itself."""
    if type(tensor) is Tensor:
        return "Tensor"
    return "Parameter" if type(tensor) is Parameter else f"a subclass of Tensor, {type(tensor).__name__}"
