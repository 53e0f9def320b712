"""What a message is allowed to be, and what is answered to one that isn't: pygls' protocol, made to survive any client.

pygls 2.1 turns a message into objects while it parses the JSON, so what is wrong with one is told before anybody knows its id: a request
with wrong parameters gets no reply, only a message for the user; one after ``shutdown`` gets nothing; one that names a notification is
taken for it; numbers become strings. ``Protocol.receive`` stands in front instead. It looks at the plain JSON, refuses what must be
refused, and hands the rest to pygls' own ``_handle_request``, ``_handle_notification`` and ``_handle_response``; ``structure_message`` and
``handle_message`` are used no more. Overridden beside that:

workspace              public; answers with ``Notebooks``
_send_response         the one place that every reply passes: a request is running until then
_send_handler_result   a refusal is a line in the log, not a traceback
_execute_handler       what a handler gave is let go of when it is done
"""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

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
from pygls.protocol import JsonRPCResponseMessage, LanguageServerProtocol

from kernelband.lsp.notebooks import Notebooks

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

DEPTH = 100  # of lists and objects in each other: what is read must also be structured and answered, by recursion
SHOWN = 200  # characters of a client's own text in a log line or a reply

log = logging.getLogger(__name__)

Message = dict[str, Any]


class Protocol(LanguageServerProtocol):
    """Every request gets one reply; a notification that makes no sense is a line in the log."""

    _documents: Notebooks | None = None

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self._running: set[int | str] = set()  # requests of the client without a reply
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

    @property
    def is_shut_down(self) -> bool:
        """Whether the client has asked for ``shutdown``."""
        return self._shutdown

    # ------------------------------------------------------------ messages

    def receive(self, body: bytes) -> None:
        """Take one message.

        Raises:
            SystemExit: it is ``exit``.
            BrokenPipeError: the client doesn't read any more.
        """
        try:
            message: object = json.loads(body, parse_constant=_no_json)
        except (ValueError, RecursionError) as error:
            self._refuse(None, JsonRpcParseError(message=f"The message can't be read as JSON: {_short(error)}"))
            return
        try:
            contextvars.copy_context().run(self._take, message)
        except BrokenPipeError:
            raise
        except Exception:  # a fault of ours in one message must not end the others
            log.exception("A message can't be handled.")

    def _take(self, message: object) -> None:
        if not isinstance(message, dict):
            self._refuse(None, JsonRpcInvalidRequest(message="A message is one JSON object; there are no batches."))
            return
        message = cast("Message", message)
        if message.get("jsonrpc") != self.VERSION or _is_deep(message):
            problem = f'A message has "jsonrpc": "2.0", and at most {DEPTH} lists and objects in each other.'
            self._refuse(_id(message), JsonRpcInvalidRequest(message=problem))
        elif "method" not in message:
            self._response(message)
        elif "id" in message:
            self._request(message)
        else:
            self._notification(message)

    def _request(self, message: Message) -> None:
        msg_id, method = _id(message), message["method"]
        try:
            if msg_id is None or not isinstance(method, str):
                raise JsonRpcInvalidRequest(message="The id of a request is a whole number or a string, its method a string.")
            self._check_time(msg_id, method)
            params = self._params(message)
        except JsonRpcException as error:
            self._refuse(msg_id, error)
            return
        if method == types.SHUTDOWN:
            self._shutdown = True
            for running in list(self._running):
                self._handle_cancel_notification(running)
        self._running.add(msg_id)
        self._handle_request(msg_id, method, params)

    def _check_time(self, msg_id: int | str, method: str) -> None:
        if msg_id in self._running or msg_id in self._request_futures:
            raise JsonRpcInvalidRequest(message="A request of that id is still running.")
        if self._shutdown:
            raise JsonRpcInvalidRequest(message="The server was shut down; only exit can follow.")
        if self._workspace is None and method != types.INITIALIZE:
            raise JsonRpcServerNotInitialized(message="The first request is initialize.")
        if self._workspace is not None and method == types.INITIALIZE:
            raise JsonRpcInvalidRequest(message="The server is initialized already.")

    def _notification(self, message: Message) -> None:
        method = message["method"]
        if method == types.EXIT:
            self._handle_notification(method, None)
        elif self._workspace is None or self._shutdown or not isinstance(method, str):
            log.warning("The notification %s is passed over: it isn't its time, or it is none.", _short(method))
        else:
            try:
                params = self._params(message)
            except JsonRpcException as error:
                log.log(logging.DEBUG if method.startswith("$/") else logging.WARNING, "A notification is passed over: %s", error)
                return
            if method != types.CANCEL_REQUEST or _id({"id": params.id}) in self._running:
                self._handle_notification(method, params)

    def _response(self, message: Message) -> None:
        msg_id = _id(message)
        future = self._request_futures.get(msg_id) if msg_id is not None and msg_id not in self._running else None
        if msg_id is None or future is None:
            if "result" in message or "error" in message:
                log.warning("A response to %s is passed over: nothing was asked.", _short(message.get("id")))
            else:
                self._refuse(msg_id, JsonRpcInvalidRequest(message="A message has a method, a result or an error."))
            return
        result, error = self._answer(msg_id, message)
        if future.cancelled():
            del self._request_futures[msg_id]
        else:
            self._handle_response(msg_id, result, error)

    def _answer(self, msg_id: int | str, message: Message) -> tuple[Any, types.ResponseError | None]:
        """The client's result or error; an error too where it can't be read, so that nobody waits for it."""
        kind = self._result_types.pop(msg_id, None) or JsonRPCResponseMessage
        try:
            if "error" in message:
                return None, self._converter.structure(message, types.ResponseErrorMessage).error
            plain = {"jsonrpc": self.VERSION, "id": msg_id, "result": message.get("result")}
            return self._converter.structure(plain, kind).result, None
        except Exception as error:  # noqa: BLE001 - cattrs' of any kind; the asker gets it
            return None, types.ResponseError(types.ErrorCodes.InvalidParams, f"The client's answer can't be understood: {_why(error)}.")

    def _params(self, message: Message) -> Any:
        """The parameters of a request (a message with an id) or a notification.

        Raises:
            JsonRpcMethodNotFound: there is none of that name.
            JsonRpcInvalidParams: they are not what the method takes.
        """
        method: str = message["method"]
        handlers: set[str] = {*self.fm.features, *self.fm.builtin_features}  # pyright: ignore[reportUnknownMemberType] - its own types
        known = method in handlers or method == types.CANCEL_REQUEST
        kind = self.get_message_type(method) if known else None
        of_requests = kind is not None and "id" in attrs.fields_dict(kind)
        if not known or of_requests != ("id" in message):
            raise JsonRpcMethodNotFound(message=f"There is no such {'request' if 'id' in message else 'notification'}: {_short(method)}.")
        if kind is None:
            return message.get("params")  # of ours, which looks itself
        given = message.get("params")
        if method == types.SHUTDOWN:
            given = None  # takes none, and some clients send an empty object
        elif given is None:
            given = {}  # may be left out
        try:
            return self._converter.structure({**message, "params": given}, kind).params
        except Exception as error:  # cattrs' of any kind
            raise JsonRpcInvalidParams(message=f"{method} can't take these parameters: {_why(error)}.") from error

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

    # ------------------------------------------------------------ replies

    def _refuse(self, msg_id: int | str | None, error: JsonRpcException) -> None:
        log.warning("Request %s is refused: %s", _short(msg_id), error.message)
        # Plain: pygls' own type leaves out an id that is null.
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "error": {"code": error.code, "message": error.message}})

    def _send_response(self, msg_id: int | str, result: Any | None = None, error: types.ResponseError | None = None) -> None:
        self._running.discard(msg_id)
        super()._send_response(msg_id, result, error)

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        problem = None if future.cancelled() else future.exception()
        if isinstance(problem, JsonRpcException):
            self._request_futures.pop(msg_id, None)
            self._running.discard(msg_id)
            self._refuse(msg_id, problem)
        else:
            super()._send_handler_result(future, msg_id=msg_id)


def _id(message: Message) -> int | str | None:
    """None where it can't be one."""
    given: object = message.get("id")
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None


def _exactly(value: Any, kind: type[Any]) -> Any:
    """Of that kind, or an error: cattrs would make a string of anything. Lua and others write whole numbers as 1.0."""
    if issubclass(kind, Enum):  # most of LSP's are strings or numbers too
        return kind(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    kinds: tuple[type, ...] = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{_short(value)} is no {kind.__name__}")
    return value


def _is_deep(message: Message) -> bool:
    level: list[Any] = [message]
    for _ in range(DEPTH):
        inner = (x for v in level for x in (cast("Message", v).values() if isinstance(v, dict) else v))
        level = [x for x in inner if isinstance(x, dict | list)]
        if not level:
            return False
    return True


def _no_json(name: str) -> None:
    raise ValueError(f"{name} is no number.")


def _why(error: Exception) -> str:
    return _short("; ".join(transform_error(error)))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
