"""Which Python files of a folder aren't what they were at a commit: by their names in git first, so that few texts are asked for."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelband.errors import SourceError
from kernelband.source.committed import GIT_S, QUIET, SAFE, committed_text, require_commit
from kernelband.source.workspace import Workspace


def differing_files(folder: str, ref: str, texts: Mapping[str, str]) -> dict[str, str | None]:
    """The files below the folder whose text isn't the commit's, with that text; None for one that the commit hasn't.

    Args:
        folder: absolute and resolved.
        ref: what git takes for a commit.
        texts: of open documents, by path, in place of the files.

    Raises:
        SourceError: no git, no repository, no such commit.
    """
    commit = require_commit(folder, ref)
    names = _names(folder, commit)
    workspace = Workspace([folder], texts)
    out: dict[str, str | None] = {}
    for path in workspace.files(folder):
        name = names.get(path)
        try:
            text = workspace.read(path)
            if name is not None and path not in texts and _name(Path(path).read_bytes(), len(name)) == name:
                continue
            old = committed_text(path, commit) if name is not None else None
        except (SourceError, OSError):  # no text that Python reads, then or now
            continue
        if old != text:
            out[path] = old
    return out


def _names(folder: str, commit: str) -> dict[str, str]:
    """The commit's files below the folder, with what git calls their content."""
    listed = _git(folder, ["ls-tree", "-r", "-z", commit])
    out: dict[str, str] = {}
    for line in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, tab, name = line.partition("\t")
        if tab and name.endswith(".py"):
            out[os.path.join(folder, name)] = about.split()[2]
    return out


def _name(content: bytes, digits: int) -> str:
    made = hashlib.sha1(usedforsecurity=False) if digits == 40 else hashlib.sha256()
    made.update(b"blob %d\0" % len(content) + content)
    return made.hexdigest()


def _git(folder: str, words: Sequence[str]) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *SAFE, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_S,
            check=True,
            env={**os.environ, **QUIET},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SourceError(f"git can't list the files of {folder}: {error}.") from error
    return done.stdout
