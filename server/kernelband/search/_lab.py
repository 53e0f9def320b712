"""What the loop needs of worker and compilers: one small interface, so that the loop can be tried without a GPU or a process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from kernelband.errors import KernelBandError
from kernelband.hardware import Device
from kernelband.judge.protocol import Executor
from kernelband_worker.wire import CompileFacts, Environment, LaunchSpec, SpecialiseResult, VariantFiles

#: Facts by LaunchSpec key, or why it did not compile.
Compiled = dict[str, CompileFacts | KernelBandError]


class Lab(Protocol):
    """The worker of a run with its executors. Thread-safe: the loop measures while a second thread specialises and compiles."""

    @property
    def measured(self) -> bool:
        """Whether there is a GPU to measure on; else everything is predicted."""
        ...

    @property
    def device(self) -> Device: ...

    @property
    def environment(self) -> Environment: ...

    def keep(self, texts: Mapping[str, str], paths: Iterable[str]) -> VariantFiles:
        """Serve these texts of a variant to executors from now on."""
        ...

    def measuring(self) -> Executor:
        """The executor that checks and times; a fresh one after a fault."""
        ...

    def faulted(self) -> None:
        """The measuring executor can't be trusted any more."""
        ...

    def fresh(self, name: str) -> Executor:
        """An executor of its own, with the session open: the final's ``MakeExecutor``."""
        ...

    def specialise(self, files: VariantFiles | None, cases: Sequence[str]) -> SpecialiseResult:
        """What a variant (None: the original) would launch on the cases, nothing launched."""
        ...

    def specialise_all(self, variants: Sequence[VariantFiles], cases: Sequence[str]) -> list[SpecialiseResult | KernelBandError]:
        """The same for several variants; in place of a result, why there is none."""
        ...

    def compile(self, variants: Mapping[str, tuple[VariantFiles | None, Sequence[LaunchSpec]]]) -> dict[str, Compiled]:
        """Compile the launches of several variants at once in the pool; equal keys of one variant once."""
        ...
