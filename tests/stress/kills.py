"""One kill: a run is watched through its events, and something of it is killed in a phase at a random moment; then it is resumed."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from kernelband.history import Store, runs, trials
from tests.e2e.cli_world import Home
from tests.e2e.conftest import family, is_alive

#: Seconds after the phase's beginning within which the kill falls: about as long as the phase takes.
WITHIN = {"capture": 1.5, "baseline": 0.6, "compile": 0.8, "check": 0.5, "measure": 0.8, "commit": 0.004, "final": 6.0}
VICTIMS = ("engine", "engine", "supervisor", "executor")


@frozen
class Kill:
    """What was done: whom, in which phase, after how long in it."""

    number: int
    victim: str
    phase: str
    delay: float
    trials_before: int
    state_after: str


@define
class Watched:
    """A run in a process, its events as they come."""

    process: subprocess.Popen[str]
    events: list[dict[str, Any]] = field(factory=list)
    _lines: queue.Queue[str | None] = field(factory=queue.Queue)

    def __attrs_post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def next(self, seconds: float) -> dict[str, Any] | None:
        """The next event; None at the end.

        Raises:
            queue.Empty: none came in time.
        """
        line = self._lines.get(timeout=seconds)
        if line is None:
            return None
        self.events.append(json.loads(line))
        return self.events[-1]

    def drain(self) -> None:
        """Take what is left after the end."""
        with contextlib.suppress(queue.Empty):
            while self.next(5.0) is not None:
                pass

    def close(self) -> None:
        """The process has ended: let go of its pipe."""
        if self.process.stdout is not None:
            self.process.stdout.close()

    def until(self, phase: str, occurrence: int) -> bool:
        """Wait for the n-th time that the phase begins; False when the run ended before."""
        left = occurrence
        while True:
            event = self.next(120.0)
            if event is None:
                return False
            if event["event"] == "phase_changed" and event["phase"] == phase:
                left -= 1
                if left == 0:
                    return True

    @property
    def run(self) -> str | None:
        """The run's id, once it has one."""
        return next((e["run"] for e in self.events if e["event"] == "run_started"), None)

    @property
    def phase(self) -> str:
        """As last heard."""
        return next((e["phase"] for e in reversed(self.events) if e["event"] == "phase_changed"), "start")

    @property
    def told(self) -> int:
        """Trials that were reported."""
        return sum(e["event"] == "trial_ended" for e in self.events)


def kill_once(home: Home, number: int, phase: str, rng: random.Random, arguments: tuple[str, ...]) -> Kill:
    """Start a run, kill, look, resume, look again.

    Raises:
        AssertionError: something was lost, left behind or damaged.
    """
    run = Watched(home.popen("optimize", "scale.py", *arguments, "--seed", str(number), "--db", str(home.db), "--json"))
    victim = rng.choice(VICTIMS)
    occurrence = 1 if phase in ("capture", "baseline", "final") else rng.choice((1, 1, 2))
    assert run.until(phase, occurrence), f"the run ended before phase {phase} began: {home.said.read_text()}"
    delay = rng.uniform(0, WITHIN[phase])
    time.sleep(delay)
    name = run.run
    assert name is not None
    strike(run.process.pid, victim, rng)
    if victim == "engine":
        run.process.wait(10)
    else:
        run.process.wait(180)
    run.drain()
    run.close()
    assert_nobody_is_left(home)
    before = rows(home, name)
    assert len(before["trials"]) >= run.told, "a trial that was reported is not in the database"
    state = before["state"]
    if state != "finished":
        assert state in ("interrupted", "failed"), state
        done = home.run("optimize", "--resume", name, "--db", str(home.db), "--json", seconds=240)
        assert done.code == 0, done.err
    after = rows(home, name)
    assert after["state"] == "finished"
    for table in ("variants", "trials", "pulls"):
        assert after[table][: len(before[table])] == before[table], f"{table} changed"
    keys = [(p.parent, p.key) for p in after["pulls"] if p.key]
    assert len(keys) == len(set(keys)), "a proposal was made twice"
    assert_nobody_is_left(home)
    return Kill(number, victim, phase, delay, len(before["trials"]), state)


def strike(engine: int, victim: str, rng: random.Random) -> None:
    """kill -9 of the engine, of its worker's supervisor, or of one executor."""
    others = family(engine)[1:]
    executors = [pid for pid in others if _marked(pid, b"KERNELBAND_EXECUTOR=")]
    if victim == "executor" and executors:
        target = rng.choice(executors)
    elif victim == "supervisor" and others:
        target = others[0]  # the engine's only child
    else:
        target = engine
    with contextlib.suppress(ProcessLookupError):
        os.kill(target, signal.SIGKILL)


def _marked(pid: int, word: bytes) -> bool:
    try:
        return any(x.startswith(word) for x in Path("/proc", str(pid), "environ").read_bytes().split(b"\0"))
    except OSError:
        return False


def assert_nobody_is_left(home: Home, seconds: float = 120.0) -> None:
    """No process with this home in its environment lives on."""
    mark = f"HOME={home.home}".encode()
    end = time.monotonic() + seconds
    while True:
        left = [int(p) for p in os.listdir("/proc") if p.isdigit() and _marked(int(p), mark) and is_alive(int(p))]
        if not left:
            return
        assert time.monotonic() < end, [Path("/proc", str(p), "cmdline").read_bytes()[:200] for p in left]
        time.sleep(0.05)


def rows(home: Home, name: str) -> dict[str, Any]:
    """Everything of a run, from a sound database."""
    with Store.read(home.db) as store:
        assert store.integrity() == "ok"
        return {
            "state": runs.find(store, name).state,
            "variants": trials.variants(store, name),
            "trials": trials.trials(store, name),
            "pulls": trials.pulls(store, name),
        }
