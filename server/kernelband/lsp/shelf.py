"""Read-only files for clients that can't ask for a document's content: in a folder of this server's process, gone with it.

The folder is named by host, process id and start time, so that the next server can tell those of dead ones and remove them.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from pathlib import Path
from threading import Lock

import platformdirs

from kernelband.errors import SourceError
from kernelband.history import Owner, this_process
from kernelband.history.process import is_alive

OLD_S = 7 * 86_400.0  # of a folder whose server can't be asked about: another host's, or a system that doesn't tell

log = logging.getLogger(__name__)


def default_root() -> Path:
    """In the user's cache: never in a workspace."""
    return platformdirs.user_cache_path("kernelband") / "documents"


class Shelf:
    """The files of one server. Its methods write and delete: call them in a thread.

    Args:
        root: holds a folder for each server.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root or default_root()
        self.folder = self._root / _name(this_process())
        self._lock = Lock()
        self._removed = False

    def put(self, parts: tuple[str, ...], text: str) -> Path:
        """A file (0444) of that text below the folder; one that is there already becomes it.

        Raises:
            SourceError: it can't be written.
        """
        path = self.folder.joinpath(*parts)
        with self._lock:
            if self._removed:
                raise SourceError(f"{path.name} isn't shown: the server is shutting down.")
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(path, text)
            except OSError as error:
                raise SourceError(
                    f"{path} can't be written: {error.strerror or error}. Free the place, or change its permissions."
                ) from error
        return path

    def remove(self) -> None:
        """All of it, for good."""
        with self._lock:
            self._removed = True
            _remove(self.folder)

    def sweep(self) -> None:
        """Remove what dead servers left. Those that may live keep theirs."""
        try:
            found = [path for path in self._root.iterdir() if path != self.folder and _is_left(path)]
        except OSError:  # there are none
            return
        for folder in found:
            _remove(folder)


def _name(owner: Owner) -> str:
    return f"{owner.pid}_{owner.process or 'unknown'}_{owner.host}"


def _is_left(folder: Path) -> bool:
    pid, _, rest = folder.name.partition("_")
    process, _, host = rest.partition("_")
    if not pid.isdecimal() or not host:
        return False  # none of ours
    alive = is_alive(Owner("", host, int(pid), "" if process == "unknown" else process))
    if alive is not None:
        return not alive
    try:
        return time.time() - folder.stat().st_mtime > OLD_S
    except OSError:
        return False


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    number, new = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        os.chmod(new, 0o444)
        if os.name == "nt" and path.exists():
            path.chmod(0o600)  # Windows replaces no read-only file
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def _remove(folder: Path) -> None:
    if not folder.is_dir() or folder.is_symlink():
        return
    if os.name == "nt":  # Windows removes no read-only file
        for path in folder.rglob("*"):
            path.chmod(0o700)
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return  # another server swept it at the same time
    except OSError as error:
        log.warning("A folder of shown documents can't be removed: %s", error)
