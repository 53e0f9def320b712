"""The bytes of a connection, and the end of the process that serves it.

pygls 2.1 passes over headers that it can't read, drops the exit code, and at the end waits for threads, such as one that reads a large
text.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

from pygls.io_ import StdoutWriter

from kernelband.lsp.frames import CHUNK_BYTES, BrokenHeader, Frames
from kernelband.lsp.protocol import Protocol
from kernelband.lsp.server import KernelBandServer

log = logging.getLogger(__name__)


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
    _leave_at_signals(server)
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


def _leave_at_signals(server: KernelBandServer) -> None:
    """A client that can't wait, or a terminal that is gone, ends the server with a signal: its runs end with it, and its files go."""
    if sys.platform == "win32":  # asyncio has none there
        return

    def leave(number: int) -> None:
        try:
            server.leave()
        finally:
            logging.shutdown()
            os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:  # as nohup has it
            continue
        asyncio.get_running_loop().add_signal_handler(number, leave, int(number))
