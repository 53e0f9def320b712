"""``torch.autocast("cuda")`` without a GPU: its tensors lie on the CPU, so the CPU's autocast has to do what the program asks for."""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

#: Where an autocast of the GPU keeps the CPU's that it entered, the innermost last: one object may be entered several times.
_ENTERED = "_kernelband_entered"


def entering(original: Callable[..., Any]) -> Callable[..., Any]:
    """In place of ``autocast.__enter__``."""

    @functools.wraps(original)
    def enter(self: Any) -> Any:
        result = original(self)
        if self.device == "cuda":
            own = torch.autocast("cpu", dtype=self.fast_dtype, enabled=self._enabled, cache_enabled=self._cache_enabled)
            original(own)
            self.__dict__.setdefault(_ENTERED, []).append(own)
        return result

    return enter


def leaving(original: Callable[..., Any]) -> Callable[..., Any]:
    """In place of ``autocast.__exit__``."""

    @functools.wraps(original)
    def leave(self: Any, *error: Any) -> Any:
        if self.device == "cuda":
            original(self.__dict__[_ENTERED].pop(), *error)
        return original(self, *error)

    return leave
