"""``kernelband apply RUN/VARIANT``: into the files, into a folder, or as a patch on stdout."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from kernelband.cli.target import db_option, open_history, parse_variant
from kernelband.errors import HistoryError, SourceError, StaleText, UsageError
from kernelband.explain.outcome import word
from kernelband.explain.why import patch_text
from kernelband.history import Store, runs, trials
from kernelband.source import Workspace, is_notebook, patch_from_json


@click.command(name="apply")
@click.argument("variant", metavar="RUN/VARIANT")
@click.option("--diff", is_flag=True, help="Print the patch (git apply takes it); write nothing.")
@click.option("--output", metavar="DIR", help="Write the edited files into DIR instead of in place.")
@db_option
def apply(variant: str, diff: bool, output: str | None, db: str | None) -> None:
    """Put a variant into the files that it was made of. Refuses a file that has changed since."""
    run, number = parse_variant(variant)
    with open_history(db) as store:
        row = runs.find(store, run)
        chosen = trials.variant(store, row.id, number)
        if diff:
            click.echo(patch_text(store, row, chosen), nl=False)
            if is_notebook(row.path):
                note = "This is a patch of the notebook's code cells, one after the other, which git can't apply: without --diff it is."
                click.echo(note, err=True)
            return
        patch = patch_from_json(chosen.patch)
        base = runs.base_texts(store, row.id)
        workspace = Workspace.for_file(row.path)
        root = _common_root(row.path, base)
        texts = {f.path: _current(workspace, f.path) for f in patch.files}
        edited = patch.apply(texts)  # refuses stale text before anything is written
        new = {f.path: workspace.encode(f.path, edited[f.path]) for f in patch.files}
        if output is not None:
            _write_elsewhere(new, Path(output), root)
        else:
            _require_sound(store, row.id, number)
            _write_in_place(new)
        for path in new:
            shown = Path(output) / Path(path).relative_to(root) if output is not None else path
            click.echo(f"Wrote {shown}")
        if output is None:
            _decide(store, row.id, number)


def _decide(store: Store, run: str, number: int) -> None:
    """Write down that it was taken. The files have it all the same, so what hinders that is a warning."""
    try:
        trials.decide(store, run, number, "accept")
    except HistoryError as error:
        click.echo(f"That you took it was not written down: {error.message}", err=True)


def _current(workspace: Workspace, path: str) -> str:
    if not Path(path).exists():
        raise StaleText(f"{path} is gone: the variant edits it. Restore it, or use --diff for the patch.")
    return workspace.read(path)


def _common_root(path: str, base: Mapping[str, str]) -> str:
    folders = [os.path.dirname(p) for p in (path, *base)]
    return os.path.commonpath(folders)


def _require_sound(store: Store, run: str, number: int) -> None:
    """Raises:
    UsageError: the variant is known to be none that anybody would want.
    """
    trial = next((t for t in trials.trials(store, run) if t.variant == number), None)
    if trial is not None and (trial.fault != "none" or trial.correctness in ("wrong", "nondeterministic")):
        raise UsageError(
            f"Variant {number} of run {run} isn't put into your files, because its trial says: {word(trial)}. "
            "--diff prints it, --output DIR writes it elsewhere."
        )


def _write_elsewhere(new: Mapping[str, bytes], folder: Path, root: str) -> None:
    for path, data in new.items():
        to = folder / Path(path).relative_to(root)
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(data)
        except OSError as error:
            raise SourceError(f"{to} can't be written: {error.strerror}.") from error


def _write_in_place(new: Mapping[str, bytes]) -> None:
    """All new contents go to files beside the old ones first, then each is renamed over its file: mode kept, no half-written file."""
    ready: list[tuple[str, str]] = []
    try:
        for path, data in new.items():
            if not os.stat(path).st_mode & 0o222:  # a rename over it asks for the folder's permission only
                raise SourceError(f"{path} is read-only, so it stays as it is: make it writable, or use --diff or --output DIR.")
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
        raise SourceError(f"{error.filename or 'A file'} can't be written: {error.strerror}. Use --diff or --output DIR.") from error
    finally:
        for beside, _ in ready:
            Path(beside).unlink(missing_ok=True)
