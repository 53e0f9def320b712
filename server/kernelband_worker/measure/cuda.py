"""The GPU behind the ``Device`` protocol: torch's current stream, events and graphs. Also ROCm, where torch calls it cuda too.

It never changes a setting of the GPU (clocks, power, persistence).
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, Optional, cast

import torch
import triton

from kernelband_worker.measure.device import NotCapturableError

CALIBRATION_CYCLES = 2_000_000  # about a millisecond
L2_WHEN_UNKNOWN = 64 << 20


class CudaDevice:
    """The executor's one GPU. Make one per executor and keep it: the flush buffer is twice the L2."""

    def __init__(self) -> None:
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        l2_bytes = int(getattr(properties, "L2_cache_size", 0)) or L2_WHEN_UNKNOWN
        self._clean = torch.zeros(2 * l2_bytes // 4, dtype=torch.float32, device="cuda")
        self._sum = torch.zeros((), dtype=torch.float32, device="cuda")
        self._cycles_per_us: Optional[float] = None
        self._capture_stream: Optional[torch.cuda.Stream] = None
        self._external = _external_events()
        self._compilations = 0
        _count_compilations(self._compiled)

    def _compiled(self) -> None:
        self._compilations += 1

    def now(self) -> float:
        return time.perf_counter()

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def flush(self) -> None:
        # Reading leaves clean lines; a zeroed buffer would leave dirty ones, whose write-back the next kernel would pay for.
        torch.sum(self._clean, dim=0, out=self._sum)

    def calibrate(self) -> None:
        """Cycles of ``_sleep`` per microsecond, at the clocks of now: call it when the device is warm."""
        torch.cuda._sleep(CALIBRATION_CYCLES // 10)
        first = self.mark()
        torch.cuda._sleep(CALIBRATION_CYCLES)
        last = self.mark()
        self.synchronize()
        self._cycles_per_us = CALIBRATION_CYCLES / max(1.0, self.elapsed_us(first, last))

    def sleep(self, us: float) -> None:
        if us <= 0:
            return
        if self._cycles_per_us is None:
            self.calibrate()
        torch.cuda._sleep(int(us * (self._cycles_per_us or 0.0)))

    def mark(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def elapsed_us(self, start: Any, end: Any) -> float:
        return float(start.elapsed_time(end)) * 1000.0

    def compilations(self) -> int:
        return self._compilations

    def capture(self, call: Callable[[], Any]) -> GraphReplay:
        try:
            replay = self._captured(call)
        except NotCapturableError:
            # torch leaves its generator in capture mode when a capture fails, and every later draw would fail: a good one resets it.
            with contextlib.suppress(NotCapturableError):
                self._captured(self._sum.zero_)
            raise
        if self._external and not _tells_time(self, replay):
            self._external = False
            return self.capture(call)
        return replay

    def _captured(self, call: Callable[[], Any]) -> GraphReplay:
        if self._capture_stream is None:
            self._capture_stream = torch.cuda.Stream()
        # Not torch.cuda.graph(): it empties the allocator's cache on entry, which costs more than the whole block.
        graph = torch.cuda.CUDAGraph()
        marks = [torch.cuda.Event(enable_timing=True, external=True) for _ in range(2)] if self._external else []
        torch.cuda.synchronize()
        failure: Optional[Exception] = None
        kept: Any = None
        with torch.cuda.stream(self._capture_stream):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                if marks:
                    marks[0].record()
                kept = call()
                if marks:
                    marks[1].record()
            except Exception as error:  # noqa: BLE001  whatever the user's call raises under capture: it is then timed another way
                failure = error
            finally:
                try:
                    graph.capture_end()
                except RuntimeError as error:
                    failure = failure or error
        torch.cuda.synchronize()
        if failure is not None:
            raise NotCapturableError(str(failure)) from failure
        return GraphReplay(self, graph, marks, kept)


class GraphReplay:
    """A captured call. With event nodes in the graph the time is from its first to its last device activity; else of the whole replay."""

    def __init__(self, device: CudaDevice, graph: Any, marks: list[Any], kept: Any) -> None:
        self._device = device
        self._graph = graph
        self._marks = marks
        self._kept = kept  # the outputs live as long as the graph that writes them
        self._outside = not marks

    def run(self) -> None:
        if self._outside:
            first = self._device.mark()
            self._graph.replay()
            self._marks = [first, self._device.mark()]
        else:
            self._graph.replay()

    def elapsed_us(self) -> float:
        return self._device.elapsed_us(self._marks[0], self._marks[1])


def _tells_time(device: CudaDevice, replay: GraphReplay) -> bool:
    """Whether the driver keeps the times of event nodes: one replay says."""
    replay.run()
    device.synchronize()
    try:
        return replay.elapsed_us() > 0.0
    except RuntimeError:
        return False


def _external_events() -> bool:
    """Events as nodes of a graph: torch 2.7 and newer."""
    try:
        torch.cuda.Event(enable_timing=True, external=True)
    except TypeError:
        return False
    return True


def _count_compilations(seen: Callable[[], None]) -> None:
    """Calls ``seen`` for each specialisation that Triton compiles or loads. A listener that is set goes on being told.

    Not through the launch hooks of ``JITFunction`` where it can be helped: they serialise the constants of a launch, which fails for some.
    """
    knobs = getattr(triton, "knobs", None)
    if knobs is not None and hasattr(knobs.compilation, "listener"):
        listener = knobs.compilation.listener

        def listen(*args: Any, **kwargs: Any) -> None:
            seen()
            if listener is not None:
                listener(*args, **kwargs)

        knobs.compilation.listener = listen
        return
    from triton.runtime.jit import JITFunction  # before Triton 3.4

    hooks = cast("Any", JITFunction)
    before = hooks.compiled_hook

    def hook(*args: Any, **kwargs: Any) -> Any:
        seen()
        return before(*args, **kwargs) if before is not None else None

    hooks.compiled_hook = staticmethod(hook)
