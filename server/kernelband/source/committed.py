"""The text of a file at a commit. ``git`` is asked for what it keeps, and nothing more: no hook, filter or remote of the repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kernelband.errors import SourceError
from kernelband.source.ipynb import decode_file

GIT_S = 10.0
#: Nothing is asked, fetched or locked, and the repository's own watcher isn't started.
QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat", "LC_ALL": "C"}
SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never")


def committed_text(path: str, ref: str) -> str | None:
    """The file as it is at ``ref``, decoded as Python would; None where that commit hasn't the file.

    Args:
        path: absolute.
        ref: what git takes for a commit.

    Raises:
        SourceError: no git, no repository, no such commit, or bytes that aren't Python text.
    """
    folder, name = os.path.split(os.path.realpath(path))
    commit = require_commit(folder, ref)
    found = _git(folder, "cat-file", "blob", f"{commit}:./{name}")
    return decode_file(found.stdout, path, f"{path} at {ref}")[0] if found.returncode == 0 else None


def require_commit(folder: str, ref: str) -> str:
    """The full name of the commit.

    Raises:
        SourceError: no git, no repository around the folder, or no such commit in it.
    """
    if _git(folder, "rev-parse", "--git-dir").returncode != 0:
        raise SourceError(f"{folder} is in no git repository, so nothing is committed there: name a file to compare with instead.")
    found = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if found.returncode != 0:
        raise SourceError(f"There is no commit {ref} in the repository of {folder}: check its name.")
    return found.stdout.decode("ascii").strip()


def _git(folder: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Its output; 10 s at most."""
    try:
        return subprocess.run(
            ["git", "-C", str(Path(folder)), *SAFE, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_S,
            check=False,
            env={**os.environ, **QUIET},
        )
    except FileNotFoundError as error:
        raise SourceError(
            "Committed text can't be read, because git isn't installed: install it, or name a file to compare with."
        ) from error
    except OSError as error:
        raise SourceError(f"git can't be started: {error.strerror}.") from error
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"git did not answer within {GIT_S:g} s in {folder}: is the file system there?") from error
