"""Streams, events and device guards of a GPU that isn't there: everything is done at once and in order, so they have nothing to do."""

from __future__ import annotations

from typing import Any, Optional


class Stream:
    """``torch.Stream``, on which everything is done at once."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0
    priority = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The arguments of torch's."""

    @property
    def device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def synchronize(self) -> None:
        """Everything is done."""

    def query(self) -> bool:
        return True

    def wait_stream(self, stream: Any) -> None:
        """Everything is done."""

    def wait_event(self, event: Any) -> None:
        """Everything is done."""

    def record_event(self, event: Optional[Event] = None) -> Event:
        return event or Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing to leave."""


class CudaStream(Stream):
    """``torch.cuda.Stream``."""


class ExternalStream(CudaStream):
    """``torch.cuda.ExternalStream``."""


class Event:
    """``torch.Event``: it has happened; when is not known. Between two of them lies more than any time: what goes on until enough has
    passed comes to its end, and no time is negative.
    """

    cuda_event = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The arguments of torch's."""

    def record(self, stream: Any = None) -> None:
        """It has happened."""

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def synchronize(self) -> None:
        """It has happened."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:  # noqa: ARG002 - torch's signature
        return float("inf")


class CudaEvent(Event):
    """``torch.cuda.Event``."""


class Streams:
    """Which stream is the current one: what a program sets is what it gets."""

    def __init__(self) -> None:
        self.default = CudaStream()
        self._current: Stream = self.default

    def current(self, device: Any = None) -> Stream:  # noqa: ARG002 - torch's signature
        return self._current

    def set(self, stream: Any) -> None:
        """``torch.cuda.set_stream``: None leaves it as it is."""
        if stream is not None:
            self._current = stream

    def context(self, name: str) -> type:
        """A class like ``torch.cuda.stream``, of its own for each name."""
        streams = self

        class Use:
            def __init__(self, stream: Any) -> None:
                self.stream = stream

            def __enter__(self) -> None:
                self._before = streams.current()
                streams.set(self.stream)

            def __exit__(self, *error: Any) -> None:
                streams.set(self._before)

        Use.__name__ = Use.__qualname__ = name
        return Use


class Device:
    """``with torch.cuda.device(n)``: there is one."""

    def __init__(self, device: Any = None) -> None:  # noqa: ARG002 - torch's signature
        self.idx = self.prev_idx = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing to leave."""


class DeviceOf(Device):
    """``with torch.cuda.device_of(tensor)``."""


class DeviceGuard(Device):
    """``with torch.cuda._DeviceGuard(n)``."""


class DeviceIndex(Device):
    """``with torch.accelerator.device_index(n)``."""
