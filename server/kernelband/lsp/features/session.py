"""Beginning and end of a connection; settings; trust."""

from __future__ import annotations

import logging
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from kernelband.lsp.features import costs, pages
from kernelband.lsp.index import place
from kernelband.lsp.server import KernelBandServer

DID_CHANGE_TRUST = "kernelband/didChangeTrust"
DID_CHANGE_MODEL_KEY = "kernelband/didChangeModelKey"

log = logging.getLogger(__name__)


def register(server: KernelBandServer) -> None:
    """``initialize`` to ``exit``."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.client = params.client_info
        server.configure(params.initialization_options)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        server.begin(server.watch())
        server.begin(pages.begin(server))
        server.begin(_watch_files(server))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(_: types.DidChangeWatchedFilesParams) -> None:
        server.files_changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration(params: types.DidChangeConfigurationParams) -> None:
        given: Any = params.settings
        before = server.settings.line_costs
        server.configure(cast("dict[str, Any]", given).get("kernelband", given) if isinstance(given, dict) else given)
        if server.settings.line_costs != before:
            costs.redraw(server)

    @server.feature(DID_CHANGE_TRUST)
    def trust(params: Any) -> None:
        """``{"folders": [{"uri", "trusted"}]}``: the editor's word, for this connection."""
        given: Any = cast("dict[str, Any]", params).get("folders") if isinstance(params, dict) else None
        for folder in cast("list[Any]", given) if isinstance(given, list) else ():
            match folder:
                case {"uri": str(uri), "trusted": bool(trusted)} if uri:
                    server.trust.say(place(uri), trusted)
                case _:
                    log.warning("%s says nothing of a folder: it should be {uri, trusted}.", DID_CHANGE_TRUST)

    @server.feature(DID_CHANGE_MODEL_KEY)
    def model_key(params: Any) -> None:
        """``{"key": str | null}``: from the editor's own store of secrets, for this connection."""
        match params:
            case {"key": str() | None as key}:
                server.model_key = key or None
                server.configure({})
            case _:
                log.warning("%s should be {key}, a text or null.", DID_CHANGE_MODEL_KEY)  # never what was sent

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any) -> None:
        await server.runs.cancel_all()
        server.leave()


async def _watch_files(server: KernelBandServer) -> None:
    """Be told when Python files are written that aren't open: a program may be in several, and git changes them under an editor."""
    workspace = server.client_capabilities.workspace
    can = workspace.did_change_watched_files if workspace is not None else None
    if can is None or not can.dynamic_registration:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*.{py,ipynb}")])
    registration = types.Registration("kernelband-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except JsonRpcException as error:
        log.warning("The client tells nothing of files that aren't open: %s", error)
