"""The worker's process and the frames to and from it. One thread reads; a lost worker fails every waiting call at once."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import secrets
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import IO, Any, cast

from kernelband.errors import KernelBandError, WorkerError
from kernelband.worker import bootstrap, diagnosis
from kernelband.worker.command import WorkerCommand
from kernelband.worker.faults import error_of
from kernelband_worker import frames, scrub, system

_NOISE_BYTES = 1 << 16
_TAIL_CHARS = 8000
_GONE_S = 3.0  # how long a worker may take to clean up after end of input
_SILENT_BEATS = 6

Handler = Callable[[str, dict[str, Any]], Any]


class Connection:
    """A started worker. Use ``Connection.open``.

    Args:
        command: how to start it.
        deadline_s: until the Python must have answered and the archive must be taken.
        heartbeat_s: how often the worker will say something; six silent beats and it counts as lost.
        on_log: takes (source, text) of what the command prints besides the protocol.
        on_message: takes (method, parameters) of the worker's notifications, in the reader thread.
        on_request: answers the worker's requests, in a thread of its own; a KernelBandError becomes an error answer.
    """

    def __init__(
        self,
        command: WorkerCommand,
        *,
        deadline_s: float,
        heartbeat_s: float,
        on_log: Callable[[str, str], None],
        on_message: Handler,
        on_request: Handler,
    ) -> None:
        self.command = command
        self._on_log, self._on_message, self._on_request = on_log, on_message, on_request
        self._silence_s = heartbeat_s * _SILENT_BEATS
        self._lock = threading.Lock()
        self._numbers = 0
        self._pending: dict[int, Future[Any]] = {}
        self._lost: WorkerError | None = None
        self._closing = False
        self.disturbed = False  # lost to bytes that are no frame, rather than to its end
        self._heard = time.monotonic()
        self._version: str | None = None
        self._marked = threading.Event()  # the marker came, or never will
        self._requests: deque[dict[str, Any]] = deque()
        self._requested = threading.Semaphore(0)
        self._errors, self._noise = "", ""
        self._start(deadline_s)

    # ------------------------------------------------------------ start

    def _start(self, deadline_s: float) -> None:
        marker = "kernelband-" + secrets.token_hex(16)
        argv = self.command.argv(bootstrap.program(marker, self.command.executor))
        environment = scrub.scrubbed(os.environ, agents=bool(self.command.prefix))
        for name in ("SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY"):
            environment.pop(name, None)
        environment["SSH_ASKPASS_REQUIRE"] = "never"
        try:
            process: Any = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment,
                **system.new_group(),
            )
        except OSError as error:
            raise diagnosis.not_startable(self.command, error) from error
        self._process = cast("subprocess.Popen[bytes]", process)
        stdin, stdout, stderr = (cast("IO[bytes]", stream) for stream in (process.stdin, process.stdout, process.stderr))
        self._stdin = stdin
        self._writer = frames.Writer(cast("Any", io.BufferedWriter(cast("io.RawIOBase", stdin), 1 << 16)))
        self._threads = {
            name: threading.Thread(target=run, args=args, daemon=True, name=f"worker {name}")
            for name, run, args in (
                ("errors", self._read_errors, (stderr,)),  # the first: the reader waits for it
                ("reader", self._read, (stdout, marker.encode())),
                ("files", self._serve, ()),
            )
        }
        for thread in self._threads.values():
            thread.start()
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._kill()

        timer = threading.Timer(deadline_s, expire)
        timer.daemon = True
        timer.start()
        try:
            if not self._marked.wait(deadline_s + 1):
                expired.set()  # on a busy machine the timer may be later than this
            if self._version is not None:
                self._check(self._version)
                self._send_archive(self._version)
            if self._version is None or expired.is_set():
                raise self.failure(deadline_s=deadline_s, expired=expired)
        except BaseException:
            self.kill()
            raise
        finally:
            timer.cancel()
        self._heard = time.monotonic()
        watch = threading.Thread(target=self._watch, daemon=True, name="worker watch")
        watch.start()

    def _check(self, version: str) -> None:
        if tuple(int(part) for part in version.split(".")[:2]) < bootstrap.OLDEST_PYTHON:
            raise diagnosis.too_old(self.command, version)

    def _send_archive(self, version: str) -> None:
        near = not self.command.prefix  # elsewhere the line may be slow
        ours = version.split(".")[:2] == [str(part) for part in sys.version_info[:2]]
        rest = memoryview(bootstrap.framed(bootstrap.archive(self.command.extra, compiled=near and ours)))
        with contextlib.suppress(BrokenPipeError):  # it has ended: the first request says why
            while rest:
                rest = rest[self._stdin.write(rest) :]

    def failure(self, *, deadline_s: float, expired: threading.Event | None = None) -> WorkerError:
        """Why the start failed, from what the command printed. Kills it. ``expired``: set when it is killed for its time."""
        expired = expired or threading.Event()
        code = None if expired.is_set() else system.wait(self._process, 5.0)  # its output has ended: so will it
        if expired.is_set():  # killed while it was waited for: that exit code is ours
            code = None
        self._kill()
        self._threads["errors"].join(1.0)  # its last words; a background ssh master may keep the pipe open for ever
        attempt = diagnosis.Attempt(
            command=self.command,
            errors=self._errors,
            noise=self._noise,
            exit_code=code,
            marked=self._version is not None,
            deadline_s=deadline_s,
        )
        return diagnosis.explain(attempt)

    # ------------------------------------------------------------ calls

    def request(self, method: str, params: Any) -> Future[Any]:
        """Send a request. The future fails with what ``error_of`` makes of an error answer, or WorkerError if the worker is lost."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # a sent request can't be taken back: stop its executor instead
        with self._lock:
            if self._lost is not None:
                future.set_exception(self._lost)
                return future
            self._numbers += 1
            number = self._numbers
            self._pending[number] = future
        try:
            self._writer.send(frames.request(number, method, params))
        except (OSError, ValueError):
            self._lose("it has ended")
        return future

    def close(self) -> None:
        """Let the worker clean up, then make sure that it is gone. Waiting calls fail."""
        self._closing = True
        with contextlib.suppress(KernelBandError, TimeoutError):
            self.request("shutdown", {}).result(_GONE_S)
        self.kill()

    def kill(self) -> None:
        """End of input, a moment to clean up, then SIGKILL for what is left of the command's group here."""
        self._closing = True
        self._lose("it was closed")
        closer = threading.Thread(target=system.close, args=(self._stdin,), daemon=True)
        closer.start()  # closing may wait for a thread that is writing to a stopped worker
        closer.join(0.5)
        if system.wait(self._process, _GONE_S) is None:
            self._kill()
            system.wait(self._process, _GONE_S)
        for name in ("reader", "errors"):
            self._threads[name].join(0.5)
        self._requested.release()

    def _kill(self) -> None:
        if self._process.returncode is None:
            system.kill_group(self._process)

    def _lose(self, why: str) -> None:
        with self._lock:
            if self._lost is None:
                sentence = f"The worker ({self.command.name}) is gone: {why}. Start again; what was finished is kept."
                self._lost = WorkerError(sentence, detail=self._errors.strip()[-2000:], kind="lost")
            failed, self._pending = list(self._pending.values()), {}
            lost = self._lost
        for future in failed:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(lost)

    # ------------------------------------------------------------ threads

    def _read(self, raw: IO[bytes], marker: bytes) -> None:
        stream = cast("Any", io.BufferedReader(_Watched(raw, self._hear), 1 << 16))
        why = "it ended"
        try:
            if self._find(stream, marker):
                while (message := frames.read(stream)) is not None:
                    self._receive(message)
        except frames.FrameError as error:
            why = f"its protocol was disturbed ({error})"
            self.disturbed = True
        except (OSError, ValueError) as error:
            why = f"its pipe broke ({error})"
        finally:
            self._marked.set()
            if not self._closing and self._version is not None:
                self._threads["errors"].join(0.5)  # ssh tells on stderr why it left
            self._lose(why)
            if self._version is not None:  # else the start has failed, and its exit code is the reason
                self._kill()
            system.close(raw)

    def _find(self, stream: Any, marker: bytes) -> bool:
        """Read up to the marker. What stands before it is what the login shell printed."""
        seen = 0
        while line := stream.readline(_NOISE_BYTES):
            if line.startswith(marker):
                self._version = line[len(marker) :].decode("ascii", "replace").strip()
                self._marked.set()
                return True
            seen += len(line)
            if seen <= _NOISE_BYTES:
                text = line.decode("utf-8", "replace")
                self._noise += text
                if text.strip():
                    self._on_log("worker", text)
        return False

    def _hear(self) -> None:
        self._heard = time.monotonic()

    def _receive(self, message: dict[str, Any]) -> None:
        if "method" in message:
            if "id" in message:
                self._requests.append(message)
                self._requested.release()
            else:
                self._on_message(str(message["method"]), message.get("params") or {})
            return
        with self._lock:
            future = self._pending.pop(message.get("id", -1), None)
        if future is None:
            return
        if "error" in message:
            future.set_exception(error_of(message["error"]))
        else:
            future.set_result(message.get("result"))

    def _read_errors(self, raw: IO[bytes]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError, ValueError):
            while part := raw.read(1 << 16):
                text = decoder.decode(part)
                self._errors = (self._errors + text)[-_TAIL_CHARS:]
                self._on_log("worker", text)
        system.close(raw)

    def _serve(self) -> None:
        """Answer the worker's requests, so that a slow disk doesn't hold up the reader."""
        while True:
            self._requested.acquire()
            if not self._requests:
                return
            message = self._requests.popleft()
            try:
                answer = frames.response(message["id"], self._on_request(str(message["method"]), message.get("params") or {}))
            except KernelBandError as error:
                data: Any = {"kind": error.kind or "import_failed", "detail": error.detail}
                answer = frames.failure(message["id"], frames.INTERNAL_ERROR, error.message, data)
            except Exception as error:  # noqa: BLE001  # a fault of ours must not leave an executor waiting
                answer = frames.failure(message["id"], frames.INTERNAL_ERROR, f"The engine failed in {message['method']}: {error!r}")
            try:
                self._writer.send(answer)
            except (OSError, ValueError):
                return

    def _watch(self) -> None:
        """Six silent beats and the worker counts as lost: stopped, or cut off without an end of its connection."""
        pause = max(self._silence_s / 20, 0.05)
        before = time.monotonic()
        while self._lost is None:
            time.sleep(pause)
            now = time.monotonic()
            if now - before > pause + self._silence_s / 4:
                self._heard = now  # this process itself was stopped: let the reader catch up first
            before = now
            if now - self._heard > self._silence_s:
                self._lose(f"it hasn't answered for {self._silence_s:.0f} s")
                self._kill()


class _Watched(io.RawIOBase):
    """A pipe that tells whenever bytes come: during one large frame no other is complete."""

    def __init__(self, raw: IO[bytes], heard: Callable[[], None]) -> None:
        self._raw, self._heard = cast("io.FileIO", raw), heard

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._raw.readinto(buffer)
        self._heard()
        return count or 0
