"""The answer to ``initialize``, before anything but the standard library is there.

Most of a start is the import of LSP's types. What this server can do is known without them, so an editor needn't wait: the reply is written
here, and the message is taken by pygls later, whose own reply must be the same (``Protocol.receive_greeted``). A new feature that pygls
announces is to be added to ``capabilities`` too: tests/unit/lsp/test_greeting.py compares the two.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from kernelband import __version__
from kernelband.lsp.frames import CHUNK_BYTES, BrokenHeader, Frames

ENCODINGS = ("utf-8", "utf-16", "utf-32")
COMMANDS = (
    "optimize",
    "resume",
    "cancel",
    "stop_all",
    "apply",
    "applyMove",
    "revert",
    "review",
    "accept",
    "reject",
    "patch",
    "report",
    "choose",
    "chooseEntry",
    "chooseDevice",
    "deviceOf",
    "verify",
    "optimizeChanged",
    "inspect",
    "kernelsAt",
    "compare",
    "explain",
    "reproduce",
    "diagnostics",
    "runReport",
    "kernels",
    "runs",
    "forget",
    "environment",
)
#: Those that are sent: code cells in Python.
NOTEBOOKS: dict[str, Any] = {
    "notebookSelector": [{"cells": [{"language": "python"}], "notebook": {"notebookType": "jupyter-notebook"}}],
    "save": True,
}


class Greeting(NamedTuple):
    """``data``: all that was read so far. ``id`` and ``result``: of the initialize in it that was answered; no result where none was."""

    data: bytes = b""
    id: int | str = 0
    result: dict[str, Any] | None = None


def greet(read: Callable[[], bytes], write: Callable[[bytes], None]) -> Greeting:
    """Read the first message; answer if it is ``initialize`` as clients send it. All else is left for who knows more.

    Args:
        read: the next bytes; none at the end.
        write: all of these bytes.
    """
    data, frames = b"", Frames()
    try:
        body = None
        while body is None and (more := read()):
            data += more
            body = next(frames.feed(more), None)
        message: object = json.loads(body) if body is not None else None
    except (BrokenHeader, ValueError, RecursionError):
        return Greeting(data)
    params = _initialize(message)
    if params is None:
        return Greeting(data)
    msg_id: int | str = cast("dict[str, Any]", message)["id"]
    result = {"capabilities": capabilities(params["capabilities"]), "serverInfo": {"name": "kernelband", "version": __version__}}
    reply = json.dumps({"jsonrpc": "2.0", "id": msg_id, "result": result}).encode()
    write(b"Content-Length: %d\r\n\r\n%b" % (len(reply), reply))
    return Greeting(data, msg_id, result)


def greet_stdio() -> Greeting:
    """``greet`` at stdin and stdout. Who has gone already is noticed by who reads next."""

    def write(data: bytes) -> None:
        try:
            while data:
                data = data[os.write(1, data) :]
        except BrokenPipeError:
            return

    return greet(lambda: os.read(0, CHUNK_BYTES), write)


def capabilities(client: dict[str, Any]) -> dict[str, Any]:
    """What the server can do, for a client with these capabilities."""
    notebooks = {"notebookDocumentSync": NOTEBOOKS} if client.get("notebookDocument") is not None else {}
    return {
        **notebooks,
        "positionEncoding": _encoding(client),
        "textDocumentSync": {"openClose": True, "change": 2, "save": True, **_unwanted(client)},
        "hoverProvider": True,
        "codeActionProvider": {
            "codeActionKinds": ["refactor.rewrite.kernelband", "refactor.kernelband", "quickfix"],
            "resolveProvider": True,
        },
        "codeLensProvider": {"resolveProvider": False},
        "executeCommandProvider": {"commands": [f"kernelband.server.{name}" for name in COMMANDS]},
        "diagnosticProvider": {"interFileDependencies": True, "workspaceDiagnostics": False, "identifier": "kernelband"},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}, "fileOperations": {}},
    }


def _unwanted(client: dict[str, Any]) -> dict[str, bool]:
    """What a client can say before a save, and needn't."""
    at: Any = client
    for name in ("textDocument", "synchronization"):
        at = cast("dict[str, Any]", at).get(name) if isinstance(at, dict) else None
    given = cast("dict[str, Any]", at) if isinstance(at, dict) else {}
    return {name: False for name in ("willSave", "willSaveWaitUntil") if given.get(name) is not None}


def _encoding(client: dict[str, Any]) -> str:
    """The first of the client's that we know."""
    general = client.get("general")
    offered = cast("dict[str, Any]", general).get("positionEncodings") if isinstance(general, dict) else None
    return next((e for e in cast("list[Any]", offered) if e in ENCODINGS), "utf-16") if isinstance(offered, list) else "utf-16"


def _initialize(message: object) -> dict[str, Any] | None:
    """The parameters of an ``initialize`` that nothing speaks against."""
    plain = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    msg_id, given = plain.get("id"), plain.get("params")
    named = isinstance(msg_id, int | str) and not isinstance(msg_id, bool)
    if plain.get("jsonrpc") != "2.0" or plain.get("method") != "initialize" or not named or not isinstance(given, dict):
        return None
    params = cast("dict[str, Any]", given)
    right = isinstance(params.get("capabilities"), dict) and all(_is(params.get(k), kind) for k, kind in PARAMETERS.items())
    return params if right else None


def _is(value: object, kind: type) -> bool:
    return value is None or (isinstance(value, kind) and not isinstance(value, bool))


#: The plain parameters that must be of a kind. Any of them may be left out.
PARAMETERS: dict[str, type] = {
    "processId": int,
    "rootUri": str,
    "rootPath": str,
    "locale": str,
    "clientInfo": dict,
    "workspaceFolders": list,
}
