"""One process of a run: what it prints, how it ends, and that nobody outlives it. The process is a small program of the test."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernelband.lsp import child as module
from kernelband.lsp.child import LOG_BYTES, LOG_LINES, Child, Exit, Lines
from kernelband_worker import system

#: Before each program: ``say`` prints an event; ``sleeper`` starts a process, whose environment may be read only a moment after.
BEGIN = """
import json, os, signal, subprocess, sys, time
def say(**event):  # no print: a signal may come in the middle of one, and there can't be another one in it
    data = json.dumps(event).encode() + b"\\n"
    while data: data = data[os.write(1, data):]
def sleeper(**how):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(250)"], **how)
    while not open(f"/proc/{process.pid}/environ", "rb").read(): time.sleep(0.01)
    return process
"""


class Heard:
    """What a child told."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.ends: list[Exit] = []
        self.ended = asyncio.Event()

    def end(self, end: Exit) -> None:
        self.ends.append(end)
        self.ended.set()

    def names(self) -> list[str]:
        return [e["event"] for e in self.events]


def begin(program: str, cwd: str | None = None) -> tuple[Child, Heard]:
    heard = Heard()
    command = [sys.executable, "-c", BEGIN + textwrap.dedent(program)]
    return Child.start(command, os.environ, heard.events.append, heard.end, cwd=cwd), heard


async def until(condition: Callable[[], object], seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)


async def whole(program: str) -> tuple[Child, Heard]:
    child, heard = begin(program)
    await asyncio.wait_for(heard.ended.wait(), 100)
    return child, heard


def left(child: Child) -> list[int]:
    return list(system.marked(child.marker))


@pytest.mark.asyncio
async def test_events_come_in_order_and_the_end_after_them() -> None:
    _, heard = await whole("for i in range(500): say(event='tick', i=i)\nsys.exit(3)")
    assert [e["i"] for e in heard.events] == list(range(500))
    assert heard.ends == [Exit(3)]


@pytest.mark.asyncio
async def test_what_is_not_an_event_is_log() -> None:
    child, heard = await whole("""
        print('warning: something'); print('[1, 2]'); print('{"no": "event"}'); print('{"event": 7}'); print('[' * 100000, flush=True)
        sys.stdout.buffer.write(b'\\xff\\xfe\\n\\n'); sys.stdout.flush()
        say(event='after')
        sys.stdout.write('{"event": "last"}')
    """)
    assert heard.names() == ["after", "last"]
    assert [line[:18] for line in child.log] == [
        "warning: something",
        "[1, 2]",
        '{"no": "event"}',
        '{"event": 7}',
        "[" * 18,
        "\ufffd\ufffd",
    ]


@pytest.mark.asyncio
async def test_a_line_of_many_megabytes_is_an_event() -> None:
    _, heard = await whole("say(event='large', text='x' * 20_000_000)\nsay(event='small')")
    assert heard.names() == ["large", "small"]
    assert len(heard.events[0]["text"]) == 20_000_000


@pytest.mark.asyncio
async def test_the_last_lines_of_stderr_are_kept() -> None:
    child, _ = await whole("for i in range(1000): print('line', i, file=sys.stderr)\nprint('y' * 10**6, end='', file=sys.stderr)")
    assert len(child.errors) == LOG_LINES
    assert child.errors[0] == "line 801"
    assert child.errors[-1] == "y" * LOG_BYTES


@pytest.mark.asyncio
async def test_it_has_a_session_of_its_own_no_input_and_the_folder_that_is_named(tmp_path: Path) -> None:
    heard = begin("say(event='me', sid=os.getsid(0) == os.getpid(), stdin=sys.stdin.read(), cwd=os.getcwd())", cwd=str(tmp_path))[1]
    await asyncio.wait_for(heard.ended.wait(), 100)
    assert heard.events == [{"event": "me", "sid": True, "stdin": "", "cwd": str(tmp_path)}]


@pytest.mark.asyncio
async def test_a_program_that_is_not_there_ends_with_the_reason() -> None:
    heard = Heard()
    child = Child.start(["/nowhere/python", "-c", ""], {}, heard.events.append, heard.end)
    await asyncio.wait_for(heard.ended.wait(), 100)
    (end,) = heard.ends
    assert end.code is None
    assert "/nowhere/python" in end.problem
    await child.cancel()


@pytest.mark.asyncio
async def test_one_that_listens_to_sigterm_says_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 100.0)  # a busy machine lets it wait
    child, heard = begin("""
        def stop(*_): say(event='run_ended'); sys.exit(130)
        signal.signal(signal.SIGTERM, stop)
        say(event='ready')
        time.sleep(250)
    """)
    await until(lambda: heard.events)
    await child.cancel()
    assert heard.names() == ["ready", "run_ended"]
    assert heard.ends == [Exit(130)]


@pytest.mark.asyncio
@pytest.mark.skipif(not system.LINUX, reason="processes that left their group are found in /proc")
async def test_one_that_ignores_sigterm_is_gone_with_all_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """How soon is seen by tests/e2e/lsp/test_child.py, which runs alone."""
    monkeypatch.setattr(module, "GRACE_S", 0.2)
    child, heard = begin("""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        inside = sleeper()
        outside = sleeper(start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                say(event='orphan', pid=os.getpid())
                time.sleep(250)
            os._exit(0)
        say(event='ready', pids=[os.getpid(), inside.pid, outside.pid])
        time.sleep(250)
    """)
    await until(lambda: len(heard.events) == 2)
    ready = next(e for e in heard.events if e["event"] == "ready")
    orphan = next(e for e in heard.events if e["event"] == "orphan")
    await until(lambda: set(left(child)) >= {*ready["pids"], orphan["pid"]})
    await child.cancel()
    await until(lambda: not left(child))
    assert heard.ends == [Exit(-9)]


@pytest.mark.asyncio
@pytest.mark.skipif(not system.LINUX, reason="processes that left their group are found in /proc")
async def test_one_that_dies_leaves_nobody_who_holds_its_pipes() -> None:
    child, heard = begin("""
        sleeper(start_new_session=True)
        say(event='ready')
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    await asyncio.wait_for(heard.ended.wait(), 100)  # who holds its pipes would sleep for longer
    assert heard.names() == ["ready"]
    assert heard.ends == [Exit(-9)]
    await until(lambda: not left(child))


@pytest.mark.asyncio
@pytest.mark.skipif(not system.LINUX, reason="processes that left their group are found in /proc")
async def test_kill_needs_no_loop() -> None:
    child, heard = begin("sleeper(start_new_session=True)\nsay(event='ready')\ntime.sleep(250)")
    await until(lambda: heard.events)
    child.kill()
    end = time.monotonic() + 100
    while left(child) and time.monotonic() < end:
        time.sleep(0.01)  # the loop stands still
    assert left(child) == []
    await asyncio.wait_for(heard.ended.wait(), 100)


@pytest.mark.asyncio
async def test_cancel_at_once_and_twice() -> None:
    child, heard = begin("time.sleep(250)")
    await asyncio.gather(child.cancel(), child.cancel())
    await child.cancel()
    assert heard.ends == [Exit(-15)]


@pytest.mark.asyncio
async def test_a_listener_that_fails_stops_no_other_event() -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    reported: list[BaseException] = []
    seen: list[int] = []
    ended = asyncio.Event()

    def hear(event: dict[str, Any]) -> None:
        if event["i"] == 1:
            raise KeyError("i")
        seen.append(event["i"])

    command = [sys.executable, "-c", BEGIN + "for i in range(4): say(event='tick', i=i)"]
    Child.start(command, os.environ, hear, lambda _: ended.set())
    await asyncio.wait_for(ended.wait(), 100)
    assert seen == [0, 2, 3]
    assert [type(e) for e in reported] == [KeyError]


def test_lines_of_pieces() -> None:
    lines = Lines(5)
    assert lines.feed(b"ab") == []
    assert lines.feed(b"c\n\nlonger than five\nr") == [b"abc", b"", b"longe"]
    assert (lines.rest(), lines.rest()) == (b"r", b"")
