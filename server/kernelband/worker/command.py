"""How the other Python is started: here, through ssh, in a container."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from kernelband.errors import UsageError
from kernelband.worker.bootstrap import LAUNCH

#: Put after every word ``ssh``. No question can be answered: there is no terminal. The first value of an option wins in ssh.
SSH_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15")
_SSH_NAMES = ("ssh", "ssh.exe")
_SSH_FLAGS_WITH_VALUE = "BbcDEeFIiJLlmOopPQRSWw"  # ssh(1)
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_IN_DOUBLE_QUOTES = re.compile(r'[^"$`\\!\n]*')


@frozen
class WorkerCommand:
    """``prefix`` is what stands before the Python: empty for this machine, ``("ssh", "box")``, ``("docker", "exec", "-i", "c")``.

    ``executor`` and ``extra`` let tests run operations of their own: a module, and files for the archive.
    """

    prefix: tuple[str, ...]
    python: str
    executor: str = "kernelband_worker.executor"
    extra: Mapping[str, bytes] = field(factory=dict[str, bytes])

    @classmethod
    def of(cls, worker: str | None = None, python: str | None = None, environment: Mapping[str, str] | None = None) -> WorkerCommand:
        """From ``--worker`` and ``--python``.

        Without ``python``: the active virtual or conda environment, else python3 on PATH, else this Python; behind a prefix, python3.

        Raises:
            UsageError: ``worker`` has an open quote.
        """
        env = os.environ if environment is None else environment
        try:
            prefix = tuple(shlex.split(worker or ""))
        except ValueError as error:
            raise UsageError(f"--worker {worker!r} can't be split into words ({error}): close the quote.") from error
        if prefix:
            return cls(prefix, python or "python3")
        return cls((), _local(python) if python else _active(env))

    @property
    def name(self) -> str:
        """For sentences: what the user would recognise."""
        return shlex.join(self.prefix) if self.prefix else self.python

    def argv(self, program: str) -> list[str]:
        """The command line for Popen. Words behind ssh are quoted once per hop, as each hop's login shell takes one layer off."""
        words = [self.python, "-u", "-c", LAUNCH, program]
        hops = ssh_words(self.prefix)
        for _ in hops:
            words = [quote(word) for word in words]
        prefix: list[str] = []
        for index, word in enumerate(self.prefix):
            prefix += [word, *SSH_OPTIONS] if index in hops else [word]
        return prefix + words


def ssh_words(prefix: tuple[str, ...]) -> list[int]:
    """Where ``prefix`` calls ssh with a host after it. A container or host that is named ssh isn't a call."""
    found: list[int] = []
    index = 0
    while index < len(prefix):
        if _basename(prefix[index]) in _SSH_NAMES:
            host = ssh_host(prefix, index + 1)
            if host is not None:
                found.append(index)
                index = host
        index += 1
    return found


def _basename(word: str) -> str:
    return re.split(r"[/\\]", word)[-1].lower()


def ssh_host(prefix: tuple[str, ...], index: int) -> int | None:
    """The index of ssh's host, options skipped."""
    while index < len(prefix):
        word = prefix[index]
        if word == "--":
            index += 1
            break
        if not word.startswith("-") or word == "-":
            break
        letters = word[1:]
        takes = next((at for at, letter in enumerate(letters) if letter in _SSH_FLAGS_WITH_VALUE), None)
        index += 2 if takes == len(letters) - 1 else 1  # "-p 22" is two words, "-p22" one
    return index if index < len(prefix) else None


def quote(word: str) -> str:
    """For sh, csh and fish alike. A leading ``~/`` stays open: it means the home over there."""
    if word.startswith("~/"):
        return "~/" + quote(word[2:])
    if _PLAIN.fullmatch(word):
        return word
    return f'"{word}"' if _IN_DOUBLE_QUOTES.fullmatch(word) else shlex.quote(word)


def _local(python: str) -> str:
    # abspath, not resolve: the Python of a virtual environment is a link, and following it leaves the environment.
    path = Path(python).expanduser()
    return os.path.abspath(path) if os.sep in python or python.startswith("~") else python


def _active(env: Mapping[str, str]) -> str:
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    candidates = [Path(env["VIRTUAL_ENV"], folder, name)] if env.get("VIRTUAL_ENV") else []
    if env.get("CONDA_PREFIX"):
        candidates.append(Path(env["CONDA_PREFIX"], name) if os.name == "nt" else Path(env["CONDA_PREFIX"], folder, name))
    for candidate in candidates:
        if candidate.exists():
            return str(candidate)
    return shutil.which("python3", path=env.get("PATH")) or sys.executable
