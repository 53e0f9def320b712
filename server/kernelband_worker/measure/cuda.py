"""The GPU behind the ``Device`` protocol: torch's current stream and its events. Also ROCm, where torch calls it cuda too.

It never changes a setting of the GPU (clocks, power, persistence). Make it before any of the user's code is imported: what it calls is
bound then.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, cast

import torch
import triton
from triton.runtime.autotuner import Autotuner

from kernelband_worker.measure import bound
from kernelband_worker.measure.spin import make_spin

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
        events: Any = torch._C._CudaEventBase
        self._event, self._record, self._elapsed, self._reached = events, events.record, events.elapsed_time, events.synchronize
        self._synchronize, self._sleep = torch._C._cuda_synchronize, torch.cuda._sleep
        self._stream = torch.cuda.current_stream()
        self._handle = int(self._stream.cuda_stream)
        self._spin = make_spin(properties.multi_processor_count, int(getattr(properties, "max_threads_per_multi_processor", 1024)))
        self._compilations = self._tunings = 0
        _count_compilations(self._compiled)
        _count_tunings(self._tuned)

    def _compiled(self) -> None:
        self._compilations += 1

    def _tuned(self) -> None:
        self._tunings += 1

    def now(self) -> float:
        return bound.now()

    def synchronize(self) -> None:
        self._synchronize()

    def flush(self) -> None:
        # Reading leaves clean lines; a zeroed buffer would leave dirty ones, whose write-back the next kernel would pay for.
        bound.total(self._clean, dim=0, out=self._sum)

    def calibrate(self) -> None:
        """Cycles of ``_sleep`` per microsecond, at the clocks of now: call it when the device is warm."""
        if self._spin is not None:
            return
        self._sleep(CALIBRATION_CYCLES // 10)
        first = self.mark()
        self._sleep(CALIBRATION_CYCLES)
        last = self.mark()
        self.synchronize()
        self._cycles_per_us = CALIBRATION_CYCLES / max(1.0, self.elapsed_us(first, last))

    def sleep(self, us: float) -> None:
        if us <= 0:
            return
        if self._spin is not None:
            self._spin(us, self._handle)
            return
        if self._cycles_per_us is None:
            self.calibrate()
        self._sleep(int(us * (self._cycles_per_us or 0.0)))

    def mark(self) -> Any:
        event = self._event(enable_timing=True)
        self._record(event, self._stream)
        return event

    def wait(self, mark: Any) -> None:
        self._reached(mark)

    def elapsed_us(self, start: Any, end: Any) -> float:
        return float(self._elapsed(start, end)) * 1000.0

    def compilations(self) -> int:
        return self._compilations

    def tunings(self) -> int:
        return self._tunings


def _count_tunings(seen: Callable[[], None]) -> None:
    """Calls ``seen`` for each configuration that an autotuner times; calls that tune nothing take no longer."""
    bench: Callable[..., Any] = Autotuner._bench

    def counted(*args: Any, **kwargs: Any) -> Any:
        seen()
        return bench(*args, **kwargs)

    setattr(Autotuner, "_bench", counted)  # noqa: B010 - a method of Triton's, for as long as this process measures


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
