"""A variant put into the files of a run, or taken out of them: all of them, or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kernelband.errors import SourceError, StaleText
from kernelband.history import Store, runs
from kernelband.history.records import RunRow
from kernelband.source import Workspace, between, program_in, transplant
from kernelband.source.model import Patch, Program


def rewrite(store: Store, row: RunRow, patch: Patch, *, back: bool = False, output: str | None = None) -> list[str]:
    """The files that were written.

    Args:
        store: open to read.
        row: the run that the patch is of.
        patch: relative to the texts that the run started from.
        back: from the variant to the original.
        output: a folder that gets the edited files, laid out as theirs; None: in place.

    Raises:
        StaleText: the files hold another program than the patch is of.
        SourceError: a file can't be read or written.
    """
    base = runs.base_texts(store, row.id)
    workspace = Workspace.for_file(row.path)
    edited = {f.path for f in patch.files}
    now = {path: _current(workspace, path) for path in base if path in edited or Path(path).exists()}

    def program_of(texts: Mapping[str, str]) -> Program:
        return program_in(texts, row.path, row.kernel)

    if back:
        after = {**base, **patch.apply(base)}
        moved = transplant(between(after, {path: base[path] for path in edited}), after, now, program_of, run="the variant was applied")
    else:
        moved = transplant(patch, base, now, program_of, run=f"run {row.id}")
    texts = moved.apply(now)
    new = {f.path: workspace.encode(f.path, texts[f.path]) for f in moved.files}
    if output is None:
        write_in_place(new, "or use `apply` with --diff or --output DIR")
        return list(new)
    root = os.path.commonpath([os.path.dirname(p) for p in (row.path, *base)])
    elsewhere = {Path(output) / Path(path).relative_to(root): data for path, data in new.items()}
    _write_elsewhere(elsewhere)
    return [str(path) for path in elsewhere]


def _current(workspace: Workspace, path: str) -> str:
    if not Path(path).exists():
        raise StaleText(f"{path} is gone: the variant edits it. Restore it, or use --diff for the patch.")
    return workspace.read(path)


def _write_elsewhere(new: Mapping[Path, bytes]) -> None:
    try:
        for to, data in new.items():
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(data)
    except OSError as error:
        raise SourceError(f"{error.filename or 'A file'} can't be written: {error.strerror}.") from error


def write_in_place(new: Mapping[str, bytes], otherwise: str) -> None:
    """All new contents go to files beside the old ones first, then each is renamed over its file: mode kept, no half-written file.

    Raises:
        SourceError: one can't be written; ``otherwise`` is what to do about a read-only one but making it writable.
    """
    ready: list[tuple[str, str]] = []
    try:
        for path, data in new.items():
            if not os.stat(path).st_mode & 0o222:  # a rename over it asks for the folder's permission only
                raise SourceError(f"{path} is read-only, so it stays as it is: make it writable, {otherwise}.")
            handle, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".kernelband-")
            ready.append((beside, path))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, os.stat(path).st_mode & 0o7777)
        while ready:
            os.replace(*ready[0])
            ready.pop(0)
    except OSError as error:
        raise SourceError(f"{error.filename or 'A file'} can't be written: {error.strerror}.") from error
    finally:
        for beside, _ in ready:
            Path(beside).unlink(missing_ok=True)
