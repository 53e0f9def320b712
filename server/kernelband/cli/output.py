"""Where text goes: a console that doesn't squeeze tables without a terminal, and streams that can write every text in their encoding."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200
#: What stands for a character that an encoding hasn't: figures stay readable in ASCII.
PLAIN = {"×": "x", "µ": "u", "→": "->", "−": "-", "–": "-", "—": "-", "·": "-", "…": "...", "≥": ">=", "≤": "<=", "’": "'"}
_HANDLER = "kernelband-plain"


def console() -> Console:
    """For tables: as wide as the terminal, wide without one."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDE)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """A line to stdout or stderr, in the encoding that the stream has: click would write UTF-8 where that is ASCII."""
    click.echo(text, file=sys.stderr if err else sys.stdout, nl=nl)


def exactly(text: str) -> None:
    """A patch to stdout: UTF-8 in every environment, so that it applies."""
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


def never_fail() -> None:
    """Let stdout and stderr write characters that their encoding hasn't as plain ones, instead of raising.

    Only the way of failing changes: an encoding stays, and so does a way that the user asked for in PYTHONIOENCODING.
    """
    codecs.register_error(_HANDLER, plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape", "backslashreplace"):
            stream.reconfigure(errors=_HANDLER)


def plainly(error: UnicodeError) -> tuple[bytes, int]:
    """The error handler: ASCII for what can't be encoded, and the bytes of a file name as they are on disk.

    Raises:
        UnicodeError: what was given is no failure to encode.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    failed = error.object[error.start : error.end]
    return b"".join(bytes([ord(c) - 0xDC00]) if "\udc80" <= c <= "\udcff" else PLAIN.get(c, "?").encode() for c in failed), error.end
