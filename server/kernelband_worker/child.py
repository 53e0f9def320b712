"""One executor as the supervisor sees it: a process group, a queue of calls, a deadline, and the tail of what it printed."""

from __future__ import annotations

import codecs
import contextlib
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Dict, List, Optional, Protocol, cast

from kernelband_worker import frames, lock, system
from kernelband_worker.errors import OperationFailed
from kernelband_worker.nursery import Process
from kernelband_worker.wire import EXECUTOR_DIED, EXECUTOR_TIMEOUT, OPERATION_FAILED, ErrorData

# Our zip in place of the current folder, where a file named like a module of the standard library may lie.
_START = (
    "import sys; sys.path[:] = [sys.argv.pop(1)] + [p for p in sys.path if p]; "
    "import importlib; importlib.import_module(sys.argv.pop(1)).main()"
)
_TAIL_CHARS = 8000
TIMED_HERE = ("turn",)  # the seconds of these by our clock, beside those that the executor claims
_WORDS_S, _QUIET_S = 1.0, 0.1  # for where it hangs, which a busy machine lets it say late, and the silence after it
_LOG_CHARS_PER_CALL = 1 << 20  # a program that prints without end must not fill the engine's memory


class Relay(Protocol):
    """What a child needs of the supervisor."""

    locks: lock.Shared  # for calls that may hold a GPU's lock together

    def answer(self, message: Dict[str, Any]) -> None:
        """To the engine."""

    def tell(self, method: str, params: Dict[str, Any]) -> None:
        """A notification to the engine."""

    def ask(self, child: Child, message: Dict[str, Any]) -> None:
        """An executor's request; answered later through ``child.send``."""

    def ended(self, child: Child) -> None:
        """The executor's group is gone."""


@dataclass
class Call:
    """An ``executor/call`` of the engine. ``outcome`` is the executor's response, None when it ended without one."""

    number: Any
    operation: str
    params: Dict[str, Any]
    deadline_s: float
    lock: Optional[str]
    shared: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    outcome: Optional[Dict[str, Any]] = None
    timed_out: bool = False


class Child:
    """Calls run one at a time in the order of arrival; a deadline counts from the moment its call is sent."""

    def __init__(self, name: str, process: Process, *, marker: str, relay: Relay) -> None:
        self.name, self.process = name, process
        self._relay, self._marker = relay, marker
        self._calls: queue.SimpleQueue[Optional[Call]] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[Optional[Dict[str, Any]]] = queue.SimpleQueue()
        self._current: Optional[Call] = None
        self._session = ""
        self._lock = threading.Lock()
        self._tail, self._printed = "", 0
        self._gone = threading.Event()  # dead, its group too; ``_why`` and ``_exit`` are final
        self._stopped = False  # by us: waiting for a GPU lock is given up
        self._exit: Optional[int] = None
        self._disturbed = ""  # what came in place of a frame
        self._oom_kills = system.oom_kills()
        threads = [("read", self._read), ("log", self._log), ("write", self._write), ("reap", self._reap), ("dispatch", self._dispatch)]
        self._threads = {name: threading.Thread(target=run, daemon=True, name=f"{self.name} {name}") for name, run in threads}
        for thread in self._threads.values():
            thread.start()

    # ------------------------------------------------------------ what the supervisor does with it

    def submit(self, call: Call) -> None:
        """Queue a call; the answer goes to the engine."""
        self._calls.put(call)

    def send(self, message: Dict[str, Any]) -> None:
        """A frame to the executor; never blocks, even if it is stopped and its pipe full."""
        self._outbox.put(message)

    def stop(self) -> None:
        """Kill the group. Its calls, waiting or running, are answered with EXECUTOR_DIED."""
        self._stopped = True
        self._kill()
        self._calls.put(None)

    def wait(self, seconds: float) -> bool:
        """Whether the group is gone within ``seconds``."""
        return self._gone.wait(seconds)

    # ------------------------------------------------------------ calls

    def _dispatch(self) -> None:
        while True:
            call = self._calls.get()
            if call is None:
                break
            self._relay.answer(self._locked(call))

    def _locked(self, call: Call) -> Dict[str, Any]:
        if not call.lock:
            return self._run(call)
        gpu = call.lock
        us = f"{system.user()}@{system.host()} pid {os.getpid()}: "
        holder = f"{us}kernelband run {self._session[:12] or '(no session)'}"

        def waiting(who: str, waited_s: float) -> None:
            if not who.startswith(us):  # another executor of this run's is no news
                self._relay.tell("lock/waiting", {"gpu": gpu, "holder": who, "waited_s": round(waited_s, 1)})

        try:
            with (self._relay.locks.held if call.shared else lock.held)(gpu, holder, lambda: self._stopped or self._gone.is_set(), waiting):
                return self._run(call)
        except lock.CancelledError:
            return self._death(call)
        except OperationFailed as error:
            return frames.failure(call.number, OPERATION_FAILED, error.message, {"kind": error.kind})

    def _run(self, call: Call) -> Dict[str, Any]:
        if call.operation == "session/open":
            self._session = str(call.params.get("id", ""))
        with self._lock:
            if self._gone.is_set() or self._stopped:
                return self._death(call)
            self._tail, self._printed = "", 0
            self._current = call
        timer = threading.Timer(call.deadline_s, self._expire, (call,))
        timer.daemon = True
        timer.start()
        begin = time.monotonic()
        self.send(frames.request(call.number, call.operation, call.params))
        call.done.wait()
        timer.cancel()
        result = (call.outcome or {}).get("result")
        if call.operation in TIMED_HERE and isinstance(result, dict):
            result["supervised_s"] = time.monotonic() - begin
        with self._lock:
            self._current = None
        return call.outcome if call.outcome is not None and not call.timed_out else self._death(call)

    def _expire(self, call: Call) -> None:
        with self._lock:
            if call.done.is_set():
                return
            call.timed_out = True
        self._hear_where_it_hangs()
        self._kill()

    def _hear_where_it_hangs(self) -> None:
        if not hasattr(signal, "SIGUSR1"):
            return
        before = heard = self._printed
        with contextlib.suppress(OSError):
            os.kill(self.process.pid, signal.SIGUSR1)  # faulthandler writes it to the log, in many pieces; needs no GIL
        end = time.monotonic() + _WORDS_S
        while not self._gone.wait(_QUIET_S) and time.monotonic() < end:
            if self._printed == heard != before:
                break
            heard = self._printed

    def _death(self, call: Call) -> Dict[str, Any]:
        """The answer to a call that got none from the executor."""
        data: ErrorData = {"tail": self._tail.strip()}
        if call.timed_out:
            sentence = f"{call.operation} took longer than {call.deadline_s:g} s in executor {self.name} and was ended."
            return frames.failure(call.number, EXECUTOR_TIMEOUT, sentence, data)
        if self._stopped:
            return frames.failure(call.number, EXECUTOR_DIED, f"Executor {self.name} was stopped during {call.operation}.", data)
        if self._disturbed:
            data["detail"] = self._disturbed
            sentence = f"Executor {self.name} wrote into its own protocol during {call.operation}, and was ended."
            return frames.failure(call.number, EXECUTOR_DIED, sentence, data)
        code = self._exit
        if code is not None and code < 0:
            data["signal"] = -code
            sentence = f"Executor {self.name} was ended by {_signal_name(-code)} during {call.operation}."
            kills = system.oom_kills()
            if -code == 9 and kills is not None and self._oom_kills is not None and kills > self._oom_kills:
                data["kind"] = "out_of_memory"
                sentence = f"The machine ran out of memory during {call.operation}, and Linux ended executor {self.name}."
        else:
            if code is not None:
                data["exit_code"] = code
            sentence = f"Executor {self.name} exited with code {code} during {call.operation}."
        return frames.failure(call.number, EXECUTOR_DIED, sentence, data)

    # ------------------------------------------------------------ threads on its pipes

    def _write(self) -> None:
        writer = frames.Writer(cast("BinaryIO", self.process.stdin))
        while True:
            message = self._outbox.get()
            if message is None:
                break
            try:
                writer.send(message)
            except (OSError, ValueError):
                break  # it is ending: _reap answers

    def _read(self) -> None:
        try:
            while True:
                message = frames.read(cast("BinaryIO", self.process.stdout))
                if message is None:
                    break
                self._receive(message)
        except frames.FrameError as error:
            self._disturbed = str(error)
        except (OSError, ValueError):
            pass  # closed by _reap
        self._kill()  # without its protocol it is of no use

    def _receive(self, message: Dict[str, Any]) -> None:
        if "method" in message:
            if "id" in message:
                self._relay.ask(self, message)
            elif message["method"] == "progress":
                params = message.get("params")
                text = str(params.get("text", "")) if isinstance(params, dict) else ""
                self._relay.tell("progress", {"executor": self.name, "text": text})
            return
        call = self._current
        if call is None or message.get("id") != call.number:
            return
        error = message.get("error")
        if isinstance(error, dict) and error.get("code") == EXECUTOR_DIED:  # CUDA is unusable in it
            data = error.setdefault("data", {})
            data.setdefault("tail", self._tail.strip())
            call.outcome = message
            self._kill()  # _reap finishes the call when the group is gone
            return
        with self._lock:
            if not call.timed_out:  # else its group is being killed: a late answer must not make the next call look like the culprit
                call.outcome = message
                call.done.set()

    def _log(self) -> None:
        assert self.process.stderr is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError, ValueError):
            while True:
                part = os.read(self.process.stderr.fileno(), 65536)
                self._print(decoder.decode(part, final=not part))
                if not part:
                    break

    def _print(self, text: str) -> None:
        if not text:
            return
        before = self._printed
        self._printed += len(text)
        self._tail = (self._tail + text)[-_TAIL_CHARS:]
        if before < _LOG_CHARS_PER_CALL:
            more = "" if self._printed < _LOG_CHARS_PER_CALL else "\n[more output of this call is left out]\n"
            self._relay.tell("log", {"executor": self.name, "text": text[: _LOG_CHARS_PER_CALL - before] + more})

    # ------------------------------------------------------------ its end

    def _kill(self) -> None:
        if self.process.returncode is None:  # once reaped, the number may be somebody else's
            system.kill_group(self.process)

    def _reap(self) -> None:
        # Look without reaping first: while the leader is a zombie, the number of its group is not given away.
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
            system.kill_group(self.process)
        self._exit = self.process.wait()
        system.kill_marked(self._marker)
        self._outbox.put(None)
        self._threads["log"].join(2)
        self._threads["read"].join(2)  # takes an answer that was sent just before the end
        with self._lock:
            self._gone.set()
            call = self._current
        self._relay.ended(self)
        if call is not None:
            call.done.set()
        self._threads["write"].join(2)
        system.close(self.process.stdin)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def command(archive: str, module: str, role: str) -> List[str]:
    """What starts an executor with this Python; a nursery's descriptor may follow."""
    return [sys.executable, "-u", "-c", _START, archive, module, role, str(os.getpid())]
