"""``--proof FILE``: write down what was found better, for somebody else to check."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelband.cli.failure import say
from kernelband.cli.target import Command
from kernelband.errors import SourceError, UsageError

if TYPE_CHECKING:
    from kernelband.search.events import RunEnded


def proof_option(command: Command) -> Command:
    """``--proof FILE``."""
    return click.option("--proof", metavar="FILE", help="Write what was verified to FILE, with all the evidence for it.")(command)


def require_place(proof: str | None) -> None:
    """Refuse a file that can't be written, before anything runs.

    Raises:
        UsageError: its folder isn't there, or it can't be written.
    """
    if proof is None:
        return
    path = Path(proof)
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"The proof can't be written to {proof}: name a file in a folder that is there and may be written.")


def write_proof(db: Path, ended: RunEnded, proof: str | None) -> None:
    """Of the best that the run found; a sentence where that is nothing.

    Raises:
        SourceError: it can't be written, or nobody could find its files.
    """
    if proof is None:
        return
    if ended.best is None or ended.state == "interrupted":
        say(f"No proof is written to {proof}, because nothing was verified, or predicted as likely faster.")
        return
    from kernelband.explain.kept import read
    from kernelband.explain.prooffile import proof_of, to_text
    from kernelband.explain.prove import prove
    from kernelband.history import Store, runs

    with Store.read(db) as store:
        data = to_text(prove(read(store, runs.find(store, ended.run)), ended.best)).encode("ascii")
    proof_of(data, proof)  # what couldn't be read again isn't written
    _replace(Path(proof), data)
    say(f"The proof of variant {ended.best} is in {proof}: `kernelband check {proof}` judges it again.")


def _replace(path: Path, data: bytes) -> None:
    """All of it or nothing, with the rights that any new file has."""
    beside = path.with_name(f".kernelband-{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise SourceError(f"The proof can't be written to {path}: {error.strerror}.") from error
