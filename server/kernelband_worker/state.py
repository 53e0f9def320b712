"""What an executor holds between calls. One instance per process, passed to every operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from kernelband_worker.errors import OperationFailed

if TYPE_CHECKING:
    from kernelband_worker.loader import Loader
    from kernelband_worker.wire import SessionParams


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
