"""A worker behind a real sshd, as another user who can't read the workspace: the same worker, and a sentence for what goes wrong."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelband.errors import WorkerError
from kernelband.hardware import driver_properties, find_device
from kernelband.source import Workspace
from kernelband.worker import CompilePool, Executor, Worker, WorkerCommand
from kernelband_worker.wire import SessionParams
from tests.e2e import sshd as server
from tests.e2e.conftest import ROOT, Files, Log, StartWorker, all_end, command, family, gone

pytestmark = pytest.mark.skipif(server.why_not() is not None, reason=server.why_not() or "")
KERNEL, ENTRY = "add_kernel", "test_add"
SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def machine(worker_python: str) -> Iterator[server.Sshd]:
    made = server.Sshd.seeing(worker_python)
    yield made
    made.close()


@pytest.fixture
def box(machine: server.Sshd) -> Iterator[server.Sshd]:
    machine.reset()
    yield machine
    machine.reset()


def behind(box: server.Sshd, host: str = "box", python: str = SYSTEM_PYTHON) -> WorkerCommand:
    return command(python, box.prefix(host))


def refused(made: WorkerCommand) -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        Worker.start(made, files=Files(), deadline_s=60.0)
    return caught.value


def works(worker: Worker) -> None:
    worker.start_executor("a", "cpu")
    assert worker.call("a", "echo", {"text": "ü\n'\"$!"}, 60)["params"] == {"text": "ü\n'\"$!"}


def test_it_is_another_user_elsewhere(box: server.Sshd, start: StartWorker, tmp_path: Path) -> None:
    """Modules come by content hash: the user can't read the file."""
    secret = tmp_path / "workspace" / "kernel.py"
    secret.parent.mkdir(mode=0o700)
    secret.write_text("answer = 42\n")
    worker = start(behind(box), files=Files({"kernel": secret.read_bytes()}))
    hello = worker.hello
    assert hello["user"] == box.user
    assert Path(hello["scratch"]).stat().st_uid == pwd.getpwnam(box.user).pw_uid
    works(worker)
    assert worker.call("a", "readable", {"path": str(secret)}, 120) == {"readable": False}
    found = worker.call("a", "ask", {"method": "module/find", "params": {"name": "kernel"}}, 120)["answer"]
    assert found["sha256"] == hashlib.sha256(secret.read_bytes()).hexdigest()
    blob = worker.call("a", "ask", {"method": "blob/get", "params": {"sha256": found["sha256"]}}, 120)["answer"]
    assert blob == {"base64": "YW5zd2VyID0gNDIK"}


def test_large_frames_cross(box: server.Sshd, start: StartWorker) -> None:
    worker = start(behind(box))
    worker.start_executor("a", "cpu")
    text = "kernelband" * 1_000_000
    assert worker.call("a", "large", {"text": text}, 60)["text"] == text


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "/usr/bin/tcsh", "/bin/csh"])
def test_any_login_shell(box: server.Sshd, start: StartWorker, shell: str) -> None:
    if not Path(shell).exists():
        pytest.fail(f"{shell} isn't installed: run `make system`")
    box.shell(shell)
    box.write(".cshrc", "echo noise from csh\nset prompt='> '\n")
    works(start(behind(box)))


def test_a_noisy_bashrc(box: server.Sshd, start: StartWorker) -> None:
    box.write(".bashrc", "echo Welcome; echo to stderr >&2; printf 'no line end: '; head -c 100000 /dev/urandom\nset -x\n")
    log = Log()
    works(start(behind(box), on_log=log))
    assert "Welcome" in log.of("worker")
    assert "to stderr" in log.of("worker")


def test_a_home_in_the_command(box: server.Sshd, start: StartWorker) -> None:
    (box.home / "my env").mkdir(exist_ok=True)
    link = box.home / "my env" / "python"
    link.unlink(missing_ok=True)
    link.symlink_to(SYSTEM_PYTHON)
    works(start(behind(box, python="~/my env/python")))


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("stranger", "doesn't know the host key"),
        ("changed", "not the one that your known_hosts file has"),
        ("password", "refused without a password.*ssh-copy-id password"),
        ("refused", "no ssh server does"),
        ("no-such-machine.invalid", "no machine of that name"),
    ],
)
def test_what_ssh_refuses(box: server.Sshd, host: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_ASKPASS", "/bin/true")  # a helper that would answer
    monkeypatch.setenv("DISPLAY", ":0")
    error = refused(behind(box, host))
    assert words.split(".*", maxsplit=1)[0] in str(error)
    assert words.rsplit(".*", maxsplit=1)[-1] in str(error)
    assert error.detail


def test_a_machine_that_never_speaks(box: server.Sshd, tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        made = WorkerCommand(("ssh", "-F", str(box.config), "-p", str(silent.getsockname()[1]), "box"), "python3")
        assert "can't be reached" in str(refused(made))


def test_no_such_python_over_there(box: server.Sshd) -> None:
    for shell in ("/bin/bash", "/usr/bin/tcsh"):
        box.shell(shell)
        assert "there is no no-such-python over there" in str(refused(behind(box, python="no-such-python")))
        assert "there is no /no/such/python over there" in str(refused(behind(box, python="/no/such/python")))


def test_a_shell_that_lets_nobody_in(box: server.Sshd) -> None:
    nologin = shutil.which("nologin") or "/usr/sbin/nologin"
    box.shell(nologin)
    assert "exit code 1" in str(refused(behind(box)))


@pytest.mark.parametrize("how", ["close", "client", "supervisor", "server"])
def test_nobody_stays_over_there(box: server.Sshd, start: StartWorker, how: str) -> None:
    worker = start(behind(box))
    worker.start_executor("a", "cpu")
    pids = worker.call("a", "children", {}, 120)["pids"]
    everybody = [*set(family(worker.hello["pid"])) | set(pids)]
    assert len(everybody) >= 6
    if how == "close":
        worker.close()
    elif how == "client":
        os.kill(worker._connection._process.pid, signal.SIGKILL)  # the network breaks
    elif how == "supervisor":
        os.kill(worker.hello["pid"], signal.SIGKILL)
    else:
        parent = int(Path(f"/proc/{worker.hello['pid']}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)  # that session's sshd
    assert all_end(everybody)
    assert gone(worker.hello["scratch"]) == []
    with pytest.raises(WorkerError, match="is gone"):
        worker.call("a", "echo", {}, 60)


def test_the_same_program_gives_the_same_cases_and_code(box: server.Sshd, worker_python: str, tmp_path: Path) -> None:
    """Capture, specialise and compile a user's file that the other user can't read, here and there: equal but for times."""
    workspace = tmp_path / "workspace"
    workspace.mkdir(mode=0o700)
    shutil.copy(ROOT / "examples" / "vector_add.py", workspace)
    file = str(workspace / "vector_add.py")
    found = []
    for prefix in ((), box.prefix()):
        files = Workspace.for_file(file)
        with Worker.start(WorkerCommand(prefix, worker_python), files=files) as worker:
            session: SessionParams = {
                "id": "same",
                "top_level": files.top_level(),
                "store": f"{worker.hello['scratch']}/store",
                "cache": f"{worker.hello['scratch']}/cache",
                "seed": 0,
                "target": find_device("h100").target,
                "device_properties": driver_properties(find_device("h100")),
            }
            with Executor(worker, "cpu", "cpu", session=session) as executor:
                entry = {"kind": "callable", "module": "vector_add", "path": file, "name": ENTRY}
                kernel = {"module": "vector_add", "path": file, "qualname": KERNEL}
                # No neighbours, and one input set: how many there is time for hangs on the machine, and on who else is at work there.
                limits = {"seconds": 60, "distinct_cases": 4, "input_sets": 1, "programs": 8, "neighbours": False}
                captured = executor.call("capture", {"entry": entry, "kernel": kernel, "hosts": [], **limits}, 400)
                cases = [case["id"] for case in captured["cases"]]
                launches = executor.call("specialise", {"variant": None, "cases": cases[:1]}, 200)["launches"]
            with CompilePool(worker, session, size=1) as pool:
                facts = pool.submit({"variant": None, "launch": launches[0], "target": session["target"]}, deadline_s=200).result(400)
        for case in captured["cases"]:
            del case["replay_s"]
            for tensor in case["tensors"]:
                if tensor["mutated"]:  # fresh memory, which by chance holds the same the second time, or doesn't
                    del tensor["policy"]
        found.append((captured["cases"], launches, {k: v for k, v in facts.items() if k not in ("seconds", "cache_hit")}))
    assert found[0][0]
    assert found[0] == found[1]


def test_the_same_environment_as_here(box: server.Sshd, worker_python: str) -> None:
    """The Python with torch, as another user over ssh, reports what it reports here."""
    found = []
    for prefix in ((), box.prefix()):
        with Worker.start(WorkerCommand(prefix, worker_python), files=Files()) as worker, Executor(worker, "e", "gpu") as executor:
            found.append(executor.call("environment", {}, 120))
    assert found[0]["torch"] == found[1]["torch"]
    assert found[0]["triton"] == found[1]["triton"]
    assert found[0]["ptxas"] == found[1]["ptxas"]
