"""What the loop needs of worker and compilers: one small interface, so that the loop can be tried without a GPU or a process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from attrs import frozen

from kernelband.hardware import Device
from kernelband.judge.protocol import Executor
from kernelband_worker.wire import Case, CompileFacts, Environment, LaunchFacts, SpecialiseResult, TrafficResult, VariantFiles


@frozen
class Built:
    """What a program launches on the cases, the compile facts by LaunchSpec key, and, measured mode only, its traffic by case id.

    ``late``: cases of the original that aren't in it, for what it launches on them took too long to compile.
    """

    specialised: SpecialiseResult
    facts: dict[str, CompileFacts]
    traffic: dict[str, list[LaunchFacts]] | None = None
    late: frozenset[str] = frozenset()


class Lab(Protocol):
    """The worker of a run with its executors. Thread-safe: the loop measures while a second thread specialises and compiles."""

    @property
    def measured(self) -> bool:
        """Whether there is a GPU to measure on; else everything is predicted."""
        ...

    @property
    def device(self) -> Device: ...

    @property
    def builders(self) -> int:
        """How many programs compile at once."""
        ...

    @property
    def environment(self) -> Environment: ...

    def keep(self, texts: Mapping[str, str], paths: Iterable[str]) -> VariantFiles:
        """Serve these texts of a variant to executors from now on."""
        ...

    def measuring(self) -> Executor:
        """The executor that checks and times; a fresh one after a fault."""
        ...

    def open_ahead(self, case: Case) -> None:
        """Have the measuring executor import the case's program in the background, if there is a GPU: nobody waits for it, and where it
        fails, the first call on a case will say why.
        """
        ...

    def import_ahead(self, modules: Sequence[str]) -> None:
        """Have those that compile import modules in the background, if there is a GPU and they were started ahead."""
        ...

    def fresh(self, name: str) -> Executor:
        """An executor of its own, with the session open: the final's ``MakeExecutor``."""
        ...

    def count(self, files: VariantFiles | None, cases: Sequence[str]) -> Future[TrafficResult]:
        """Interpret a few programs of each launch of a variant (None: the original). Fails as ``build``."""
        ...

    def build_references(self, cases: Sequence[Case]) -> None:
        """Begin to compile what the original launches on float64 inputs, so that the first check doesn't. Where it fails, the check finds
        that there is no reference.
        """
        ...

    def references_built(self) -> None:
        """Wait for that, if it doesn't take too long."""
        ...

    def make_way(self, lock: str | None) -> None:
        """For the final, which needs the cores and the GPU's memory: what is compiled or interpreted is given up, in the background, and
        nothing more is begun; the measuring executor lets go of the inputs that it keeps. ``lock``: of the GPU.
        """
        ...

    def build(self, files: VariantFiles | None, cases: Sequence[Case]) -> Future[Built]:
        """Learn what a variant (None: the original) launches on the replayable cases, with launches suppressed, and compile all of it;
        beside a GPU also count the traffic of the timing cases.

        The future fails with the KernelBandError of the step that went wrong; ``faults.fault_of`` tells whether the variant is to blame.
        """
        ...
