"""bfloat16 for the interpreter, which keeps it as uint16 and does integer arithmetic on it: silently wrong in Triton 3.2 to 3.9.

Operands are lifted to float32 and results rounded back to nearest even, as the hardware does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle


def is_bf16(handle: Any) -> bool:
    """Whether a value of the interpreter holds bfloat16 bits."""
    return isinstance(handle, TensorHandle) and handle.dtype.scalar == tl.bfloat16 and handle.data.dtype == np.uint16


def decode(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits (uint16) as float32."""
    wide = np.ascontiguousarray(bits).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).reshape(np.shape(bits))


def encode(values: np.ndarray) -> np.ndarray:
    """Numbers as bfloat16 bits (uint16), rounded to nearest even; every NaN becomes the quiet one."""
    narrow = np.ascontiguousarray(values, dtype=np.float32)
    whole = narrow.view(np.uint32)
    rounding = ((whole >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF)
    bits = ((whole + rounding) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(narrow), np.uint16(0x7FC0), bits).reshape(np.shape(values))


def lift(handle: Any) -> Any:
    """A bfloat16 value as float32; others as they are."""
    return TensorHandle(decode(handle.data), tl.float32) if is_bf16(handle) else handle


def lower(handle: Any) -> Any:
    """A float32 value as bfloat16; others (comparisons give booleans) as they are."""
    if isinstance(handle, TensorHandle) and handle.data.dtype == np.float32:
        return TensorHandle(encode(handle.data), tl.bfloat16)
    return handle
