"""An editor at the level of bytes: a client that times the server's replies, and a text that is being typed in."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from attrs import define, field

PATIENCE_S = 120.0
REDRAW_S = 5.0


class Client:
    """LSP over the pipes of a process. One thread reads; a reply is timed when it is parsed."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=dict(environment))
        self._lock = threading.Lock()
        self._next = 0
        self._waiting: dict[int, Queue[tuple[float, Any]]] = {}
        self.redraws = 0  # times that the server has asked to draw lenses anew
        self._redrawn = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def notify(self, method: str, params: Any) -> float:
        """When its bytes were written, by ``time.perf_counter``."""
        return self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any) -> tuple[float, Any]:
        """Milliseconds to the reply, and its result.

        Raises:
            RuntimeError: the server answered with an error, or not at all.
        """
        answer: Queue[tuple[float, Any]] = Queue()
        with self._lock:
            self._next += 1
            number = self._next
        self._waiting[number] = answer
        sent = self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            at, reply = answer.get(timeout=PATIENCE_S)
        except Empty:
            raise RuntimeError(f"{method} had no reply in {PATIENCE_S:.0f} s.") from None
        if "result" not in reply:
            raise RuntimeError(f"{method} was refused: {reply.get('error')}.")
        return (at - sent) * 1000, reply["result"]

    def redraw(self, seen: int) -> bool:
        """Wait until the server has asked more than that often to draw lenses anew; False when it doesn't."""
        with self._redrawn:
            return self._redrawn.wait_for(lambda: self.redraws > seen, REDRAW_S)

    def close(self) -> None:
        """Nothing of the process stays."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _write(self, message: Any) -> float:
        data = json.dumps(message).encode()
        pipe = self.process.stdin
        assert pipe is not None
        with self._lock:
            sent = time.perf_counter()
            pipe.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
            pipe.flush()
        return sent

    def _read(self) -> None:
        pipe = self.process.stdout
        assert pipe is not None
        length = 0
        while line := pipe.readline():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            elif not line.strip():
                message = json.loads(pipe.read(length))
                at = time.perf_counter()
                if "method" not in message:
                    self._waiting.pop(message["id"]).put((at, message))
                elif "id" in message:  # the server asks
                    self._write({"jsonrpc": "2.0", "id": message["id"], "result": None})
                    if message["method"] == "workspace/codeLens/refresh":
                        with self._redrawn:
                            self.redraws += 1
                            self._redrawn.notify_all()

    def cpu_s(self) -> float:
        """Seconds on a processor so far, of all its threads that are there now."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(t.read_text().split()[0]) for t in tasks) / 1e9

    def memory_mib(self, name: str) -> float:
        """``VmRSS``, resident now, or ``VmHWM``, the most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(x for x in status.splitlines() if x.startswith(name)).split()[1]) / 1024


@define(eq=False)
class Buffer:
    """The client's text of a document, and the one who types in it. ASCII: columns are offsets."""

    client: Client
    uri: str
    text: str = field(repr=False)
    head: int = 0  # characters at its beginning that nobody types in
    rng: random.Random = field(factory=lambda: random.Random(1))  # noqa: S311 - not for secrets
    version: int = 1
    _lock: threading.RLock = field(factory=threading.RLock, repr=False)
    _typed: int | None = None

    def open(self) -> None:
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        self.client.notify("textDocument/didOpen", {"textDocument": item})

    @property
    def document(self) -> dict[str, str]:
        return {"uri": self.uri}

    def position(self, offset: int) -> dict[str, int]:
        return {"line": self.text.count("\n", 0, offset), "character": offset - self.text.rfind("\n", 0, offset) - 1}

    def replace(self, start: int, end: int, new: str) -> float:
        """When the change was written."""
        with self._lock:
            change = {"range": {"start": self.position(start), "end": self.position(end)}, "text": new}
            self.text = self.text[:start] + new + self.text[end:]
            self.version += 1
            return self.client.notify(
                "textDocument/didChange", {"textDocument": {**self.document, "version": self.version}, "contentChanges": [change]}
            )

    def key(self) -> None:
        """A character at a random place, or the last one taken back: the text stays nearly what it was. Names of kernels stay whole."""
        with self._lock:
            if self._typed is not None:
                self.replace(self._typed, self._typed + 1, "")
                self._typed = None
                return
            at = self.head
            while "kernel_" in self.text[self.text.rfind("\n", 0, at) + 1 : self.text.find("\n", at)] or at == self.head:
                at = self.rng.randrange(self.head + 1, len(self.text) - 1)
            self._typed = at
            self.replace(at, at, self.rng.choice("abcd =.,("))

    def rename(self, old: str, new: str) -> float:
        with self._lock:
            start = self.text.index(f"def {old}(") + len("def ")
            if self._typed is not None and self._typed > start:
                self._typed += len(new) - len(old)
            return self.replace(start, start + len(old), new)

    def lens(self) -> tuple[float, Any]:
        return self.client.ask("textDocument/codeLens", {"textDocument": self.document})

    def hover(self, kernel: int) -> tuple[float, Any]:
        """At a kernel's name, its launch or its constexpr."""
        with self._lock:
            start = self.text.find(f"def kernel_{kernel}(") + 4
            host = self.text.find(f"def host_{kernel}(")
            word = self.rng.choice([start, self.text.find("BLOCK", start), self.text.find(f"kernel_{kernel}[", host)])
            at = self.position(word + 1)
        return self.client.ask("textDocument/hover", {"textDocument": self.document, "position": at})

    def action(self, kernel: int) -> tuple[float, Any]:
        with self._lock:
            at = self.position(self.text.find(f"def kernel_{kernel}(") + 4)
        params = {"textDocument": self.document, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}
        return self.client.ask("textDocument/codeAction", params)
