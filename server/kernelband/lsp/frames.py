"""Messages out of the bytes of a connection."""

from __future__ import annotations

import re
from collections.abc import Iterator

HEADER_BYTES = 1 << 12
BODY_BYTES = 1 << 28
CHUNK_BYTES = 1 << 16  # that are read at once

_BEGIN = re.compile(rb"(?:[\w-]+:[ -~\t]*\r\n)*(?:[\w-]*(?::[ -~\t]*\r?)?|\r)")  # of a header that may still become one
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,12})[ \t]*\r?$")


class BrokenHeader(ValueError):
    """Where the next message begins can't be told."""


class Frames:
    """Bodies out of a stream that comes in pieces."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._length: int | None = None  # of the body that comes, once its header is there

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are complete now.

        Raises:
            BrokenHeader: as soon as it is plain that what comes is no header.
        """
        self._held += data
        while True:
            if self._length is None:
                end = self._held.find(b"\r\n\r\n", 0, HEADER_BYTES)
                if end < 0:
                    if len(self._held) >= HEADER_BYTES or not _BEGIN.fullmatch(self._held):
                        raise BrokenHeader(f"The client's bytes are no header: {bytes(self._held[:80])!r}.")
                    return
                self._length = _length(bytes(self._held[:end]))
                del self._held[: end + 4]
            if len(self._held) < self._length:
                return
            body = bytes(self._held[: self._length])
            del self._held[: self._length]
            self._length = None
            yield body


def _length(header: bytes) -> int:
    found = _LENGTH.findall(header)
    if len(found) != 1 or not _BEGIN.fullmatch(header) or int(found[0]) > BODY_BYTES:
        raise BrokenHeader(f"A header should hold one Content-Length of at most {BODY_BYTES} bytes, and is {header[:80]!r}.")
    return int(found[0])
