"""What the protocol answers; the whole of it with a real process is in tests/e2e/lsp/test_hostile.py."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import converters, types
from pygls.lsp.server import LanguageServer
from pytest_lsp import client_capabilities

from kernelband.lsp.transport import Protocol


def framed(body: bytes, more: bytes = b"") -> bytes:
    return b"%bcontent-LENGTH: %d\r\n\r\n%b" % (more, len(body), body)


class Client:
    """The protocol under a server, with a writer that keeps what is said."""

    def __init__(self, *, initialized: bool = True) -> None:
        self.server = LanguageServer("test", "1", protocol_cls=Protocol)
        self.said: list[dict[str, Any]] = []
        self.server.protocol.set_writer(self, include_headers=False)
        if initialized:
            assert "result" in self.ask(types.INITIALIZE, {"processId": None, "rootUri": None, "capabilities": {}})

    def write(self, data: bytes) -> None:
        self.said.append(json.loads(data))

    def close(self) -> None:
        """pygls does at exit."""

    @property
    def protocol(self) -> Protocol:
        assert isinstance(self.server.protocol, Protocol)
        return self.server.protocol

    def tell(self, **message: Any) -> list[dict[str, Any]]:
        """What is said to it at once."""
        before = len(self.said)
        self.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())
        return self.said[before:]

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        (reply,) = self.tell(id=1, method=method, params=params)
        return reply


def positions(client: Client) -> list[types.Position]:
    found: list[types.Position] = []

    @client.server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> None:
        found.append(params.position)

    return found


def test_only_values_of_the_right_kind_are_taken() -> None:
    client = Client()
    found = positions(client)
    for line in (2, 2.0):
        reply = client.ask("textDocument/hover", {"textDocument": {"uri": "u"}, "position": {"line": line, "character": 0}})
        assert reply == {"jsonrpc": "2.0", "id": 1, "result": None}
    for line in ("2", 2.5, True, -1, None):
        reply = client.ask("textDocument/hover", {"textDocument": {"uri": "u"}, "position": {"line": line, "character": 0}})
        assert reply["error"]["code"] == -32602, line
        assert "data" not in reply["error"]  # no traceback
    assert found == [types.Position(2, 0)] * 2


def test_the_capabilities_of_real_editors_are_taken() -> None:
    for name in ("visual_studio_code", "neovim@v0.11", "emacs"):
        client = Client(initialized=False)
        capabilities = converters.get_converter().unstructure(client_capabilities(name))
        assert "result" in client.ask(types.INITIALIZE, {"processId": None, "rootUri": None, "capabilities": capabilities})
    assert Client(initialized=False).ask(types.INITIALIZE, {"capabilities": {"textDocument": {"hover": {"contentFormat": ["x"]}}}})["error"]


def test_a_message_whose_id_is_none_is_answered_to_null() -> None:
    client = Client()
    for body in (b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"}'):
        client.protocol.receive(body)
        assert client.said[-1]["id"] is None


def test_an_answer_that_makes_no_sense_ends_the_wait_for_it() -> None:
    client = Client()
    edit = types.ApplyWorkspaceEditParams(types.WorkspaceEdit())
    for answer in ({"result": 5}, {"result": {}}, {"error": 5}, {}):
        future = client.protocol.send_request(types.WORKSPACE_APPLY_EDIT, edit)
        assert client.tell(id=client.said[-1]["id"], **answer) == []
        assert future.exception(0) is not None
    future = client.protocol.send_request(types.WORKSPACE_APPLY_EDIT, edit)
    msg_id = client.said[-1]["id"]
    future.cancel()
    assert client.tell(id=msg_id, result={"applied": True}) == []


async def turns() -> None:
    """Of the loop, more than any handler here takes."""
    for _ in range(100):
        await asyncio.sleep(0)


class Kept(dict[str, int]):
    """What a handler gives; it lives as long as anything holds it."""


def test_nothing_of_what_was_handled_is_kept() -> None:
    """pygls keeps the futures of notifications, and of what commands call, for good: an editor sends one with each key."""
    given: list[weakref.ref[Kept]] = []

    def kept() -> Kept:
        made = Kept(x=1)
        given.append(weakref.ref(made))
        return made

    async def live() -> None:
        client = Client()

        @client.server.feature(types.TEXT_DOCUMENT_DID_OPEN)
        async def opened(_: types.DidOpenTextDocumentParams) -> Kept:
            await asyncio.sleep(0)
            return kept()

        @client.server.command("text")
        async def text() -> Kept:
            return kept()

        document = {"uri": "file:///u", "languageId": "python", "version": 1, "text": ""}
        for number in range(3):
            client.tell(method=types.TEXT_DOCUMENT_DID_OPEN, params={"textDocument": document})
            client.tell(id=number, method="workspace/executeCommand", params={"command": "text"})
        await turns()
        assert [r["result"] for r in client.said[1:]] == [{"x": 1}] * 3
        gc.collect()
        assert [ref() for ref in given] == [None] * 6

    asyncio.run(live())


def test_shutdown_cancels_what_runs() -> None:
    async def live() -> list[dict[str, Any]]:
        client = Client()

        @client.server.feature(types.TEXT_DOCUMENT_HOVER)
        async def hover(_: types.HoverParams) -> None:
            await asyncio.Event().wait()

        @client.server.command("wait")
        async def wait() -> None:
            await asyncio.Event().wait()

        client.tell(id="h", method="textDocument/hover", params={"textDocument": {"uri": "u"}, "position": {"line": 0, "character": 0}})
        client.tell(id="c", method="workspace/executeCommand", params={"command": "wait"})
        await asyncio.sleep(0)
        client.tell(id="s", method="shutdown")
        await turns()
        return client.said[1:]

    replies = {r["id"]: r.get("error", {}).get("code") for r in asyncio.run(live())}
    assert replies == {"h": -32800, "c": -32800, "s": None}


async def spoken(stream: bytes) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the replies where these bytes are all that a client writes."""
    client = Client()
    return await client.protocol.converse(io.BytesIO(stream)), client.said[1:]


@pytest.mark.parametrize(("said", "code"), [([], 1), (["exit"], 1), (["shutdown"], 0), (["shutdown", "exit"], 0)])
def test_the_exit_code(said: list[str], code: int) -> None:
    messages = [{"jsonrpc": "2.0", "method": m, **({"id": 2} if m == "shutdown" else {})} for m in said]
    assert asyncio.run(spoken(b"".join(framed(json.dumps(m).encode()) for m in messages)))[0] == code


@given(
    bodies=st.lists(st.text("\r\n{}:é", max_size=20), max_size=4),
    more=st.sampled_from([b"", b"Content-Type: application/x; charset=utf-8\r\n"]),
)
def test_a_body_may_be_anything_and_those_before_a_broken_header_are_answered(bodies: list[str], more: bytes) -> None:
    asked = [json.dumps({"jsonrpc": "2.0", "id": n, "method": body}, ensure_ascii=False).encode() for n, body in enumerate(bodies)]
    code, replies = asyncio.run(spoken(b"".join(framed(body, more) for body in asked) + b"{" + framed(b"{}")))
    assert code == 1
    assert [(r["id"], r["error"]["code"]) for r in replies] == [(n, -32601) for n in range(len(bodies))]
