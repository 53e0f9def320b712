"""Why a worker didn't start, from what its command printed: one sentence that says what to do."""

from __future__ import annotations

import re

from attrs import frozen

from kernelband.errors import WorkerError
from kernelband.worker.bootstrap import OLDEST_PYTHON
from kernelband.worker.command import WorkerCommand, ssh_host, ssh_words

_TAIL_LINES = 12


@frozen
class Attempt:
    """A start that failed. ``exit_code`` is None if it was still running when time was up, ``marked`` if a Python had answered."""

    command: WorkerCommand
    errors: str
    noise: str
    exit_code: int | None
    marked: bool
    deadline_s: float


# What ssh says on stderr -> the sentence. {name} is the worker command, {host} the last machine in it.
_SSH = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "{name}: the machine's host key is not the one that your known_hosts file has. If it was set up anew, remove the old key "
        "(ssh-keygen -R {host}) and connect once by hand.",
    ),
    (
        r"Host key verification failed|No \w+ host key is known",
        "{name}: ssh doesn't know the host key of this machine, and it can't ask you. Connect once by hand ({name}) and confirm the key.",
    ),
    (
        r"Permission denied \(|Too many authentication failures|No more authentication methods",
        "{name}: ssh was refused without a password, and a worker can't type one. Set up a key (ssh-copy-id {host}) or load it with "
        "ssh-add.",
    ),
    (
        r"Could not resolve hostname",
        "{name}: no machine of that name is known. Check the spelling, or add it to your ssh configuration.",
    ),
    (r"Connection refused", "{name}: the machine answers, but no ssh server does. Check the port and whether sshd runs there."),
    (
        r"Connection timed out|Operation timed out|No route to host|Network is unreachable|Connection closed by|Connection reset",
        "{name}: the machine can't be reached. Check that it is on and that the network or VPN leads to it ({name} true).",
    ),
    (
        r"Bad configuration option|Can't open user config file|no argument after keyword",
        "{name}: ssh doesn't accept its configuration. Try {name} true by hand.",
    ),
    (
        r"Cannot execute command-line and remote command",
        "{name}: the ssh configuration has a RemoteCommand for this machine; name a Host entry without one.",
    ),
)
_CONTAINER = (
    (r"No such container|No such pod|pods? \S+ not found", "{name}: there is no such container. Check its name (docker ps)."),
    (r"is not running|is paused", "{name}: the container isn't running. Start it first."),
    (
        r"Cannot connect to the Docker daemon|docker daemon|permission denied while trying to connect",
        "{name}: the container engine can't be reached. Check that it runs and that you may use it.",
    ),
)
_NOT_FOUND = r"[Cc]ommand not found|not found|No such file or directory|executable file not found|Unknown command"


def not_startable(command: WorkerCommand, error: OSError) -> WorkerError:
    """The command's first word can't be run at all."""
    word = command.prefix[0] if command.prefix else command.python
    what = "the worker command" if command.prefix else "the worker's Python"
    option = "--worker" if command.prefix else "--python"
    if isinstance(error, FileNotFoundError):
        return WorkerError(f"There is no program {word}, so {what} can't be started: correct {option}.")
    return WorkerError(f"{word} can't be run as {what} ({error.strerror}): correct {option}.")


def too_old(command: WorkerCommand, version: str) -> WorkerError:
    """A Python answered, but one that can't run the worker."""
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return WorkerError(
        f"{_python(command)} is Python {version}, and a worker needs {oldest} or newer: name another with --python.", kind="too_old"
    )


def explain(attempt: Attempt) -> WorkerError:
    """The most specific sentence for a failed start, with the program's own last lines as detail."""
    tail = "\n".join((attempt.errors.strip() or attempt.noise.strip()).splitlines()[-_TAIL_LINES:])
    return WorkerError(_sentence(attempt), detail=tail)


def _sentence(attempt: Attempt) -> str:
    command = attempt.command
    if attempt.marked:
        last = (attempt.errors.strip().splitlines() or ["it says nothing"])[-1]
        return f"The worker on {_python(command)} ended while starting: {last}"
    template = _template(attempt)
    return template.format(name=command.name, host=_host(command), python=command.python)


def _template(attempt: Attempt) -> str:
    command, errors = attempt.command, attempt.errors
    if ssh_words(command.prefix):
        for pattern, sentence in _SSH:
            if re.search(pattern, errors):
                return sentence
    if command.prefix:
        for pattern, sentence in _CONTAINER:
            if re.search(pattern, errors):
                return sentence
        if attempt.exit_code == 127 or (attempt.exit_code and re.search(_NOT_FOUND, errors + attempt.noise)):
            return "{name}: there is no {python} over there. Name the Python that has torch and Triton with --python."
        if attempt.exit_code == 126:
            return "{name}: {python} can't be run over there (permission denied). Name another with --python."
    what = "{name} with {python}" if command.prefix else "{python}"
    if attempt.exit_code is None:
        return f"{what} didn't answer as a Python within {attempt.deadline_s:g} s. Check the worker command by hand."
    option = "--worker or --python" if command.prefix else "--python"
    return f"{what} isn't a Python: it ended with exit code {attempt.exit_code} without an answer. Correct {option}."


def _python(command: WorkerCommand) -> str:
    return f"{command.python} behind {command.name}" if command.prefix else command.python


def _host(command: WorkerCommand) -> str:
    """The host of the last ssh call: the one that is refused when the others let through."""
    words = ssh_words(command.prefix)
    index = ssh_host(command.prefix, words[-1] + 1) if words else None
    return command.prefix[index] if index is not None else ""
