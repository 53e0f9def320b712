"""The bytes of a connection, and the end of the process that serves it.

pygls 2.1 passes over headers that it can't read, drops the exit code, and at the end waits for threads, such as one that reads a large
text.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn

from pygls.io_ import StdoutWriter

from kernelband.lsp.protocol import Protocol

if TYPE_CHECKING:
    from kernelband.lsp.server import KernelBandServer

HEADER_BYTES = 1 << 12
BODY_BYTES = 1 << 28
CHUNK_BYTES = 1 << 16

_BEGIN = re.compile(rb"(?:[\w-]+:[ -~\t]*\r\n)*(?:[\w-]*(?::[ -~\t]*\r?)?|\r)")  # of a header that may still become one
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,12})[ \t]*\r?$")

log = logging.getLogger(__name__)


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


async def converse(protocol: Protocol, read: Callable[[], Awaitable[bytes]]) -> int:
    """Take messages until the client ends it. Returns the exit code: 0 if it asked for ``shutdown`` before.

    Args:
        protocol: has its writer.
        read: the next bytes; none at the end.
    """
    frames = Frames()
    try:
        while data := await read():
            for body in frames.feed(data):
                protocol.receive(body)
                await asyncio.sleep(0)  # what was asked looks at the documents before the next message changes them
    except BrokenHeader as error:
        log.error("%s The connection ends.", error)
        return 1
    except BrokenPipeError:
        log.error("The client reads no more. The connection ends.")
    except SystemExit:
        log.debug("The client said exit.")
    return 0 if protocol.is_shut_down else 1


def serve_stdio(server: KernelBandServer) -> None:
    """Serve the client at stdin and stdout, then end the process."""
    server.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
    thread = ThreadPoolExecutor(1, "stdin")  # its own: reads don't wait for other work

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        await _serve(server, lambda: loop.run_in_executor(thread, os.read, sys.stdin.fileno(), CHUNK_BYTES))

    asyncio.run(serve())


def serve_tcp(server: KernelBandServer, port: int) -> None:
    """Serve the first client at that port of this machine, then end the process.

    Raises:
        OSError: the port can't be listened on.
    """

    async def serve() -> None:
        came: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.get_running_loop().create_future()
        async with await asyncio.start_server(lambda r, w: came.set_result((r, w)), "127.0.0.1", port) as listening:
            reader, writer = await came
            listening.close()
            server.protocol.set_writer(writer)
            await _serve(server, lambda: reader.read(CHUNK_BYTES))

    asyncio.run(serve())


async def _serve(server: KernelBandServer, read: Callable[[], Awaitable[bytes]]) -> NoReturn:
    code = 1
    try:
        assert isinstance(server.protocol, Protocol)
        code = await converse(server.protocol, read)
    except Exception:
        log.exception("The connection failed.")
    finally:
        try:
            server.leave()
        finally:
            logging.shutdown()
            os._exit(code)  # a thread may read a large text for long, and nobody is there any more to wait for it
