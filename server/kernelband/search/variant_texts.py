"""Programs in the texts of variants. No edit leaves the files of the original, so no other file is searched again."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from kernelband.search.start import Setup, entry_file
from kernelband.source import Texts, Workspace, find_others, find_program
from kernelband.source.model import Program


@define
class VariantTexts:
    """Of one run. ``near``: the texts in which something of the original's was found, by path, those that no edit changes, too."""

    setup: Setup
    near: dict[str, str] = field(init=False)
    _others: tuple[Program, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """The whole workspace is searched once: in a large one that takes seconds."""
        workspace, base = self.setup.workspace, self.setup.program
        self._others = find_others(workspace, base)
        found = {path for p in (base, *self._others) for path in (*p.texts, *(path for path, _ in p.handed_on))}
        self.near = {path: workspace.read(path) for path in sorted(found)}

    def program(self, texts: Mapping[str, str]) -> Program:
        """The kernel's.

        Raises:
            SourceError: it is no longer there.
        """
        return find_program(self._workspace(texts), self.setup.options.path, self.setup.program.kernel.place.qualname)

    def others(self, program: Program) -> tuple[Program, ...]:
        """Those of other kernels that its host functions launch."""
        if program is self.setup.program:
            return self._others
        known = {p.kernel.place for p in self._others}
        found = find_others(self._workspace(program.texts), program) if known else ()
        return tuple(p for p in found if p.kernel.place in known)

    def _workspace(self, texts: Mapping[str, str]) -> Workspace:
        options = self.setup.options
        overlays = {**options.overlays, **self.near, **texts}
        return Texts.for_file(options.path, overlays, entry=entry_file(options.entry, options.path))
