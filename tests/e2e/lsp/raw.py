"""A client that says anything: raw bytes to a real server process, and every message that comes back."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from typing import Any

from tests.e2e.cli_world import Home

LONG_S = 360.0  # reached only when something is broken


def frame(message: object) -> bytes:
    """As a client sends it; bytes stay what they are."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def request(msg_id: object, method: object, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params}


def notification(method: object, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


class Raw:
    """The process. ``replies``: what it answered, in order; ``others``: what it said of itself. Server's requests get ``null``."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.uri = home.file.as_uri()
        with home.said.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kernelband", "lsp", "--stdio", "--db", str(home.db)],
                cwd=home.work,
                env=home.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.replies: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        self._came: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while header := out.readline():
            length = int(header.removeprefix(b"Content-Length: "))
            while out.readline().strip():
                pass
            self._came.put(json.loads(out.read(length)))
        self._came.put(None)

    def send(self, *messages: object) -> None:
        """In one write; bytes are bodies."""
        self.write(b"".join(map(frame, messages)))

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, wanted: Any, seconds: float = LONG_S) -> dict[str, Any]:
        """The first message from now on that is wanted.

        Raises:
            AssertionError: it doesn't come in that time.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                message = self._came.get(timeout=max(end - time.monotonic(), 0.01))
            except queue.Empty:
                raise AssertionError(f"nothing in {seconds} s; stderr: {self.stderr[-2000:]}") from None
            assert message is not None, f"the server ended: {self.stderr[-2000:]}"
            if "method" in message:
                self.others.append(message)
                if "id" in message:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": None})
            else:
                self.replies.append(message)
            if wanted(message):
                return message

    def ask(self, msg_id: object, method: str, params: object = None, seconds: float = LONG_S) -> dict[str, Any]:
        """The reply to a request."""
        self.send(request(msg_id, method, params))
        return self.until(lambda m: "method" not in m and m.get("id") == msg_id, seconds)

    def begin(self, **options: Any) -> Raw:
        """Begin a session and open the file."""
        folder = self.home.work.as_uri()
        params = {"processId": None, "rootUri": folder, "capabilities": {}, "initializationOptions": options}
        assert "result" in self.ask("initialize", "initialize", params)
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.home.file.read_text()}
        self.send(notification("initialized", {}), notification("textDocument/didOpen", {"textDocument": item}))
        return self

    def hover(self, msg_id: object) -> str:
        """On the known kernel."""
        reply = self.ask(msg_id, "textDocument/hover", {"textDocument": {"uri": self.uri}, "position": {"line": 6, "character": 6}})
        return reply["result"]["contents"]["value"]

    @property
    def stderr(self) -> str:
        return self.home.said.read_text(errors="replace")

    def end(self, seconds: float = LONG_S) -> int:
        """The exit code, once it has ended.

        Raises:
            TimeoutExpired: it doesn't in that time.
        """
        try:
            return self.process.wait(seconds)
        finally:
            self.close()

    def close(self) -> None:
        """Kill what still runs."""
        self.process.kill()
        self.process.wait()
        self._thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
