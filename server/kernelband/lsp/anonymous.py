"""Text that may be shared: without what says whose it is. Source text, paths, user and host names become an ellipsis."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path, PurePath

from attrs import field, frozen

GONE = "\u2026"
PIECE = 24  # characters of source text in a row that are cut wherever they stand
SHORT = 8  # characters of a line of source, without its margins, that are cut as a whole; a shorter one says nothing of whose it is

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]+://\S+|\b(?:file|untitled|vscode[\w-]*):\S+", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w$.])(?:\u2026|[A-Za-z]:|~\w*|\\\\)?[\\/][^\s'\"`,;)\]}]+")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")


@frozen
class Private:
    """What must not come out. ``homes``: folders; ``names``: of users and hosts; ``texts``: source."""

    homes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = field(default=(), repr=False)


def of_this_machine(texts: Iterable[str] = (), worker: str | None = None) -> Private:
    """The user's and the machine's, and those in the command that reaches a worker (words of three characters and more)."""
    homes = {os.path.expanduser("~"), *(os.environ.get(v, "") for v in ("HOME", "USERPROFILE"))}
    homes |= {os.path.realpath(home) for home in homes if home}
    users = {os.environ.get(v, "") for v in ("USER", "LOGNAME", "USERNAME")} | {PurePath(home).name for home in homes}
    try:
        users.add(getpass.getuser())
    except (OSError, KeyError):  # a container's uid without a name
        users.discard("")
    host = socket.gethostname()
    reached = {part for word in (worker or "").split()[1:] for part in (word, *word.split("@")) if len(part) > 2}
    return Private(tuple(sorted(homes)), tuple(sorted({*users, host, host.partition(".")[0], *reached})), tuple(texts))


def without(text: str, private: Private) -> str:
    """``text`` with none of it. Also without paths, addresses and what stands in quotes: those are somebody's words."""
    text = _lines_cut(_pieces_cut(text, private.texts), private.texts)
    for home in sorted((home.rstrip("/\\") for home in private.homes), key=len, reverse=True):
        text = _dropped(text, home)
    text = _QUOTED.sub(GONE, text)
    text = _ADDRESS.sub(GONE, text)
    text = _PATH.sub(lambda found: GONE + Path(found.group()).suffix, text)
    for name in sorted(private.names, key=len, reverse=True):
        text = _dropped(text, name)
    return _lines_cut(text, private.texts)


def _dropped(text: str, part: str) -> str:
    return re.sub(re.escape(part), GONE, text, flags=re.IGNORECASE) if part.strip(f" {GONE}") else text


def _pieces_cut(text: str, sources: Iterable[str]) -> str:
    """Without what is word by word in a source for ``PIECE`` characters; a line that was cut short is found like that too."""
    places: dict[str, list[int]] = {}
    for at in range(len(text) - PIECE + 1):
        places.setdefault(text[at : at + PIECE], []).append(at)
    cut = bytearray(len(text))
    for source in sources:
        for at in range(len(source) - PIECE + 1):
            for begin in places.pop(source[at : at + PIECE], ()):
                cut[begin : begin + PIECE] = b"\1" * PIECE
    out: list[str] = []
    for at, char in enumerate(text):
        if not cut[at]:
            out.append(char)
        elif not out or out[-1] != GONE:
            out.append(GONE)
    return "".join(out)


def _lines_cut(text: str, sources: Iterable[str]) -> str:
    """Without whole lines of a source, the longest first."""
    lines = {line.strip() for source in sources for line in source.splitlines()}
    for line in sorted((x for x in lines if len(x) >= SHORT and x in text), key=len, reverse=True):
        text = text.replace(line, GONE)
    return text
