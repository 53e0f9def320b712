"""``compare``, ``explain`` and ``reproduce``: documents about a variant, by address where the client asks for content (LSP 3.18, as VS Code
does), else as read-only files (Neovim, Emacs).
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attrs import frozen
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from kernelband.errors import KernelBandError
from kernelband.history import Store
from kernelband.lsp.pages import AGAIN, PATCH, REPORT, SCHEME, Page, page_of, pairs, read, reproduction
from kernelband.lsp.refusal import Refused
from kernelband.lsp.remedies import words
from kernelband.lsp.server import KernelBandServer

if TYPE_CHECKING:
    from kernelband.explain.again import Again

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
    """Offer the content of our addresses, if the client can ask for it."""
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


async def compare(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:  # noqa: ARG001 - as all of them
    """Show the diff. Answers its place, and original and variant of each edited file for a client with a diff view of its own."""
    found = await asyncio.to_thread(_pairs, server.findings.db, run, number)
    files = [{"original": (await _locate(server, a)).uri, "variant": (await _locate(server, b)).uri} for a, b in found]
    shown = await _show(server, Page(found[0][1].run, number, PATCH) if found else Page(run, number, PATCH))
    return {**(files[0] if files else {"original": None, "variant": None}), "files": files, **shown.answer}


async def explain(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:  # noqa: ARG001
    """Show the report. Answers its place."""
    return (await _show(server, Page(run, number, REPORT))).answer


async def reproduce(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:  # noqa: ARG001
    """Show the commands that search again and show the variant. Answers the first, what may make it another search, and the place."""
    told = await asyncio.to_thread(_again, server.findings.db, run)
    shown = await _show(server, Page(run, number, AGAIN))
    return {"command": told.command, "notes": list(told.notes), **shown.answer}


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


async def _locate(server: KernelBandServer, page: Page) -> Shown:
    """Where the client can open the page.

    Raises:
        KernelBandError: there is no such run, variant or file, or no file can be written.
    """
    text = await asyncio.to_thread(read, server.findings.db, page)  # also where it isn't needed yet: a page that fails is told of now
    return Shown(page.uri) if server.asks_for_content else await _file(server, page.parts, text)


async def _show(server: KernelBandServer, page: Page) -> Shown:
    """Let the client open the page, unless it opens by itself what commands answer.

    Raises:
        KernelBandError: as ``_locate``.
    """
    return await _shown(server, await _locate(server, page))


def _get(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else getattr(value, name, None)


async def _file(server: KernelBandServer, parts: tuple[str, ...], text: str) -> Shown:
    path: Path = await asyncio.to_thread(server.page_files.put, parts, text)
    return Shown(path.as_uri(), str(path))


async def _shown(server: KernelBandServer, where: Shown) -> Shown:
    if opens_itself(server):
        return where
    window = server.client_capabilities.window
    if window is None or window.show_document is None or not window.show_document.support:  # Neovim before 0.9, eglot
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"To see it, open {where.path or where.uri}"))
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


def _pairs(db: Path, run: str, number: int) -> tuple[tuple[Page, Page], ...]:
    with Store.read(db) as store:
        return pairs(store, run, number)


def _again(db: Path, run: str) -> Again:
    with Store.read(db) as store:
        return reproduction(store, run)
