"""The kernels of all Python files below a folder. A file that is as it was isn't read again, in this process or a later one.

What was found is kept in the user's cache folder, a file for each folder: a line of JSON for each Python file. It may be deleted any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import platformdirs
from attrs import field, frozen

from kernelband import __version__
from kernelband.errors import SourceError
from kernelband.source.encoding import MAX_FILE_BYTES, decode, require_size
from kernelband.source.folders import python_files
from kernelband.source.listed import Listed, list_kernels
from kernelband.source.private import write_private

MOST_FILES = 50_000
LARGEST = MAX_FILE_BYTES // 4  # bytes of a file that is read without being named: the tree of one takes a hundred times as much memory
WORTH = 100  # files: where fewer were read, reading them again costs less than writing down what was found
KEPT = 30  # folders, those that were written last
HEAD = {"kernelband": __version__, "format": 1}

log = logging.getLogger(__name__)


def default_cache() -> Path:
    """Never in a workspace."""
    return platformdirs.user_cache_path("kernelband") / "kernels"


@frozen
class Look:
    """``kernels`` by path, of the files that have any; ``problems``: why others can't be read. ``truncated``: there may be more."""

    kernels: Mapping[str, tuple[Listed, ...]]
    problems: tuple[str, ...] = ()
    truncated: bool = False


@frozen
class _Read:
    """A file as it was read last: its time of change in ns and its size in bytes."""

    stat: tuple[int, int]
    kernels: tuple[Listed, ...] = ()
    problem: str = field(default="", kw_only=True)


class Census:
    """For one thread at a time.

    Args:
        folder: a resolved path.
        cache: the folder that keeps what was found.
        deepest: how many folders below it are looked into; None is what fits the folder, as ``python_files`` has it.
    """

    def __init__(self, folder: str, cache: Path | None = None, deepest: int | None = None) -> None:
        self.folder, self._deepest = folder, deepest
        key = hashlib.sha256(f"{folder}\0{deepest}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self._kept = (cache or default_cache()) / f"{key}.jsonl"
        self._files: dict[str, _Read] | None = None  # by path; None before the first look
        self._new = 0  # of these, read since they were written down

    def look(self, *, without: Collection[str] = (), look_s: float = math.inf) -> Look:
        """The kernels as the files are now.

        Args:
            without: paths that are left out.
            look_s: seconds after which no further file is looked at; the next look begins with what this one has read.
        """
        end = time.monotonic() + look_s
        known = self._files if self._files is not None else dict(_kept(self._kept, self.folder))
        seen: dict[str, _Read] = {}
        late = truncated = False
        for number, path in enumerate(python_files(self.folder, self._deepest)):
            late = time.monotonic() > end
            truncated = late or number >= MOST_FILES
            if truncated:
                break
            read = self._look_at(path, known.get(path))
            if read is not None:
                seen[path] = read
        self._files = {**known, **seen} if truncated else seen
        if self._new >= WORTH and not late:
            _keep(self._kept, self.folder, self._files)
            self._new = 0
        here = {path: read for path, read in seen.items() if path not in without}
        kernels = {path: read.kernels for path, read in here.items() if read.kernels}
        return Look(kernels, tuple(read.problem for read in here.values() if read.problem), truncated)

    def _look_at(self, path: str, known: _Read | None) -> _Read | None:
        """None for a file that is gone."""
        try:
            found = os.stat(path)
            stat = (found.st_mtime_ns, found.st_size)
            if known is not None and known.stat == stat:
                return known
            read = _Read(stat, _kernels(path, found.st_size))
            self._new += 1
            return read
        except FileNotFoundError:
            return None
        except OSError as error:
            return _Read((0, 0), problem=f"{path} can't be read: {error.strerror}.")
        except SourceError as error:
            return _Read((0, 0), problem=error.message)


def _kernels(path: str, size: int) -> tuple[Listed, ...]:
    require_size(path, size)
    data = Path(path).read_bytes()
    if b"triton" not in data or b"jit" not in data.lower():  # told from the bytes: of nearly all files nothing else is needed
        return ()
    if size > LARGEST:
        raise SourceError(
            f"{path} has {size:,} bytes, more than the {LARGEST:,} that are read when its folder is listed: name the file itself."
        )
    return list_kernels(path, decode(data, path)[0])


# ------------------------------------------------------------ what is kept


def _kept(path: Path, folder: str) -> Iterator[tuple[str, _Read]]:
    """Nothing where it is of another version, or is no such file."""
    try:
        with path.open(encoding="utf-8") as file:
            if json.loads(file.readline()) != HEAD:
                return
            for line in file:
                name, stat, kernels = json.loads(line)
                yield os.path.join(folder, name), _Read((int(stat[0]), int(stat[1])), tuple(_listed(k) for k in kernels))
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, IndexError, RecursionError) as error:
        log.warning("What was found in %s before can't be read, so its files are read again: %s", folder, error)


def _keep(path: Path, folder: str, files: Mapping[str, _Read]) -> None:
    """Whole or not at all, for the user only."""
    try:
        rows = (
            [os.path.relpath(name, folder), read.stat, [_as_json(k) for k in read.kernels]]
            for name, read in files.items()
            if not read.problem
        )
        write_private(path, "".join(f"{json.dumps(row)}\n" for row in (HEAD, *rows)))
        for old in sorted(path.parent.glob("*.jsonl"), key=lambda p: p.stat().st_mtime_ns)[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        log.warning("What was found in %s can't be kept, so its files are read again next time: %s", folder, error)


def _as_json(kernel: Listed) -> list[Any]:
    return [kernel.qualname, kernel.line, kernel.parameters, kernel.constexprs]


def _listed(found: list[Any]) -> Listed:
    qualname, line, parameters, constexprs = found
    return Listed(str(qualname), int(line), tuple(map(str, parameters)), tuple(map(str, constexprs)))
