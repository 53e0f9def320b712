"""In which folders tests and benchmarks may be run, where the one who asks for a run says so: a language server, of what its user trusts.

A person who types a command has said it with that, so without a word everything may run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from kernelband.errors import WorkloadError

Word = TypeVar("Word")
VARIABLE = "KERNELBAND_TRUSTED"


def nearest(folders: Mapping[str, Word], path: str) -> tuple[str | None, Word | None]:
    """The listed folder nearest above ``path`` (resolved), or itself, and its word; None and None where there is none."""
    for folder in (path, *map(str, Path(path).parents)):
        if folder in folders:
            return folder, folders[folder]
    return None, None


def permitted(words: Sequence[Mapping[str, bool]], path: str) -> bool | None:
    """Whether ``path`` (resolved) may run; None where nobody said anything of it.

    The first mapping with a word decides. A later one may only take away, by a No for a folder that is nearer than that word's.
    """
    given: bool | None = None
    near = ""
    for folders in words:
        folder, word = nearest(folders, path)
        if folder is not None and (given is None or (not word and len(folder) > len(near))):
            given, near = word, folder
    return given


def as_environment(words: Sequence[Mapping[str, bool]]) -> dict[str, str]:
    """For the process of a run: folders (resolved) by whether they are trusted, as ``permitted`` takes them."""
    return {VARIABLE: json.dumps([dict(w) for w in words])}


def may_run(path: str) -> bool:
    """Whether this process was told that it may run what is in that file; yes where it was told nothing."""
    told = os.environ.get(VARIABLE)
    if told is None:
        return True
    words: list[dict[str, bool]] = json.loads(told)
    return bool(permitted(words, os.path.realpath(path)))


def require_permission(path: str) -> None:
    """Nothing, where it may run.

    Raises:
        WorkloadError: it may not.
    """
    if not may_run(path):
        folder = os.path.dirname(os.path.realpath(path))
        raise WorkloadError(
            f"Nothing is run in {folder}, because that folder isn't trusted: trust it in your editor, or with `kernelband trust {folder}`.",
            kind="no_entry",
        )
