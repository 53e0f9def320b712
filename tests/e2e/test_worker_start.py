"""A worker that can't be: one sentence each, in time, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelband.errors import WorkerError
from kernelband.worker import Worker, WorkerCommand
from tests.e2e.conftest import Files, Log, StartWorker, all_end, command


def refused(made: WorkerCommand, deadline_s: float = 60.0) -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        Worker.start(made, files=Files(), deadline_s=deadline_s)
    assert "\n" not in str(caught.value)
    return caught.value


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (WorkerCommand((), "/no/such/python"), "no program /no/such/python"),
        (WorkerCommand((), "/etc/passwd"), "can't be run .*Permission denied.*--python"),
        (WorkerCommand((), "/bin/true"), "isn't a Python: it ended with exit code 0"),
        (WorkerCommand((), "/bin/cat"), "isn't a Python"),
        (WorkerCommand(("no-such-program", "box"), "python3"), "correct --worker"),
        (WorkerCommand(("sh", "-c", "echo oh dear >&2; exit 3"), "python3"), "isn't a Python: it ended with exit code 3"),
        (WorkerCommand(("env",), "no-such-python"), "there is no no-such-python over there"),
    ],
)  # fmt: skip
def test_what_is_no_python(made: WorkerCommand, words: str) -> None:
    with pytest.raises(WorkerError, match=words):
        raise refused(made)


def test_its_own_words_are_the_detail() -> None:
    assert refused(WorkerCommand(("sh", "-c", "echo oh dear >&2; exit 3"), "python3")).detail == "oh dear"


@pytest.mark.parametrize("program", ["/bin/sleep 60", "exec yes", "/bin/cat"])
def test_what_never_answers_is_killed(program: str, tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    path = script(tmp_path / "python", f"#!/bin/sh\necho $$ > {pids}\n{program}\n")
    error = refused(WorkerCommand((), path), deadline_s=5.0)
    assert "didn't answer as a Python within 5 s" in str(error)
    assert all_end([int(pids.read_text())])


def test_a_late_timer_blames_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the timer that kills may run after the wait for the answer is over."""

    class Late(threading.Timer):
        def __init__(self, interval: float, function: Callable[[], None]) -> None:
            super().__init__(interval + 1.5, function)

    monkeypatch.setattr(threading, "Timer", Late)
    path = script(tmp_path / "python", "#!/bin/sh\nexec sleep 60\n")
    assert "didn't answer as a Python within 0.5 s" in str(refused(WorkerCommand((), path), deadline_s=0.5))


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8"])
def test_an_old_python(version: str) -> None:
    """The oldest that are here; the version line is what an old Python prints before it leaves."""
    path = next((str(p) for p in sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))), None) or shutil.which(
        f"python{version}"
    )
    if path is None:
        pytest.skip(f"there is no Python {version} on this machine")
    error = refused(WorkerCommand((), path))
    assert f"is Python {version}." in str(error)
    assert "3.9 or newer" in str(error)


def test_a_python_that_says_it_is_old(tmp_path: Path) -> None:
    """As above where no old Python is installed: a real start under a Python that reports 3.8."""
    path = script(
        tmp_path / "python", f'#!/bin/sh\nshift 2\nexec {sys.executable} -u -c \'import sys; sys.version_info = (3, 8, 2); \'"$1" "$2"\n'
    )
    assert "is Python 3.8.2, and a worker needs 3.9 or newer" in str(refused(WorkerCommand((), path)))


def test_one_that_is_gone_before_all_of_our_threads_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = threading.Thread.start

    def slowly(thread: threading.Thread) -> None:
        begin(thread)
        if thread.name.startswith("worker "):
            time.sleep(0.5)  # as a busy machine does

    monkeypatch.setattr(threading.Thread, "start", slowly)
    path = script(
        tmp_path / "python", f'#!/bin/sh\nshift 2\nexec {sys.executable} -u -c \'import sys; sys.version_info = (3, 8, 2); \'"$1" "$2"\n'
    )
    assert "is Python 3.8.2" in str(refused(WorkerCommand((), path)))


def test_the_oldest_python_that_may(start: StartWorker) -> None:
    path = next((str(p) for p in sorted(Path.home().glob(".pyenv/versions/3.9*/bin/python"))), None) or shutil.which("python3.9")
    if path is None:
        pytest.skip("there is no Python 3.9 on this machine")
    worker = start(command(path))
    worker.start_executor("a", "cpu")
    assert worker.call("a", "echo", {"n": 1}, 120)["params"] == {"n": 1}


def test_no_room_for_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every temporary folder refuses: the Python's own error is in the sentence."""
    code = "import tempfile, sys\ndef full(**_): raise OSError(28, 'No space left on device')\ntempfile.mkdtemp = full\n"
    made = WorkerCommand((), sys.executable)
    monkeypatch.setattr("kernelband.worker.bootstrap.LAUNCH", made.argv("")[3])
    monkeypatch.setattr("kernelband.worker.command.LAUNCH", f"exec({code!r});" + made.argv("")[3])
    error = refused(made)
    assert "ended while starting" in str(error)
    assert "No space left on device" in str(error)


@pytest.mark.parametrize(
    "noise",
    [
        "echo Welcome to the machine",
        "printf 'no line end'",
        "printf 'Content-Length: 7\\r\\n\\r\\n{\"a\":1}'",
        "head -c 300000 /dev/urandom",
        "echo to the other stream >&2",
        "head -c 200000 /dev/zero | tr '\\0' x",
    ],
)
def test_a_noisy_login(start: StartWorker, tmp_path: Path, noise: str) -> None:
    log = Log()
    prefix = script(tmp_path / "noisy", f'#!/bin/sh\n{noise}\nexec "$@"\n')
    worker = start(command(prefix=(prefix,)), on_log=log)
    worker.start_executor("a", "cpu")
    assert worker.call("a", "echo", {"n": 1}, 120)["params"] == {"n": 1}
    if "Welcome" in noise:
        assert "Welcome to the machine" in log.of("worker")


def test_modules_of_the_current_folder_are_not_imported(start: StartWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("base64", "tempfile", "json", "threading", "random", "kernelband_worker", "importlib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong file')")
    monkeypatch.chdir(tmp_path)
    worker = start()
    worker.start_executor("a", "cpu")
    assert worker.call("a", "echo", {}, 120)["role"] == "cpu"
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".py"] * 7  # nothing written, no __pycache__


def test_the_worker_has_no_terminal_and_no_askpass(start: StartWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_ASKPASS", "/bin/false")
    out = tmp_path / "environment"
    prefix = script(tmp_path / "prefix", f'#!/bin/sh\nenv > {out}\ncut -d" " -f6,7 /proc/$$/stat >> {out}\nexec "$@"\n')
    start(command(prefix=(prefix,)))
    *lines, stat = out.read_text().splitlines()
    assert "SSH_ASKPASS_REQUIRE=never" in lines
    assert not any(line.startswith(("SSH_ASKPASS=", "DISPLAY=")) for line in lines)
    session, terminal = stat.split()
    assert int(session) != os.getsid(0)
    assert terminal == "0"


@pytest.mark.parametrize(("prefix", "suffix"), [((), ".pyc"), (("env",), ".py")])
def test_bytecode_goes_to_the_same_python_on_this_machine_only(start: StartWorker, prefix: tuple[str, ...], suffix: str) -> None:
    worker = start(command(prefix=prefix))
    worker.start_executor("a", "cpu")
    loaded = Path(worker.call("a", "facts", {}, 120)["loaded"])
    assert (loaded.name, loaded.parents[1].name) == (f"__init__{suffix}", "worker.zip")
