"""Where bytecode goes in an executor: into the run's scratch folder, so that nothing is written beside the user's files.

Many Pythons have none beside their libraries (uv compiles none, images are made without, folders can't be written to), and each of a run's
dozens of processes would compile anew what the user's program imports: 10 s of it before each first call, where a project imports
transformers and torch.compile's half of torch (H100 machine, 2026-11-26).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import sys
import time
from typing import Any, Callable, Iterator, Optional

_EXTERNAL = "_frozen_importlib_external"  # where import's own code looks up cache_from_source
_UNCHECKED = 1  # the flags of bytecode that is taken as it is (PEP 552)
_OLD_S = 2.0  # bytecode knows its source's time by the second
_ROOM_BYTES = 1 << 29  # on a full disk older Pythons write half of a file, and later processes read it

_folder: Optional[str] = None  # given to ``keep_in``


def keep_in(folder: str) -> None:
    """From now on: what stands beside a source and is of it is read, and all else is written to and read from below ``folder``, an absolute
    path. A source that was written since (programs write modules, and may write one anew within a second) has no bytecode at all.

    Where the user has a folder of their own for it (PYTHONPYCACHEPREFIX), that stays.
    """
    global _folder
    if sys.pycache_prefix is not None:
        return
    external: Any = sys.modules.get(_EXTERNAL)
    usual: Optional[Callable[..., str]] = getattr(external, "cache_from_source", None)
    if usual is None or shutil.disk_usage(os.path.dirname(folder)).free < _ROOM_BYTES:
        sys.dont_write_bytecode = True
        return
    old = time.time() - _OLD_S

    def cache_from_source(path: Any, debug_override: Optional[bool] = None, *, optimization: Any = None) -> str:
        if sys.pycache_prefix != folder:
            return usual(path, debug_override, optimization=optimization)
        try:
            below = usual(path, debug_override, optimization=optimization)
            now = os.stat(path)
        except (IndexError, OSError) as error:  # of a relative path without a folder, and of a source that isn't on the disk
            raise NotImplementedError from error
        beside = _beside(os.fspath(path), os.path.basename(below), now)
        if beside is None and now.st_mtime > old:
            raise NotImplementedError  # what import expects where there is no bytecode
        return beside or below

    sys.dont_write_bytecode, sys.pycache_prefix, _folder = False, folder, folder
    external.cache_from_source = cache_from_source


@contextlib.contextmanager
def of_libraries() -> Iterator[None]:
    """Meanwhile as in any run of this Python: what its libraries leave beside them serves later runs, too."""
    was = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode = bool(sys.flags.dont_write_bytecode)
    if sys.pycache_prefix == _folder:
        sys.pycache_prefix = None
    try:
        yield
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = was


def _beside(source: str, name: str, now: os.stat_result) -> Optional[str]:
    """The bytecode in the source's own folder, if it is of the source as that is now: else import would write it anew there."""
    found = os.path.join(os.path.dirname(source), "__pycache__", name)
    try:
        with open(found, "rb") as file:
            head = file.read(16)
    except OSError:
        return None
    flags, size = int.from_bytes(head[4:8], "little"), int.from_bytes(head[12:16], "little")
    if head[:4] != importlib.util.MAGIC_NUMBER or len(head) < 16:
        return None
    if flags:
        return found if flags == _UNCHECKED else None
    fresh = int.from_bytes(head[8:12], "little") == int(now.st_mtime) & 0xFFFFFFFF and size == now.st_size & 0xFFFFFFFF
    return found if fresh else None
