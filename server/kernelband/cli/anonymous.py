"""Text that may be shared: without what says whose it is. Paths, addresses, quoted words, user and host names become an ellipsis."""

from __future__ import annotations

import getpass
import os
import re
import socket
from pathlib import Path, PurePath

from attrs import frozen

GONE = "\u2026"

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]+://\S+|\b(?:file|untitled|vscode[\w-]*):\S+", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w$.])(?:\u2026|[A-Za-z]:|~\w*|\\\\)?[\\/][^\s'\"`,;)\]}]+")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")


@frozen
class Private:
    """What must not come out. ``homes``: folders; ``names``: of users and hosts."""

    homes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def of_this_machine(worker: str | None = None) -> Private:
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
    return Private(tuple(sorted(homes)), tuple(sorted({*users, host, host.partition(".")[0], *reached})))


def without(text: str, private: Private) -> str:
    """``text`` with none of it. Also without paths, addresses and what stands in quotes: those are somebody's words."""
    for home in sorted((home.rstrip("/\\") for home in private.homes), key=len, reverse=True):
        text = _dropped(text, home)
    text = _QUOTED.sub(GONE, text)
    text = _ADDRESS.sub(GONE, text)
    text = _PATH.sub(lambda found: GONE + Path(found.group()).suffix, text)
    for name in sorted(private.names, key=len, reverse=True):
        text = _dropped(text, name)
    return text


def _dropped(text: str, part: str) -> str:
    return re.sub(re.escape(part), GONE, text, flags=re.IGNORECASE) if part.strip(f" {GONE}") else text
