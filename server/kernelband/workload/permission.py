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


def as_environment(words: Sequence[Mapping[str, bool]]) -> dict[str, str]:
    """For the process of a run: folders (resolved) by whether they are trusted; an earlier mapping's word counts before a later one's."""
    return {VARIABLE: json.dumps([dict(w) for w in words])}


def may_run(path: str) -> bool:
    """Whether this process was told that it may run what is in that file; yes where it was told nothing."""
    told = os.environ.get(VARIABLE)
    if told is None:
        return True
    words: list[dict[str, bool]] = json.loads(told)
    real = os.path.realpath(path)
    return next((word for folders in words if (word := nearest(folders, real)[1]) is not None), False)


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
