"""``torch.compile`` without a GPU: functions run as they are written. Compiled for the CPU they would say nothing about the device."""

from __future__ import annotations

import functools
from typing import Any


def compile_(model: Any = None, **options: Any) -> Any:
    """``torch.compile``, as a decorator with and without arguments and as a call, for functions and modules."""
    return functools.partial(compile_, **options) if model is None else model
