"""The programs of a run by variant: texts, patch to the base, what was found in them, and their compile facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field

from kernelband.errors import SourceError
from kernelband.search.trial import Constants, Trial
from kernelband.source import form
from kernelband.source.model import Kernel, Patch, Program
from kernelband_worker.wire import CompileFacts

Finder = Callable[[dict[str, str]], Program]
FindOthers = Callable[[Program], tuple[Program, ...]]


@define
class Programs:
    """``find`` reads a program from the texts of its files, ``find_others`` those of other kernels that its host functions launch; what
    variants have is read when first asked for. ``original``: compile facts of ``base``, by launch key, and ``given`` its constexprs.
    ``trials``: what was executed, by number.
    """

    base: Program
    find: Finder
    find_others: FindOthers
    original: dict[str, CompileFacts]
    given: Constants = field(factory=Constants)
    trials: dict[int, Trial] = field(factory=dict[int, Trial])
    _read: dict[int, Program] = field(factory=dict[int, Program])
    _others: dict[int, tuple[Program, ...]] = field(factory=dict[int, tuple[Program, ...]])

    def program(self, variant: int) -> Program:
        """Kernel, helpers and hosts of a variant.

        Raises:
            SourceError: the kernel is no longer found in its text.
        """
        return self._found(self.trials[variant]) if variant else self.base

    def others(self, variant: int) -> tuple[Program, ...]:
        """Other kernels that the calls of a variant launch.

        Raises:
            SourceError: the kernel itself is no longer found in its text.
        """
        if variant not in self._others:
            self._others[variant] = self.find_others(self.program(variant))
        return self._others[variant]

    def form(self, trial: Trial) -> str | None:
        """The form of a trial's program, by which its text is known again; None where the kernel is no longer found in it."""
        try:
            return form(self._found(trial))
        except SourceError:
            return None

    def _found(self, trial: Trial) -> Program:
        if trial.number not in self._read:
            self._read[trial.number] = self.find(trial.proposal.patch.apply(dict(self.base.texts)))
        return self._read[trial.number]

    def patch(self, variant: int) -> Patch:
        """Relative to the base texts."""
        return self.trials[variant].proposal.patch if variant else Patch()

    def facts(self, variant: int) -> dict[str, CompileFacts]:
        """Compile facts by launch key; empty when unknown."""
        return self.trials[variant].facts if variant else self.original

    def constants(self, variant: int, kernel: Kernel) -> tuple[dict[str, Any], ...]:
        """Constexprs that a kernel of it is launched with; empty when unknown."""
        return (self.trials[variant].constants if variant else self.given).get(kernel.place, ())
