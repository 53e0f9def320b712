"""``kernelband.server.diagnostics``: a text for a report of a problem, that may be shared."""

from __future__ import annotations

import asyncio
from typing import Any

from kernelband.lsp.anonymous import of_this_machine
from kernelband.lsp.bundle import bundle, last_seen
from kernelband.lsp.features import pages
from kernelband.lsp.server import KernelBandServer

NAME = "kernelband-diagnostics.txt"


async def diagnostics(server: KernelBandServer) -> dict[str, Any]:
    """Show versions, client, settings and log without anything that says whose they are. Answers the text and its place."""
    client, capabilities, settings = server.client, server.client_capabilities, server.settings
    texts, log = [*server.open_texts().values()], server.logbook.lines

    def make() -> str:
        private = of_this_machine(texts, settings.worker)
        return bundle(client, capabilities, settings, last_seen(server.findings.db), log=log, private=private)

    text = await asyncio.to_thread(make)
    return {"text": text, **(await pages.show_text(server, NAME, text)).answer}
