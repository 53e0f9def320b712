"""The language server put together: the server object, and each feature registered with it."""

from __future__ import annotations

from kernelband.lsp.features import (
    actions,
    commands,
    costs,
    diagnostics,
    documents,
    hover,
    lens,
    notebooks,
    pages,
    progress,
    session,
    verify,
)
from kernelband.lsp.server import KernelBandServer

FEATURES = (session, documents, notebooks, lens, hover, actions, commands, costs, diagnostics, pages, progress, verify)


def make_server(db: str | None) -> KernelBandServer:
    """A server for one connection.

    Args:
        db: the history's file; None is the default place.
    """
    server = KernelBandServer(db)
    for feature in FEATURES:
        feature.register(server)
    return server
