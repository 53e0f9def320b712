"""What commands are about: ``FILE[::KERNEL]``, overlays, the database."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import frozen

from kernelband.cli.output import echo
from kernelband.errors import SourceError, UsageError
from kernelband.history import Store, find_place, runs
from kernelband.history.records import RunRow
from kernelband.source import Workspace
from kernelband.source.folders import find_roots
from kernelband.workload import Configuration, configuration_of

Command = TypeVar("Command", bound=Callable[..., Any])


@frozen
class Target:
    """A file, and the kernel in it when one is named. ``path`` is absolute and resolved."""

    path: str
    kernel: str | None

    @classmethod
    def parse(cls, text: str) -> Target:
        """``FILE`` or ``FILE::KERNEL``."""
        file, _, kernel = text.partition("::")
        if not file:
            raise UsageError(f"{text!r} names no file: give FILE or FILE::KERNEL.")
        if "::" in text and not kernel:
            raise UsageError(f"{text!r} names no kernel after '::': give {file} or {file}::KERNEL.")
        return cls(os.path.realpath(file), kernel or None)


def parse_overlays(given: Sequence[str], option: str = "--overlay") -> dict[str, str]:
    """``FILE=PATH``: the text of PATH stands for FILE, as an unsaved buffer does. ``option``: how they were given.

    Raises:
        UsageError: not of that form.
        SourceError: PATH can't be read.
    """
    out: dict[str, str] = {}
    for item in given:
        splits = [(item[:at], item[at + 1 :]) for at, sign in enumerate(item) if sign == "="]
        file, path = next(
            (s for s in splits if os.path.exists(s[1])), splits[0] if splits else ("", "")
        )  # folders may have a = in their names
        if not (file and path):
            raise UsageError(f"{option} {item} is not of the form FILE=PATH: name the file and the one whose text stands for it.")
        try:
            out[os.path.realpath(file)] = Path(path).read_bytes().decode("utf-8")
        except OSError as error:
            raise SourceError(f"The overlay {path} can't be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise SourceError(f"The overlay {path} is not UTF-8 text: save it as UTF-8.") from error
    return out


def repository(path: str) -> Configuration:
    """What the repository around a file says about its runs; what it may not say is told on stderr."""
    found = configuration_of(path)
    for problem in found.problems:
        echo(problem.message, err=True)
    return found


def open_workspace(target: Target, overlays: Sequence[str] = (), entry: str | None = None) -> Workspace:
    """The workspace around the target, and around the file of its entry.

    Raises:
        SourceError: there is no such file.
    """
    texts = parse_overlays(overlays)
    entry_file = entry.partition("::")[0] if entry and entry.partition("::")[0].endswith(".py") else None
    for path in (target.path, *([os.path.realpath(entry_file)] if entry_file else [])):
        if path not in texts and not Path(path).exists():
            raise SourceError(f"There is no file {_shown(path)}: check the name and the folder that you are in.")
    return Workspace.for_file(target.path, texts, entry=entry_file)


def open_history(db: str | None, *, write: bool = False) -> Store:
    """The database for ``--db`` or the default; says where it is when that isn't where one would look.

    Raises:
        HistoryError: it can't be used.
    """
    place = find_place(db)
    if place.note:
        echo(place.note, err=True)
    return Store.write(place.path) if write else Store.read(place.path)


def find_run(store: Store, text: str) -> RunRow:
    """A run by its id or the beginning of one; ``last`` is the newest of the project that the working folder belongs to.

    Raises:
        HistoryError: none, or several.
    """
    return runs.find(store, text, inside=find_roots(os.path.realpath(os.getcwd()))[-1])


def parse_variant(text: str) -> tuple[str, int]:
    """``RUN/VARIANT`` -> run, number.

    Raises:
        UsageError: not of that form.
    """
    run, _, number = text.rpartition("/")
    if not run or not number.isdecimal() or int(number) == 0:
        raise UsageError(f"{text!r} is not RUN/VARIANT with a number from 1: `kernelband show last` lists the variants of the newest run.")
    return run, int(number)


def db_option(command: Command) -> Command:
    """``--db PATH``."""
    return click.option("--db", metavar="PATH", help="Database to use instead of the one in your state folder.")(command)


def json_option(command: Command) -> Command:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def overlay_option(command: Command) -> Command:
    """``--overlay FILE=PATH``."""
    return click.option(
        "--overlay", "overlays", multiple=True, metavar="FILE=PATH", help="Use the text of PATH for FILE (an unsaved buffer)."
    )(command)


def _shown(path: str) -> str:
    here = os.path.join(os.getcwd(), "")
    return path[len(here) :] if path.startswith(here) else path
