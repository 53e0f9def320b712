"""How documents of ours reach the client: by address where it asks for content (LSP 3.18), else as read-only files."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any, cast

from attrs import frozen
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from kernelband.errors import KernelBandError
from kernelband.lsp.pages import SCHEME, Page, page_of, read
from kernelband.lsp.refusal import Refused
from kernelband.lsp.remedies import words
from kernelband.lsp.server import KernelBandServer

SHOW_S = 5.0  # for a client's word that it shows a document; a command's answer doesn't wait longer

log = logging.getLogger(__name__)


@frozen
class Shown:
    """Where a document is: its address, its path where it is a file; whether the client shows it."""

    uri: str
    path: str | None = None
    shown: bool = False

    @property
    def answer(self) -> dict[str, Any]:
        """As commands give it."""
        return {"uri": self.uri, "path": self.path, "shown": self.shown}


def register(server: KernelBandServer) -> None:
    """``workspace/textDocumentContent``."""

    @server.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT)
    async def content(params: types.TextDocumentContentParams) -> types.TextDocumentContentResult:
        try:
            return types.TextDocumentContentResult(await asyncio.to_thread(read, server.findings.db, page_of(params.uri)))
        except KernelBandError as error:
            raise Refused(words(error.message)) from error


async def begin(server: KernelBandServer) -> None:
    """Offer the content of our addresses, if the client can ask for it; and remove what dead servers left."""
    await asyncio.to_thread(server.shelf.sweep)
    workspace = server.client_capabilities.workspace
    asked = workspace.text_document_content if workspace is not None else None
    if asked is None or not asked.dynamic_registration:
        return
    options = types.TextDocumentContentRegistrationOptions([SCHEME])
    registration = types.Registration("kernelband-content", types.WORKSPACE_TEXT_DOCUMENT_CONTENT, options)
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except JsonRpcException as error:
        log.warning("The client takes no content of %s documents, so they become files: %s", SCHEME, error)
    else:
        server.asks_for_content = True


async def locate(server: KernelBandServer, page: Page) -> Shown:
    """Where the client can open the page.

    Raises:
        KernelBandError: there is no such run, variant or file, or no file can be written.
    """
    text = await asyncio.to_thread(read, server.findings.db, page)  # also where it isn't needed yet: a page that fails is told of now
    return Shown(page.uri) if server.asks_for_content else await _file(server, page.parts, text)


async def show(server: KernelBandServer, page: Page) -> Shown:
    """Let the client open the page, unless it opens by itself what commands answer.

    Raises:
        KernelBandError: as ``locate``.
    """
    return await _shown(server, await locate(server, page))


async def show_text(server: KernelBandServer, name: str, text: str) -> Shown:
    """Let the client open a text of this moment, as a file.

    Raises:
        SourceError: no file can be written.
    """
    return await _shown(server, await _file(server, (name,), text))


def opens_itself(server: KernelBandServer) -> bool:
    """``{"kernelband": {"opens": true}}`` among the client's experimental capabilities: it shows what commands answer."""
    given: Any = server.client_capabilities.experimental
    ours = _get(given, "kernelband")
    return _get(ours, "opens") is True


def _get(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else getattr(value, name, None)


async def _file(server: KernelBandServer, parts: tuple[str, ...], text: str) -> Shown:
    path: Path = await asyncio.to_thread(server.shelf.put, parts, text)
    return Shown(path.as_uri(), str(path))


async def _shown(server: KernelBandServer, where: Shown) -> Shown:
    window = server.client_capabilities.window
    if opens_itself(server) or window is None or window.show_document is None or not window.show_document.support:
        return where
    params = types.ShowDocumentParams(where.uri, external=False, take_focus=True)
    try:
        result = await asyncio.wait_for(server.window_show_document_async(params), SHOW_S)
    except asyncio.TimeoutError:
        log.warning("The client doesn't say whether it shows %s.", where.uri)
        return where
    except JsonRpcException as error:
        log.warning("The client can't show %s: %s", where.uri, error)
        return where
    return Shown(where.uri, where.path, shown=result.success)
