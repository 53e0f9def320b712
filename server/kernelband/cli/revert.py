"""``kernelband revert RUN[/VARIANT]``: the original back into the files."""

from __future__ import annotations

import click

from kernelband.cli.output import echo
from kernelband.cli.rewriting import rewrite
from kernelband.cli.target import db_option, find_run, open_history, parse_variant
from kernelband.errors import UsageError
from kernelband.history import Store, trials
from kernelband.source import patch_from_json


@click.command()
@click.argument("variant", metavar="RUN[/VARIANT]")
@db_option
def revert(variant: str, db: str | None) -> None:
    """Restore the original where a variant is in the files: the one that was taken last of that run, unless it is named.

    Comments and formatting may have changed since. If the program itself has changed, the command refuses.
    """
    run, number = parse_variant(variant) if "/" in variant else (variant, None)
    with open_history(db) as store:
        row = find_run(store, run)
        number = number if number is not None else _taken(store, row.id)
        chosen = trials.variant(store, row.id, number)
        for path in rewrite(store, row, patch_from_json(chosen.patch), back=True):
            echo(f"Wrote {path}")
        echo(f"Variant {number} of run {row.id} is replaced by the original.")


def _taken(store: Store, run: str) -> int:
    """Raises:
    UsageError: nobody took one.
    """
    found = [d.variant for d in trials.decisions(store, run) if d.decision == "accept"]
    if not found:
        raise UsageError(f"No variant of run {run} was applied by `apply` or an editor: name it, as in {run}/3.")
    return found[-1]
