"""What an operation says when it fails."""

from __future__ import annotations

import sys
from typing import Any


class OperationFailed(Exception):
    """A sentence for the user. Becomes OPERATION_FAILED with ErrorData; the executor lives on.

    ``kind`` is one of wire.ERROR_KINDS; ``data`` are further keys of wire.ErrorData.
    """

    def __init__(self, message: str, kind: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.data = data


#: What says so only in words: torch's allocator of the CPU, CUDA under torch (where a context or a module finds no room), Triton's driver.
_NO_MEMORY = ("can't allocate memory", "CUDA error: out of memory", "[CUDA]: out of memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, the GPU or torch's allocator of the CPU had no memory left."""
    torch = sys.modules.get("torch")
    of_torch = getattr(torch, "OutOfMemoryError", MemoryError)
    return isinstance(error, (MemoryError, of_torch)) or (isinstance(error, RuntimeError) and says_out_of_memory(str(error)))


def says_out_of_memory(text: str) -> bool:
    return any(words in text for words in _NO_MEMORY)
