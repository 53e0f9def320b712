"""One GPU, many askers: between workers, users and processes; fair, visible, released by death."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelband.errors import ExecutorFault, WorkloadError
from kernelband_worker import lock
from kernelband_worker.wire import LockWaiting
from tests.e2e.conftest import ROOT, StartWorker

GPU = "GPU-0f1e2d3c"
HOLD = """
import sys, time
sys.path.insert(0, {server!r})
from kernelband_worker import lock
def wait(holder, waited): print("waiting", holder, flush=True)
with lock.held({gpu!r}, {name!r}, lambda: False, wait):
    print("held", {name!r}, time.monotonic(), flush=True)
    time.sleep({seconds})
"""
#: Wants it until one has had all its turns, and lets go when another is the next to get it.
TURNS = """
import os, sys, time
sys.path.insert(0, {server!r})
from kernelband_worker import lock, system
def wait(holder, waited): print("waiting", holder, flush=True)
def over(): return os.path.exists({over!r})
def wanted():
    with lock._opened({gpu!r} + ".turn") as turnstile:
        return not system.try_lock(turnstile)
turns = 0
while not over():
    with lock.held({gpu!r}, {name!r}, lambda: False, wait):
        if over():
            break
        print("held", {name!r}, time.monotonic(), flush=True)
        turns += 1
        while not over() and not wanted():
            time.sleep(0.001)
        if turns == {rounds}:
            open({over!r}, "w").close()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "locks"
    monkeypatch.setenv("KERNELBAND_LOCK_DIR", str(path))
    return path


class Holders:
    """Other processes that want the lock."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, name: str, seconds: float) -> subprocess.Popen[str]:
        """One that holds it so long, once."""
        return self._run(HOLD.format(server=str(ROOT / "server"), gpu=GPU, name=name, seconds=seconds))

    def start_turns(self, name: str, rounds: int, over: Path) -> subprocess.Popen[str]:
        """One that wants it again and again."""
        return self._run(TURNS.format(server=str(ROOT / "server"), gpu=GPU, name=name, rounds=rounds, over=str(over)))

    def _run(self, code: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process


@pytest.fixture
def holders() -> Iterator[Holders]:
    made = Holders()
    yield made
    for process in made.processes:
        process.kill()
        process.communicate(timeout=300)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def lock_is_free() -> bool:
    with lock.held(GPU, "me", lambda: True, lambda *_: None):
        return True


def until(wanted: Callable[[], bool]) -> None:
    """Wait for it; somebody else may have the lock."""
    end = time.monotonic() + 60
    while True:
        with contextlib.suppress(lock.CancelledError):
            if wanted():
                return
        assert time.monotonic() < end
        time.sleep(0.02)


def wait_until_taken() -> None:
    """Until somebody has the lock, or is the next to get it."""
    end = time.monotonic() + 60
    with contextlib.suppress(lock.CancelledError):
        while lock_is_free():
            assert time.monotonic() < end, "nobody takes it"
            time.sleep(0.02)


def test_waiting_is_told_and_does_not_count(start: StartWorker, holders: Holders) -> None:
    told: list[LockWaiting] = []
    worker = start(on_waiting=told.append)
    worker.start_executor("a", "gpu")
    worker.call("a", "echo", {}, 60)
    assert line(holders.start("ada@box pid 7: kernelband run 12ab", 6.0)).startswith("held")
    assert worker.call("a", "sleep", {"seconds": 0.2}, 4.0, lock=GPU) == {"slept": 0.2}
    assert {(t["gpu"], t["holder"]) for t in told} == {(GPU, "ada@box pid 7: kernelband run 12ab")}
    waited = [t["waited_s"] for t in told]
    assert waited[0] > 0.9  # who waits for a moment only isn't told
    assert waited == sorted(waited)


def test_others_see_who_holds_it(start: StartWorker, holders: Holders) -> None:
    worker = start()
    worker.start_executor("a", "gpu")
    worker.call("a", "session/open", {"id": "7f3a" * 16}, 60)
    future = worker.submit("a", "sleep", {"seconds": 30}, 60, lock=GPU)
    wait_until_taken()
    assert (
        line(holders.start("other", 0))
        == f"waiting {worker.hello['user']}@{worker.hello['host']} pid {worker.hello['pid']}: kernelband run 7f3a7f3a7f3a\n"
    )
    worker.stop_executor("a")
    with pytest.raises(ExecutorFault, match="was stopped"):
        future.result(60)


def test_two_executors_of_one_worker_take_turns(start: StartWorker) -> None:
    told: list[LockWaiting] = []
    worker = start(on_waiting=told.append)
    for name in ("a", "b"):
        worker.start_executor(name, "gpu")
        worker.call(name, "echo", {}, 60)
    began = time.monotonic()
    futures = [worker.submit(name, "sleep", {"seconds": 1.5}, 60, lock=GPU) for name in ("a", "b")]
    assert [f.result(60) for f in futures] == [{"slept": 1.5}] * 2
    assert time.monotonic() - began >= 3.0
    assert told == []  # a run doesn't tell that it waits for itself


def test_calls_that_share_it_hold_it_together(start: StartWorker, holders: Holders, tmp_path: Path) -> None:
    """Three at once; whoever measures alone, here or elsewhere, waits for the last of them."""
    worker = start()
    for name in "abcd":
        worker.start_executor(name, "gpu")
        worker.call(name, "echo", {}, 60)
    shared = [worker.submit(name, "meet", {"folder": str(tmp_path), "name": name}, 120, lock=GPU, shared=True) for name in "abc"]
    until(lambda: all((tmp_path / name).exists() for name in "abc"))  # one after the other they would never meet
    alone = worker.submit("d", "echo", {}, 120, lock=GPU)
    other = holders.start("other", 0)
    assert line(other).startswith("waiting")
    assert not alone.done()
    (tmp_path / "go").touch()
    for future in (*shared, alone):
        future.result(120)
    assert next(x for x in iter(lambda: line(other), "") if x.startswith("held"))
    other.wait(60)
    until(lock_is_free)


def test_one_that_dies_leaves_the_lock_to_those_who_share_it(start: StartWorker, tmp_path: Path) -> None:
    worker = start()
    for name in "ab":
        worker.start_executor(name, "gpu")
        worker.call(name, "echo", {}, 60)
    lasting = worker.submit("b", "meet", {"folder": str(tmp_path), "name": "b"}, 120, lock=GPU, shared=True)
    until((tmp_path / "b").exists)
    with pytest.raises(ExecutorFault):
        worker.call("a", "spin", {}, 0.3, lock=GPU, shared=True)
    with pytest.raises(lock.CancelledError):
        lock_is_free()
    (tmp_path / "go").touch()
    lasting.result(120)
    until(lock_is_free)


def test_sharing_is_given_up_when_nobody_wants_it(start: StartWorker, holders: Holders) -> None:
    process = holders.start("x", 600)
    assert line(process).startswith("held")
    told: list[LockWaiting] = []
    worker = start(on_waiting=told.append)
    for name in "ab":
        worker.start_executor(name, "gpu")
    futures = {name: worker.submit(name, "echo", {}, 60, lock=GPU, shared=True) for name in "ab"}
    until(lambda: bool(told))
    worker.stop_executor("a")  # the one that asks for the lock on behalf of both
    assert futures["a"].exception(60) is not None
    process.kill()
    assert futures["b"].result(60)["role"] == "gpu"


def test_another_gpu_is_another_lock(start: StartWorker, holders: Holders) -> None:
    assert line(holders.start("x", 30)).startswith("held")
    worker = start()
    worker.start_executor("a", "gpu")
    assert worker.call("a", "echo", {}, 60, lock="GPU-other")["role"] == "gpu"


def test_it_is_fair(holders: Holders, tmp_path: Path) -> None:
    """Three that always want it again: nobody gets it twice while the others wait, and each gets its turns."""
    over = tmp_path / "over"  # made by the first that has had all its turns
    with lock.held(GPU, "me", lambda: False, lambda *_: None):  # until all three want it
        asking = [holders.start_turns(f"p{n}", 30, over) for n in range(3)]
        assert [line(p) for p in asking] == ["waiting me\n"] * 3
    turns: list[tuple[float, str]] = []
    for process in asking:
        assert process.stdout is not None
        turns += [(float(row.split()[2]), row.split()[1]) for row in process.stdout if row.startswith("held")]
    names = [name for _, name in sorted(turns)]
    assert max(map(names.count, names)) == 30
    assert [pair for pair in itertools.pairwise(names) if pair[0] == pair[1]] == []
    assert all(names.count(f"p{n}") >= len(names) // 10 for n in range(3))


@pytest.mark.parametrize("victim", ["holder", "supervisor"])
def test_death_releases_it(start: StartWorker, holders: Holders, victim: str) -> None:
    told: list[LockWaiting] = []
    worker = start(on_waiting=told.append)
    worker.start_executor("a", "gpu")
    if victim == "holder":
        process = holders.start("doomed", 600)
        assert line(process).startswith("held")
        future = worker.submit("a", "echo", {}, 60, lock=GPU)
        until(lambda: bool(told))
        assert not future.done()
        process.send_signal(signal.SIGKILL)
        assert future.result(60)["role"] == "gpu"
    else:
        worker.submit("a", "sleep", {"seconds": 600}, 600, lock=GPU)
        wait_until_taken()
        os.kill(worker.hello["pid"], signal.SIGKILL)
        process = holders.start("next", 0)
        assert next(x for x in iter(lambda: line(process), "") if x.startswith("held"))


def test_a_deadline_while_holding_releases_it(start: StartWorker, holders: Holders) -> None:
    worker = start()
    worker.start_executor("a", "gpu")
    with pytest.raises(ExecutorFault):
        worker.call("a", "spin", {}, 0.5, lock=GPU)
    assert line(holders.start("next", 0)).startswith("held")


@pytest.mark.parametrize("how", ["stop", "close"])
def test_waiting_is_given_up_when_nobody_wants_it(start: StartWorker, holders: Holders, how: str) -> None:
    assert line(holders.start("x", 600)).startswith("held")
    told: list[LockWaiting] = []
    worker = start(on_waiting=told.append)
    worker.start_executor("a", "gpu")
    future = worker.submit("a", "echo", {}, 600, lock=GPU)
    until(lambda: bool(told))
    worker.stop_executor("a") if how == "stop" else worker.close()
    assert future.exception(60) is not None


def test_a_folder_that_cannot_be_used_is_a_sentence(start: StartWorker, folder: Path) -> None:
    folder.write_text("a file")
    worker = start()
    worker.start_executor("a", "gpu")
    with pytest.raises(WorkloadError, match="Set KERNELBAND_LOCK_DIR"):
        worker.call("a", "echo", {}, 60, lock=GPU)


def test_the_names_of_gpus_stay_in_the_folder(folder: Path) -> None:
    with lock.held("../../etc/GPU x", "me", lambda: False, lambda *_: None):
        assert sorted(p.name for p in folder.iterdir()) == [".._.._etc_GPU_x.lock", ".._.._etc_GPU_x.turn"]


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    target = tmp_path / "target"
    target.write_text("precious")
    (folder / "g.lock").symlink_to(target)
    with pytest.raises(lock.OperationFailed), lock.held("g", "me", lambda: False, lambda *_: None):
        pass
    assert target.read_text() == "precious"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to act as two users")
def test_between_users(folder: Path, holders: Holders) -> None:
    """Each can take what the other has made, in a sticky folder that belongs to one of them."""
    for path in (folder.parent, *list(folder.parent.parents)[:3]):
        path.chmod(path.stat().st_mode | 0o711)
    nobody = pwd.getpwnam("nobody")
    first = holders.start("root", 600)
    assert line(first).startswith("held")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
    # That user may not read this checkout, nor perhaps this Python: import first, then become nobody.
    code = HOLD.format(server=str(ROOT / "server"), gpu=GPU, name="nobody", seconds=0)
    become = f"import fcntl, os, encodings.idna\nos.setgid({nobody.pw_gid}); os.setuid({nobody.pw_uid})\n"
    code = code.replace("def wait", become + "def wait", 1)
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    holders.processes.append(other)
    assert line(other) == "waiting root\n"
    first.kill()
    assert next(x for x in iter(lambda: line(other), "") if x.startswith("held nobody"))
