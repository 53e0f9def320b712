"""How a person is told that something can't be done: with buttons for what helps where the client has them, else in a message."""

from __future__ import annotations

from attrs import frozen
from lsprotocol import types

from kernelband.lsp.features.pages import opens_itself
from kernelband.lsp.remedies import Said
from kernelband.lsp.server import KernelBandServer

REFUSED = "kernelband/refused"
FALLBACK = ("log",)


@frozen
class About:
    """What was asked for: a document, a kernel and a run, "" for none."""

    uri: str = ""
    kernel: str = ""
    run: str = ""


def tell(server: KernelBandServer, said: Said, about: About, severity: types.MessageType = types.MessageType.Error) -> None:
    """Once, in an editor's words (``remedies.said``)."""
    if opens_itself(server):
        remedies = list(said.remedies or FALLBACK)
        warning = severity != types.MessageType.Error
        told = {"message": said.message, "remedies": remedies, "warning": warning}
        server.protocol.notify(REFUSED, {**told, "uri": about.uri, "kernel": about.kernel, "run": about.run})
    else:
        server.window_show_message(types.ShowMessageParams(severity, said.message))
