"""Messages on a byte stream: JSON objects under ``Content-Length`` headers, as in the Language Server Protocol.

Engine, supervisor and executors all speak through this file. Standard library only, Python >= 3.9.
"""

from __future__ import annotations

import json
import threading
from typing import Any, BinaryIO, Dict, List, Optional

from kernelband_worker.wire import ErrorData

MAX_HEADER_BYTES = 4096
MAX_FRAME_BYTES = 1 << 30

# JSON-RPC's own codes, for what is wrong with a message rather than with its operation.
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603


class FrameError(Exception):
    """The bytes aren't a frame: the other side isn't one of ours, died in the middle, or something printed in between."""


def encode(message: Dict[str, Any]) -> bytes:
    """One frame, header included. Text goes as ASCII escapes, so lone surrogates survive."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def read(stream: BinaryIO) -> Optional[Dict[str, Any]]:
    """The next message, or None at end of input between two frames.

    Raises:
        FrameError: the header is no header, too long, or names an impossible length; input ends inside a frame; the body isn't
            a JSON object.
    """
    length: Optional[int] = None
    seen = 0
    while True:
        line = stream.readline(MAX_HEADER_BYTES)
        if not line and seen == 0:
            return None
        seen += len(line)
        if not line.endswith(b"\n"):
            raise FrameError(f"input ended inside a header: {line[:80]!r}" if seen < MAX_HEADER_BYTES else f"no header: {line[:80]!r}")
        if seen > MAX_HEADER_BYTES:
            raise FrameError(f"a header of more than {MAX_HEADER_BYTES} bytes")
        line = line.rstrip(b"\r\n")
        if not line:
            break
        name, colon, value = line.partition(b":")
        if not colon:
            raise FrameError(f"no header: {line[:80]!r}")
        if name.strip().lower() == b"content-length":
            length = _length(value.strip())
    if length is None:
        raise FrameError("a header without Content-Length")
    return _body(_exactly(stream, length))


def _length(text: bytes) -> int:
    # int() would also take "+1", "1_0" and other alphabets' digits; isdigit() of bytes is ASCII only.
    if not text.isdigit() or len(text) > len(str(MAX_FRAME_BYTES)) or int(text) > MAX_FRAME_BYTES:
        raise FrameError(f"an impossible Content-Length: {text[:40]!r}")
    return int(text)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    parts: List[bytes] = []
    missing = length
    while missing:
        part = stream.read(min(missing, 1 << 20))  # grows with what came, not with what the header claims
        if not part:
            raise FrameError(f"input ended {missing} bytes before the end of a frame of {length}")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _body(body: bytes) -> Dict[str, Any]:
    try:
        message: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame that isn't JSON: {body[:80]!r}") from error
    if not isinstance(message, dict):
        raise FrameError(f"a frame that isn't a JSON object: {body[:80]!r}")
    return message


class Writer:
    """Frames onto one stream from several threads, each frame whole."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Dict[str, Any]) -> None:
        """Write one frame and flush.

        Raises:
            OSError: the other side is gone.
            ValueError: the stream was closed on this side.
        """
        frame = encode(message)  # outside the lock: encoding a large result must not hold up a heartbeat
        with self._lock:
            self._stream.write(frame)
            self._stream.flush()


def request(number: int, method: str, params: Any) -> Dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str, params: Any) -> Dict[str, Any]:
    """A JSON-RPC notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def response(number: Any, result: Any) -> Dict[str, Any]:
    """The answer to the request of that number."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def failure(number: Any, code: int, message: str, data: Optional[ErrorData] = None) -> Dict[str, Any]:
    """The answer to a request that could not be fulfilled. ``message`` is a sentence for the user."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, "data": data or {}}}
