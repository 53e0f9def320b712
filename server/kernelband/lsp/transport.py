"""The connection with an editor: pygls' protocol, an error for each request that makes no sense, and the end of the process.

pygls 2.1 turns a message into objects while it parses the JSON, so what is wrong with one is told before anybody knows its id, and who
asked waits for ever. ``Protocol.receive`` looks at the plain JSON first and hands pygls what it can handle.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Any, BinaryIO, cast

import attrs
from cattrs import Converter, transform_error
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.io_ import StdoutWriter
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCNotification, JsonRPCResponseMessage, LanguageServerProtocol

from kernelband.lsp.notebooks import Notebooks

SHOWN = 200  # characters of a client's own text in a log line or a reply
HEADER = re.compile(rb"[\w-]+:[ -~\t]*\r\n")
LENGTH = re.compile(rb"(?i)content-length:[ \t]*(\d{1,9})[ \t]*\r\n")

log = logging.getLogger(__name__)


class Protocol(LanguageServerProtocol):
    """Every request gets one reply; a notification that makes no sense is a line in the log."""

    _documents: Notebooks | None = None

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self._leaving = False  # since shutdown was asked for; pygls' own mark comes when that is done
        for kind in (str, int, float, bool):
            converter.register_structure_hook(kind, _exactly)

    @property
    def workspace(self) -> Notebooks:
        """Root, folders and encoding as the client's ``initialize`` gave them. Takes partial changes and whole ones, as they come.

        Raises:
            RuntimeError: before ``initialize``.
        """
        if self._documents is None:
            given = super().workspace
            self._documents = Notebooks(
                given.root_uri, workspace_folders=[*given.folders.values()], position_encoding=given.position_encoding
            )
        return self._documents

    async def converse(self, stream: BinaryIO) -> int:
        """Take messages until the client ends it. Returns the exit code: 0 if it asked for ``shutdown`` before."""
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "messages")  # its own: reads don't wait for other work
        try:
            while (body := await loop.run_in_executor(thread, _body, stream)) is not None:
                self.receive(body)
        except ValueError as error:
            log.error("%s The connection ends.", error)
            return 1
        except BrokenPipeError:
            log.error("The client reads no more. The connection ends.")
        except SystemExit:
            log.debug("The client said exit.")
        return 0 if self._leaving else 1

    def receive(self, body: bytes) -> None:
        """Take one message.

        Raises:
            SystemExit: it is ``exit``.
            BrokenPipeError: the client doesn't read any more.
        """
        message: dict[str, Any] = {}
        try:
            given: Any = json.loads(body)
            message = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
            structured = self._structured(message)
        except (ValueError, RecursionError) as error:
            self._refuse(None, JsonRpcParseError(message=f"The message can't be read as JSON: {_short(error)}"))
        except JsonRpcException as error:
            if "method" in message and "id" not in message:
                log.warning("A notification is passed over: %s", error)
            else:
                self._refuse(_id(message), error)
        else:
            if structured is not None:
                self.handle_message(structured)

    def _structured(self, message: dict[str, Any]) -> Any:
        """The message as pygls takes it; None where there is nothing to do.

        Raises:
            JsonRpcException: it can't be taken.
        """
        msg_id, method, asked = _id(message), message.get("method"), "id" in message
        if message.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest(message='A message is one JSON object with "jsonrpc": "2.0"; there are no batches.')
        if "method" not in message and (msg_id in self._result_types or "result" in message or "error" in message):
            return self._answer(msg_id, message)
        if not isinstance(method, str) or (asked and msg_id is None):
            raise JsonRpcInvalidRequest(message="The id of a request is a whole number or a string, its method a string.")
        if method != types.EXIT:
            self._check_time(method)
        handlers: set[str] = {*self.fm.features, *self.fm.builtin_features, types.CANCEL_REQUEST}  # pyright: ignore[reportUnknownMemberType] - its own types
        kind = (self.get_message_type(method) if method in handlers else None) or JsonRPCNotification
        if method not in handlers or ("id" in attrs.fields_dict(kind)) != asked:
            raise JsonRpcMethodNotFound(message=f"There is no such {'request' if asked else 'notification'}: {_short(method)}.")
        if kind is JsonRPCNotification:  # of ours, which looks itself
            return JsonRPCNotification(method, self.VERSION, message.get("params"))
        try:
            structured = self._converter.structure({**message, "params": message.get("params") or {}}, kind)
        except Exception as error:  # cattrs' of any kind
            raise JsonRpcInvalidParams(message=f"{method} can't take these parameters: {_why(error)}.") from error
        if method == types.SHUTDOWN:
            self._leaving = True
            for running in list(self._request_futures):  # pygls can't: what ends goes from the list that it walks
                self._handle_cancel_notification(running)
        return structured if method != types.CANCEL_REQUEST or structured.params.id in self._request_futures else None

    def _check_time(self, method: str) -> None:
        if self._leaving:
            raise JsonRpcInvalidRequest(message="The server was shut down; only exit can follow.")
        if self._workspace is None and method != types.INITIALIZE:
            raise JsonRpcServerNotInitialized(message="The first request is initialize.")
        if self._workspace is not None and method == types.INITIALIZE:
            raise JsonRpcInvalidRequest(message="The server is initialized already.")

    def _answer(self, msg_id: int | str | None, message: dict[str, Any]) -> Any:
        """What the client says to a request of ours; an error too where it can't be read, so that nobody waits for it."""
        future = self._request_futures.get(msg_id) if msg_id in self._result_types else None
        if msg_id is None or future is None or future.cancelled():  # the last where who asked was cancelled
            return log.warning("A response to %s is passed over: nobody waits for it.", _short(message.get("id")))
        kind = types.ResponseErrorMessage if "error" in message else self._result_types.pop(msg_id) or JsonRPCResponseMessage
        try:
            return self._converter.structure({"result": None, **message}, kind)
        except Exception as error:  # noqa: BLE001 - cattrs' of any kind; the asker gets it
            problem = types.ResponseError(types.ErrorCodes.InvalidParams, f"The client's answer can't be understood: {_why(error)}.")
            return types.ResponseErrorMessage(error=problem, id=msg_id)

    def _execute_handler(
        self,
        msg_id: int | str,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """As pygls does it, and nothing is kept: it lets go of the futures of requests only, not of those of notifications and commands."""

        def done(future: Future[Any]) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        """As pygls does it, but a refusal is a line in the log, no traceback."""
        problem = None if future.cancelled() else future.exception()
        if isinstance(problem, JsonRpcException):
            self._refuse(msg_id, problem)
        else:
            super()._send_handler_result(future, msg_id=msg_id)

    def _refuse(self, msg_id: int | str | None, error: JsonRpcException) -> None:
        log.warning("Request %s is refused: %s", _short(msg_id), error.message)
        # Plain: pygls' own type leaves out an id that is null.
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "error": {"code": error.code, "message": error.message}})


def serve(server: LanguageServer, leave: Callable[[], None], stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serve the client at these streams, then ``leave`` and end the process."""
    server.protocol.set_writer(StdoutWriter(stdout))
    asyncio.run(_serve(server, leave, stdin))


async def _serve(server: LanguageServer, leave: Callable[[], None], stdin: BinaryIO) -> None:
    def end(code: int) -> None:
        try:
            leave()
        finally:
            logging.shutdown()
            os._exit(code)  # a thread may read a large text for long, and nobody is there any more to wait for it

    # A client that can't wait, or a terminal that is gone, ends the server with a signal: its runs end with it, and its files go.
    for number in () if sys.platform == "win32" else (signal.SIGTERM, signal.SIGHUP):  # asyncio has none there
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            asyncio.get_running_loop().add_signal_handler(number, end, 128 + number)
    code = 1
    try:
        assert isinstance(server.protocol, Protocol)
        code = await server.protocol.converse(stdin)
    except Exception:
        log.exception("The connection failed.")
    finally:
        end(code)


def _body(stream: BinaryIO) -> bytes | None:
    """The next message; None at the end.

    Raises:
        ValueError: where it begins can't be told.
    """
    length: int | None = None
    while line := stream.readline():
        if found := LENGTH.fullmatch(line):
            length = int(found[1])
        elif line == b"\r\n" and length is not None:
            return stream.read(length)
        elif not HEADER.fullmatch(line):
            raise ValueError(f"The client's bytes are no header: {line[:80]!r}.")
    return None


def _id(message: dict[str, Any]) -> int | str | None:
    """None where it can't be one."""
    given: object = message.get("id")
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None


def _exactly(value: Any, kind: type[Any]) -> Any:
    """Of that kind, or an error: cattrs would make a string of anything. Lua and others write whole numbers as 1.0."""
    if issubclass(kind, Enum):  # most of LSP's are strings or numbers too
        return kind(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, (int, float) if kind is float else kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{_short(value)} is no {kind.__name__}")
    return value


def _why(error: Exception) -> str:
    return _short("; ".join(transform_error(error)))


def _short(value: object) -> str:
    return text if len(text := str(value)) <= SHOWN else f"{text[:SHOWN]}…"
