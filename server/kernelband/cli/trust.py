"""``kernelband trust`` and ``untrust``: the folders in which an editor may run code."""

from __future__ import annotations

import os

import click

from kernelband.cli.output import echo
from kernelband.errors import UsageError
from kernelband.lsp import trust as listing


@click.command()
@click.argument("folder", metavar="[DIR]", required=False)
def trust(folder: str | None) -> None:
    """Allow editors to run programs in DIR and below; without DIR, list the trusted folders."""
    path = listing.default_path()
    if folder is None:
        _show(listing.read(path))
        return
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is no folder, so it can't be trusted: name a folder that is there.")
    listing.put(path, folder, trusted=True)
    echo(f"Trusted: {os.path.realpath(folder)}, with the folders below it.")


@click.command()
@click.argument("folder", metavar="DIR")
def untrust(folder: str) -> None:
    """Stop trusting DIR and the folders below it, except those that are trusted by themselves."""
    real = os.path.realpath(folder)
    listed = listing.put(listing.default_path(), folder, trusted=False)
    echo(f"Not trusted: {real}.")
    below = [f for f, trusted in listed.folders.items() if trusted and f.startswith(os.path.join(real, ""))]
    if below:
        echo(f"Still trusted below it: {', '.join(sorted(below))}.")


def _show(listed: listing.Listed) -> None:
    if listed.problem:
        raise UsageError(listed.problem)
    if not any(listed.folders.values()):
        echo("No folder is trusted: `kernelband trust DIR` trusts one.")
        return
    for folder, trusted in sorted(listed.folders.items()):
        echo(folder if trusted else f"{folder}  (not trusted)")
