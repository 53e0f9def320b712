"""Each way to fail has its sentence; the program's own words stand under it."""

from __future__ import annotations

import pytest

from kernelband.worker import WorkerCommand
from kernelband.worker.diagnosis import Attempt, explain, not_startable, too_old


def sentence(worker: str, errors: str = "", *, code: int | None = 255, noise: str = "", marked: bool = False) -> str:
    attempt = Attempt(command=WorkerCommand.of(worker, "py3"), errors=errors, noise=noise, exit_code=code, marked=marked, deadline_s=15.0)
    return str(explain(attempt))


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ("Host key verification failed.", "doesn't know the host key"),
        (
            "No ED25519 host key is known for [127.0.0.1]:22 and you have requested strict checking.\r\nHost key verification failed.",
            "confirm",
        ),
        ("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.", "ssh-keygen -R box"),
        ("me@box: Permission denied (publickey,password).", "ssh-copy-id box"),
        ("ssh: connect to host box port 22: Connection refused", "no ssh server"),
        ("ssh: connect to host box port 22: Connection timed out", "can't be reached"),
        ("ssh: Could not resolve hostname box: Name or service not known", "no machine of that name"),
        ("Connection closed by UNKNOWN port 65535", "can't be reached"),
    ],
)
def test_ssh(errors: str, words: str) -> None:
    assert words in sentence("ssh -p 22 box", errors)


@pytest.mark.parametrize(
    ("errors", "code"),
    [("bash: line 1: py3: command not found", 127), ("py3: Command not found.", 1), ("zsh:1: no such file or directory: py3", 127)],
)
def test_no_python_over_there(errors: str, code: int) -> None:
    assert (
        sentence("ssh box", errors, code=code)
        == "ssh box: there is no py3 over there. Name the Python that has torch and Triton with --python."
    )


def test_containers() -> None:
    assert "no such container" in sentence("docker exec -i c", "Error response from daemon: No such container: c", code=1)
    assert "isn't running" in sentence("docker exec -i c", "Error response from daemon: container c is not running", code=1)
    assert "no py3 over there" in sentence("docker exec -i c", 'exec: "py3": executable file not found in $PATH: unknown', code=126)


def test_not_a_python_and_no_answer() -> None:
    assert sentence("", "usage: py3", code=2).startswith("py3 isn't a Python: it ended with exit code 2")
    assert "didn't answer as a Python within 15 s" in sentence("", code=None)
    assert "{x}" in sentence("sh -c '{x}'", code=None)  # braces of the user aren't ours


def test_a_python_that_fails_says_why() -> None:
    assert sentence("", "Traceback\nOSError: [Errno 28] No space left on device", marked=True).endswith("No space left on device")


def test_the_own_words_stand_under_it() -> None:
    attempt = Attempt(command=WorkerCommand.of("", "x"), errors="", noise="motd\n", exit_code=1, marked=False, deadline_s=1)
    assert explain(attempt).detail == "motd"


def test_words_before_a_process() -> None:
    assert "no program py3" in str(not_startable(WorkerCommand((), "py3"), FileNotFoundError(2, "No such file")))
    assert "correct --worker" in str(not_startable(WorkerCommand(("sssh", "box"), "py3"), FileNotFoundError(2, "No such file")))
    assert "Permission denied" in str(not_startable(WorkerCommand((), "py3"), PermissionError(13, "Permission denied")))
    assert "is Python 3.6.15, and a worker needs 3.9" in str(too_old(WorkerCommand((), "py3"), "3.6.15"))
