"""``initialize`` is answered before anything is loaded, with what the server says itself once it is."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import converters
from pytest_lsp import client_capabilities

from kernelband.lsp.app import make_server
from kernelband.lsp.frames import Frames
from kernelband.lsp.greeting import Greeting, capabilities, greet
from kernelband.lsp.protocol import Protocol

PROFILES = ("visual_studio_code", "neovim@v0.11", "emacs")


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def initialize(params: object, msg_id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": msg_id, "method": "initialize", "params": params}


def greeted(*pieces: bytes) -> tuple[Greeting, list[dict[str, Any]]]:
    """The greeting of a client that sends these pieces, and what it was sent."""
    parts: Iterator[bytes] = iter(pieces)
    sent: list[bytes] = []
    found = greet(lambda: next(parts, b""), sent.append)
    return found, [json.loads(body) for data in sent for body in Frames().feed(data)]


class Server:
    """A whole server with what it writes."""

    def __init__(self) -> None:
        self.server = make_server(None)
        self.sent: list[dict[str, Any]] = []
        protocol = self.server.protocol
        assert isinstance(protocol, Protocol)
        self.protocol = protocol
        protocol.set_writer(self)

    def write(self, data: bytes) -> None:
        self.sent += [json.loads(body) for body in Frames().feed(data)]

    def close(self) -> None:
        """As a writer."""


def plain(profile: str) -> dict[str, Any]:
    return converters.get_converter().unstructure(client_capabilities(profile))


CLIENTS: dict[str, Any] = {
    "none": {},
    "encodings": {"general": {"positionEncodings": ["x", "utf-8", "utf-16"]}},
    "unknown encodings": {"general": {"positionEncodings": ["x"]}},
    "notebooks": {"notebookDocument": {"synchronization": {"dynamicRegistration": True}}},
    "saves": {"textDocument": {"synchronization": {"willSave": True, "willSaveWaitUntil": True}}},
}


@pytest.mark.parametrize("client", [*CLIENTS, *PROFILES])
def test_the_reply_is_the_servers_own(client: str, caplog: pytest.LogCaptureFixture) -> None:
    caps = CLIENTS[client] if client in CLIENTS else plain(client)
    message = initialize({"processId": None, "rootUri": "file:///w", "capabilities": caps})
    answered, sent = greeted(framed(message))
    slow = Server()
    slow.protocol.receive(json.dumps(message).encode())
    assert sent == slow.sent  # a feature that pygls announces is to be added to greeting.capabilities
    fast = Server()
    with caplog.at_level(logging.ERROR):
        fast.protocol.receive_greeted(json.dumps(message).encode(), answered)
    assert fast.sent == []
    assert "another set of capabilities" not in caplog.text
    assert fast.server.documents.root_uri == "file:///w"
    assert fast.server.encoding == slow.server.encoding


def test_a_reply_that_is_not_the_servers_own_is_told(caplog: pytest.LogCaptureFixture) -> None:
    message = initialize({"capabilities": {}})
    Server().protocol.receive_greeted(json.dumps(message).encode(), Greeting(b"", 1, {"capabilities": {}}))
    assert "another set of capabilities" in caplog.text


def test_a_message_in_pieces_and_what_follows_it() -> None:
    data = framed(initialize({"capabilities": {}}, "a"))
    answered, sent = greeted(data[:9], data[9:30], data[30:] + b"Content-Len")
    assert (answered.data, answered.id) == (data + b"Content-Len", "a")
    assert [m["id"] for m in sent] == ["a"]


@pytest.mark.parametrize(
    "message",
    [
        5,
        [],
        {},
        initialize(None),
        initialize(5),
        initialize({"capabilities": 5}),
        initialize({"processId": "x", "capabilities": {}}),
        initialize({"workspaceFolders": {}, "capabilities": {}}),
        initialize({"capabilities": {}}, None),
        initialize({"capabilities": {}}, True),
        {**initialize({"capabilities": {}}), "jsonrpc": "1.0"},
        {**initialize({"capabilities": {}}), "method": "shutdown"},
    ],
)
def test_all_else_is_left_for_the_server(message: object) -> None:
    answered, sent = greeted(framed(message))
    assert (answered, sent) == (Greeting(framed(message)), [])


@pytest.mark.parametrize("data", [b"", b"Content-Length: 5\r\n\r\n{", b"hello\r\n\r\n", b"Content-Length: 1\r\n\r\n{"])
def test_what_is_no_message_is_left_too(data: bytes) -> None:
    assert greeted(data) == (Greeting(data), [])


def test_capabilities_that_make_no_sense_are_none(caplog: pytest.LogCaptureFixture) -> None:
    caps = {"general": {"positionEncodings": ["utf-8"]}, "textDocument": {"hover": {"contentFormat": ["x"]}}}
    message = initialize({"capabilities": caps})
    answered, sent = greeted(framed(message))
    assert [m["result"]["capabilities"]["positionEncoding"] for m in sent] == ["utf-8"]
    server = Server()
    server.protocol.receive_greeted(json.dumps(message).encode(), answered)
    assert server.sent == []
    assert "is refused" in caplog.text
    assert server.server.encoding == "utf-8"  # what was promised holds
    assert capabilities(caps)["positionEncoding"] == "utf-8"


def test_it_takes_the_standard_library_only() -> None:
    code = "import kernelband.lsp.greeting, sys; print([m for m in ('pygls', 'lsprotocol', 'attrs', 'parso') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
