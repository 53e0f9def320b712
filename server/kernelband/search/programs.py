"""The programs of a run by variant: texts, patch to the base, what was found in them, and their compile facts."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from kernelband.errors import SourceError
from kernelband.source import form
from kernelband.source.model import Patch, Program
from kernelband_worker.wire import CompileFacts

Finder = Callable[[dict[str, str]], Program]


@define
class Programs:
    """``find`` reads a program from the texts of its files. Programs of variants are read when first asked for."""

    base: Program
    find: Finder
    _texts: dict[int, dict[str, str]] = field(factory=dict[int, dict[str, str]])
    _patches: dict[int, Patch] = field(factory=dict[int, Patch])
    _read: dict[int, Program] = field(factory=dict[int, Program])
    _facts: dict[int, dict[str, CompileFacts]] = field(factory=dict[int, dict[str, CompileFacts]])

    def __attrs_post_init__(self) -> None:
        self._texts[0], self._patches[0], self._read[0] = dict(self.base.texts), Patch(), self.base

    def add(self, variant: int, patch: Patch, facts: dict[str, CompileFacts]) -> None:
        """A variant by its patch to the base texts."""
        self._patches[variant] = patch
        self._texts[variant] = patch.apply(dict(self.base.texts))
        self._facts[variant] = facts

    def set_facts(self, variant: int, facts: dict[str, CompileFacts]) -> None:
        """Compile facts that became known later."""
        self._facts[variant] = facts

    def __contains__(self, variant: int) -> bool:
        return variant in self._patches

    def program(self, variant: int) -> Program:
        """Kernel, helpers and hosts of a variant.

        Raises:
            SourceError: the kernel is no longer found in its text.
        """
        if variant not in self._read:
            self._read[variant] = self.find(self._texts[variant])
        return self._read[variant]

    def form(self, variant: int, patch: Patch) -> str | None:
        """The form of a variant's program, by which its text is known again; None where the kernel is no longer found in it. ``patch``: of
        one that wasn't added, since it isn't right.
        """
        try:
            return form(self.program(variant) if variant in self else self.find(patch.apply(dict(self.base.texts))))
        except SourceError:
            return None

    def texts(self, variant: int) -> dict[str, str]:
        """Its files."""
        return self._texts[variant]

    def patch(self, variant: int) -> Patch:
        """Relative to the base texts."""
        return self._patches[variant]

    def facts(self, variant: int) -> dict[str, CompileFacts]:
        """Compile facts by launch key; empty when unknown."""
        return self._facts.get(variant, {})
