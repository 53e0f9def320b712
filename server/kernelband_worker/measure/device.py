"""What timing needs of a GPU, and of one side of a comparison. The CUDA adapter is in ``cuda``; tests bring a simulated clock."""

from __future__ import annotations

from typing import Any, Callable, Protocol


class Device(Protocol):
    """A stream of a GPU and the host's clock. All but ``now``, ``elapsed_us`` and ``synchronize`` only enqueue."""

    def now(self) -> float:
        """Host clock, seconds, monotonic."""
        ...

    def synchronize(self) -> None:
        """Waits for every stream of the device, not only the current one."""
        ...

    def flush(self) -> None:
        """Replaces what L2 holds by clean lines of no use to anyone."""
        ...

    def sleep(self, us: float) -> None:
        """Keeps the device busy, so that what follows can be submitted before it starts."""
        ...

    def mark(self) -> Any:
        """Records a timing event."""
        ...

    def wait(self, mark: Any) -> None:
        """Until that mark is reached; other streams may still work."""
        ...

    def elapsed_us(self, start: Any, end: Any) -> float:
        """Between two marks that have been reached."""
        ...

    def compilations(self) -> int:
        """How many specialisations were compiled or loaded in this process so far."""
        ...

    def tunings(self) -> int:
        """How many configurations autotuners timed in this process so far."""
        ...


class Side:
    """One side of a comparison on one input set: the call, and how its mutated inputs come back."""

    def __init__(self, call: Callable[[], Any], restore: Callable[[], Any]) -> None:
        self.call = call
        self.restore = restore
