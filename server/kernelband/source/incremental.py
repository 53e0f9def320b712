"""The kernels of one text that is being typed: each version is parsed by what changed since the one before.

parso's diff parser keeps the tree of the last version and changes it in place. So these trees are nobody else's: not those of ``parse``,
which are shared, and what is handed out holds no nodes.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import cast
from uuid import uuid4

from parso.cache import parser_cache
from parso.tree import NodeOrLeaf

from kernelband.source.chunks import Key
from kernelband.source.kernels import kernels_of, may_have_kernels
from kernelband.source.model import Kernel
from kernelband.source.scopes import Scopes
from kernelband.source.syntax import tolerant_grammar

log = logging.getLogger(__name__)


class IncrementalKernels:
    """Follows one document. Not for two threads at once; ``close`` it, or its trees stay."""

    def __init__(self) -> None:
        # Text with quotes left open is read a second time without them: two versions of it, each near its own last one.
        self._trees = (_Tree(), _Tree())
        self._broken: dict[Key, bool] = {}  # of the pieces of the last version

    def read(self, path: str, text: str) -> tuple[Kernel, ...]:
        """``find_kernels`` of this version of the text. Never raises; text that is nested too deep to be read has no kernels."""
        if not may_have_kernels(text):
            return ()
        trees = iter(self._trees)
        try:
            scopes = Scopes(text, lambda version: next(trees).parse(version), self._broken)
            self._broken = {c.key: c.broken for c in scopes.chunks}
            return kernels_of(path, scopes)
        except RecursionError:
            log.warning("%s is nested too deep to be read: no kernels are shown.", path)
            self.close()
            return ()

    def close(self) -> None:
        """Lets the trees go. The next version is parsed anew."""
        for tree in self._trees:
            tree.close()


class _Tree:
    def __init__(self) -> None:
        self._name = Path(f"kernelband-{uuid4().hex}")  # parso keeps the last version under a path; it reads no file of that name

    def parse(self, text: str) -> NodeOrLeaf:
        grammar = tolerant_grammar()
        try:
            return cast("NodeOrLeaf", grammar.parse(text, path=self._name, cache=False, diff_cache=True))
        except Exception:  # parso calls this parser experimental; the full one doesn't stand on it
            log.warning("The incremental parser failed; the text is parsed as a whole.", exc_info=True)
            self.close()
            return cast("NodeOrLeaf", grammar.parse(text))

    def close(self) -> None:
        for trees in cast("dict[str, dict[Path, object]]", parser_cache).values():
            trees.pop(self._name, None)
