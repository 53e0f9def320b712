"""``kernelband apply RUN/VARIANT``: into the files, into a folder, or as a patch on stdout."""

from __future__ import annotations

import click

from kernelband.cli.output import echo, exactly
from kernelband.cli.rewriting import rewrite
from kernelband.cli.target import db_option, find_run, open_history, parse_variant
from kernelband.errors import HistoryError, UsageError
from kernelband.explain.why import patch_text
from kernelband.explain.words import in_a_line, unwanted
from kernelband.history import Store, trials
from kernelband.source import is_notebook, patch_from_json


@click.command(name="apply")
@click.argument("variant", metavar="RUN/VARIANT")
@click.option("--diff", is_flag=True, help="Print the patch, which git apply accepts; write nothing.")
@click.option("--output", metavar="DIR", help="Write the edited files into DIR instead of in place.")
@db_option
def apply(variant: str, diff: bool, output: str | None, db: str | None) -> None:
    """Apply a variant to the files that it was made from, and print what is known about it. `kernelband revert` undoes it.

    Comments and formatting may have changed since. If the program itself has changed, the command refuses.
    """
    run, number = parse_variant(variant)
    with open_history(db) as store:
        row = find_run(store, run)
        chosen = trials.variant(store, row.id, number)
        told = in_a_line(store, row, chosen.id)
        if diff:
            exactly(patch_text(store, row, chosen))
            echo(told, err=True)
            if is_notebook(row.path):
                note = "This is a patch of the notebook's code cells in a row, which git can't apply: leave --diff out to apply it."
                echo(note, err=True)
            return
        if output is None:
            _require_sound(store, row.id, number)
        for path in rewrite(store, row, patch_from_json(chosen.patch), output=output):
            echo(f"Wrote {path}")
        echo(told)
        if output is None:
            _decide(store, row.id, number)


def _decide(store: Store, run: str, number: int) -> None:
    """Write down that it was taken. The files have it all the same, so what hinders that is a warning."""
    try:
        trials.decide(store, run, number, "accept")
    except HistoryError as error:
        echo(f"The decision was not recorded: {error.message}", err=True)


def _require_sound(store: Store, run: str, number: int) -> None:
    """Raises:
    UsageError: the variant is known to be none that anybody would want.
    """
    trial = next((t for t in trials.trials(store, run) if t.variant == number), None)
    if unwanted(trial):
        raise UsageError(
            f"Variant {number} of run {run} isn't applied to your files, because its trial says: {unwanted(trial)}. "
            "--diff prints it, --output DIR writes it elsewhere."
        )
