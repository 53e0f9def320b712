"""A simulated GPU with a clock of its own: a host that submits, a stream that works it off, a cache to flush. For tests only."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from kernelband_worker.measure.device import Side


@dataclass
class Program:
    """A call as the simulation sees it. Times in microseconds; ``device_us`` is with a cold cache, ``warm`` the factor with a warm one."""

    device_us: float
    host_us: float = 30.0
    warm: float = 1.0
    noise: float = 0.0
    synchronises: bool = False
    elsewhere_us: float = 0.0  # on another stream
    restore_us: float = 1.0
    compiles: int = 0  # so many calls compile something first
    tunes_every: int = 0  # so many calls its autotuner times a configuration
    calls: int = 0
    runs: int = 0


@dataclass
class SimulatedDevice:
    seed: int = 0
    host: float = 0.0  # µs
    stream: float = 0.0  # µs at which the stream is idle
    other: float = 0.0
    cold: bool = False
    compiled: int = 0
    tuned: int = 0
    flushes: int = 0
    hiccup: Callable[[], float] = lambda: 0.0
    random: random.Random = field(default_factory=lambda: random.Random(0))
    log: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.host * 1e-6

    def synchronize(self) -> None:
        self.host = max(self.host, self.stream, self.other) + 3.0

    def flush(self) -> None:
        self._enqueue(30.0)
        self.host += 6.0
        self.cold = True
        self.flushes += 1

    def sleep(self, us: float) -> None:
        self.host += 3.0
        self._enqueue(us)

    def mark(self) -> float:
        self.host += 2.0
        return max(self.host, self.stream)

    def wait(self, mark: float) -> None:
        self.host = max(self.host, mark) + 1.0

    def elapsed_us(self, start: float, end: float) -> float:
        return end - start

    def calibrate(self) -> None:
        self.host += 1000.0

    def compilations(self) -> int:
        return self.compiled

    def tunings(self) -> int:
        return self.tuned

    def _enqueue(self, us: float) -> tuple[float, float]:
        start = max(self.host, self.stream)
        self.stream = start + us
        return start, self.stream

    def work(self, program: Program) -> tuple[float, float]:
        us = program.device_us * (1.0 if self.cold else program.warm)
        us *= 1.0 + program.noise * self.random.gauss(0, 1)
        self.cold = False
        program.runs += 1
        return self._enqueue(us)

    def call(self, program: Program) -> None:
        program.calls += 1
        if program.calls <= program.compiles:
            self.compiled += 1
            self.host += 200_000.0
        if program.tunes_every and program.calls % program.tunes_every == 0:
            self.tuned += 1
            self.host += 100_000.0
        self.host += program.host_us + self.hiccup()
        self.work(program)
        if program.elsewhere_us:
            self.other = max(self.host, self.other) + program.elsewhere_us
        if program.synchronises:
            self.synchronize()

    def side(self, program: Program, name: str = "") -> Side:
        def call() -> None:
            self.log.append("call " + name)
            self.call(program)

        def restore() -> None:
            self.log.append("restore " + name)
            self.host += program.restore_us

        return Side(call, restore)
