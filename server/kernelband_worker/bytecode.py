"""Where bytecode goes in an executor: into the run's scratch folder, so that nothing is written beside the user's files.

Many Pythons have none beside their libraries (uv compiles none, images are made without, folders can't be written to), and each of a run's
dozens of processes would compile anew what the user's program imports: 10 s of it before each first call, where a project imports
transformers and torch.compile's half of torch (H100 machine, 2026-11-26).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from typing import Any, Callable, Iterator, Optional

_EXTERNAL = "_frozen_importlib_external"  # where import's own code looks up cache_from_source
_UNCHECKED = 1  # the flags of bytecode that is taken as it is (PEP 552)


def keep_in(folder: str) -> None:
    """From now on: what stands beside a source and is of it is read, and all else is written to and read from below ``folder``.

    Where the user has a folder of their own for it (PYTHONPYCACHEPREFIX), that stays.
    """
    if sys.pycache_prefix is not None:
        return
    external: Any = sys.modules.get(_EXTERNAL)
    usual: Optional[Callable[..., str]] = getattr(external, "cache_from_source", None)
    if usual is None:
        sys.dont_write_bytecode = True  # a Python that imports in another way
        return

    def cache_from_source(path: Any, debug_override: Optional[bool] = None, *, optimization: Any = None) -> str:
        below = usual(path, debug_override, optimization=optimization)
        return below if sys.pycache_prefix is None else _beside(os.fspath(path), os.path.basename(below)) or below

    sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    external.cache_from_source = cache_from_source


@contextlib.contextmanager
def of_libraries() -> Iterator[None]:
    """Meanwhile as in any run of this Python: what its libraries leave beside them serves later runs, too."""
    was = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = bool(sys.flags.dont_write_bytecode), _given_prefix()
    try:
        yield
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = was


def _given_prefix() -> Optional[str]:
    return os.environ.get("PYTHONPYCACHEPREFIX") or None


def _beside(source: str, name: str) -> Optional[str]:
    """The bytecode in the source's own folder, if it is of the source as that is now: else import would write it anew there."""
    found = os.path.join(os.path.dirname(source), "__pycache__", name)
    try:
        with open(found, "rb") as file:
            head = file.read(16)
        now = os.stat(source)
    except OSError:
        return None
    flags, size = int.from_bytes(head[4:8], "little"), int.from_bytes(head[12:16], "little")
    if head[:4] != importlib.util.MAGIC_NUMBER or len(head) < 16:
        return None
    if flags:
        return found if flags == _UNCHECKED else None
    fresh = int.from_bytes(head[8:12], "little") == int(now.st_mtime) & 0xFFFFFFFF and size == now.st_size & 0xFFFFFFFF
    return found if fresh else None
