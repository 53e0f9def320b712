"""The kernels of whole folders, found by reading their files. A file that hasn't changed since is not read again."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence

from attrs import frozen

from kernelband.errors import HistoryError, SourceError
from kernelband.lsp.findings import Findings
from kernelband.lsp.standings import Memory, Standing, standing
from kernelband.lsp.text import Lines
from kernelband.source import Workspace, find_kernels
from kernelband.source.model import Kernel

MOST_FILES = 5000
LOOK_S = 3.0  # for one look; what it doesn't get to is left to the next one
_Stat = tuple[int, int]


@frozen
class Found:
    """A kernel of a file on the disk. ``line`` is that of its name, from 0; ``standing`` None where the history knows nothing."""

    path: str
    kernel: str
    line: int
    standing: Standing | None


@frozen
class _Read:
    """A file as it was read last."""

    stat: _Stat
    kernels: tuple[tuple[Kernel, int], ...]  # with the line of the name


class Catalog:
    """``look`` is for a thread, one at a time."""

    def __init__(self) -> None:
        self._files: dict[str, _Read] = {}
        self._memory = Memory()

    def look(
        self, folders: Sequence[str], opened: Collection[str], findings: Findings, *, look_s: float = LOOK_S
    ) -> tuple[list[Found], bool]:
        """Kernels of the folders' files, and whether there may be more than these.

        Args:
            folders: resolved paths.
            opened: paths of open documents, which are left out: their text isn't the file's.
            findings: what the history knows.
            look_s: seconds after which no further file is read.
        """
        end, out, seen = time.monotonic() + look_s, list[Found](), dict[str, _Read]()
        truncated = False
        for folder in folders:
            workspace = Workspace([folder])
            for number, path in enumerate(workspace.files(folder, MOST_FILES), 1):
                truncated = truncated or number == MOST_FILES or time.monotonic() > end
                if truncated:
                    break
                if path in opened or path in seen:
                    continue
                read = self._read(workspace, path)
                if read is not None:
                    seen[path] = read
                    out += [Found(path, k.place.qualname, line, self._standing(workspace, path, k, findings)) for k, line in read.kernels]
        self._files = {**self._files, **seen} if truncated else seen
        return out, truncated

    def _read(self, workspace: Workspace, path: str) -> _Read | None:
        """None for a file that is gone, or that is no Python at the moment."""
        try:
            stat = os.stat(path)
        except OSError:
            return None
        now, known = (stat.st_mtime_ns, stat.st_size), self._files.get(path)
        if known is not None and known.stat == now:
            return known
        kernels: tuple[tuple[Kernel, int], ...] = ()
        if workspace.mentions(path, "triton"):
            try:
                text = workspace.read(path)
                lines = Lines(text)
                kernels = tuple((k, lines.line(k.name_span.start)) for k in find_kernels(path, text))
            except SourceError:
                return None
        return _Read(now, kernels)

    def _standing(self, workspace: Workspace, path: str, kernel: Kernel, findings: Findings) -> Standing | None:
        if not (findings.find(path, kernel.place.qualname).runs or findings.has_named(kernel.place.name)):
            return None
        try:
            texts: Mapping[str, str] = {path: workspace.read(path)}
            return standing(findings, path, kernel, texts, self._memory)
        except (HistoryError, SourceError):  # it has changed this moment; the history's own problem is said by hovers
            return None
