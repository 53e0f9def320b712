"""Where the database lives, and who may read it.

SQLite's locks and its WAL file don't work over network filesystems, so there the database moves to a local folder, and that is said.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import platformdirs
from attrs import frozen

from kernelband.errors import HistoryError

#: Filesystem types of /proc/mounts on which SQLite must not run.
NETWORK = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.cephfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.goofys",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "fuse.juicefs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "smb3",
        "smbfs",
        "wekafs",
    ]
)


@frozen
class Place:
    """The database file, and a sentence when it isn't where one would look for it."""

    path: Path
    note: str = ""


def find_place(asked: str | None, mounts: str | None = None) -> Place:
    """The database to use: ``--db``, else the user's state folder; a local folder instead when that is on a network.

    Args:
        asked: what the user named, if anything.
        mounts: text in the form of /proc/mounts; read from the system when None.
    """
    path = Path(asked).expanduser().absolute() if asked else platformdirs.user_state_path("kernelband") / "history.db"
    kind = filesystem(path, _mounts() if mounts is None else mounts)
    if kind not in NETWORK:
        return Place(path)
    local = _local_folder() / f"{_name_of(path)}.db"
    return Place(local, f"{path} is on a network filesystem ({kind}), where SQLite can lose data: the history is kept in {local} instead.")


def filesystem(path: Path, mounts: str) -> str:
    """The type of the filesystem that holds ``path`` (which need not exist), "" when unknown."""
    real = os.path.realpath(path)
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")  # octal escapes
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def create_private(path: Path) -> None:
    """Make the folder (0700) and an empty file (0600) unless they exist.

    Raises:
        HistoryError: that isn't possible.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # never a descriptor of one that exists: see store.py
            os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise HistoryError(f"The history can't be kept in {path}: {error.strerror}. Name another file with --db.") from error


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""  # not Linux: nothing to know


def _local_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    base = Path("/var/tmp") if Path("/var/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108 - survives a reboot; 0700 below
    folder = base / f"kernelband-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode) or (hasattr(os, "getuid") and info.st_uid != os.getuid()):
        raise HistoryError(f"{folder} belongs to someone else, so the history can't be kept there: name another file with --db.")
    return folder


def _name_of(path: Path) -> str:
    from hashlib import sha256

    return f"history-{sha256(os.fsencode(path)).hexdigest()[:12]}"
