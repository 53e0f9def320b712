"""The kernels of whole folders with what the history knows of them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from kernelband.errors import HistoryError, SourceError
from kernelband.lsp.findings import Findings
from kernelband.lsp.standings import Memory, Standing, standing
from kernelband.source import Census, Workspace
from kernelband.source.model import Place

LOOK_S = 3.0  # for one look; what it doesn't get to is left to the next one


@frozen
class Found:
    """A kernel of a document or a file. ``line`` is that of its name, from 0; ``standing`` None where the history knows nothing."""

    uri: str
    path: str
    kernel: str
    line: int
    standing: Standing | None


class Catalog:
    """``look`` is for a thread, one at a time.

    Args:
        cache: the folder that keeps what was found, for the next server.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._folders: dict[str, Census] = {}
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
        self._folders = {folder: self._folders.get(folder) or Census(folder, self._cache) for folder in folders}
        end, out = time.monotonic() + look_s, list[Found]()
        seen, truncated = {*opened}, False
        for folder, census in self._folders.items():
            look = census.look(without=seen, look_s=end - time.monotonic())
            seen |= look.kernels.keys()
            truncated = truncated or look.truncated
            workspace = Workspace([folder])
            for path, kernels in look.kernels.items():
                uri = Path(path).as_uri()
                for kernel in kernels:
                    known = self._standing(workspace, Place(path, kernel.qualname), findings)
                    out.append(Found(uri, path, kernel.qualname, kernel.line - 1, known))
        return out, truncated

    def _standing(self, workspace: Workspace, kernel: Place, findings: Findings) -> Standing | None:
        if not (findings.find(kernel.path, kernel.qualname).runs or findings.has_named(kernel.name)):
            return None
        try:
            texts: Mapping[str, str] = {kernel.path: workspace.read(kernel.path)}
            return standing(findings, kernel, texts, self._memory)
        except (HistoryError, SourceError):  # it has changed this moment; the history's own problem is said by hovers
            return None
