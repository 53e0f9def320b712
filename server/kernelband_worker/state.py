"""What an executor holds between calls. One instance per process, passed to every operation."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

if TYPE_CHECKING:
    from kernelband_worker.loader import Loader
    from kernelband_worker.wire import SessionParams


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


@dataclass
class State:
    """``role`` is gpu, cpu or compile. ``ask`` sends a request to the engine and waits; ``tell`` sends a notification."""

    role: str
    ask: Callable[[str, Dict[str, Any]], Any]
    tell: Callable[[str, Dict[str, Any]], None]
    session: Optional[SessionParams] = None
    loader: Optional[Loader] = None
    cases: Dict[str, Any] = field(default_factory=dict)  # opened cases by id
    kept: Dict[str, Any] = field(default_factory=dict)  # what an operation keeps for its next call, by a name of its own

    @property
    def opened(self) -> Loader:
        """The loader of the open session.

        Raises:
            OperationFailed: no session is open.
        """
        if self.loader is None:
            raise OperationFailed("No session is open in this executor.", "bad_request")
        return self.loader
