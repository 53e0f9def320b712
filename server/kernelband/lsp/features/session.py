"""Beginning and end of a connection; settings; trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types

from kernelband.lsp.index import place

if TYPE_CHECKING:
    from kernelband.lsp.server import KernelBandServer

DID_CHANGE_TRUST = "kernelband/didChangeTrust"


def register(server: KernelBandServer) -> None:
    """``initialize`` to ``exit``."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params.initialization_options)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        server.begin(server.watch())

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration(params: types.DidChangeConfigurationParams) -> None:
        given: Any = params.settings
        server.configure(cast("dict[str, Any]", given).get("kernelband", given) if isinstance(given, dict) else given)

    @server.feature(DID_CHANGE_TRUST)
    def trust(params: Any) -> None:
        """``{"folders": [{"uri", "trusted"}]}``: the editor's word, for this connection."""
        folders: list[Any] = getattr(params, "folders", None) or []
        for folder in folders:
            uri, trusted = getattr(folder, "uri", None), getattr(folder, "trusted", None)
            if isinstance(uri, str) and isinstance(trusted, bool):
                server.trust.say(place(uri), trusted)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any) -> None:
        await server.runs.cancel_all()
        server.leave()
