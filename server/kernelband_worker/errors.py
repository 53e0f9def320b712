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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, CUDA or torch's allocator of the CPU had no memory left; the last says so only in words."""
    torch = sys.modules.get("torch")
    of_torch = getattr(torch, "OutOfMemoryError", MemoryError)
    return isinstance(error, (MemoryError, of_torch)) or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))
