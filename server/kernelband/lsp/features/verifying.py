"""``verify``: the judge's word on what was typed; ``optimizeChanged``: every kernel that a branch has touched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from kernelband.errors import KernelBandError, UsageError
from kernelband.lsp.asking import request, with_base
from kernelband.lsp.changed import Changed, changed_kernels
from kernelband.lsp.features.running import start
from kernelband.lsp.index import place
from kernelband.lsp.liverun import LiveRun

if TYPE_CHECKING:
    from kernelband.lsp.server import KernelBandServer


def register(server: KernelBandServer) -> None:
    """Who asked for a word on an edit gets it in a message, too: a progress is gone with its end."""

    def over(live: LiveRun) -> None:
        if live.request.judges and live.state == "finished":
            said = f"{live.reason[:1].upper()}{live.reason[1:]}."
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, said))

    server.runs.on_change.append(over)


async def verify(server: KernelBandServer, uri: str, kernel: str, base: dict[str, Any] | None = None) -> dict[str, str]:
    """Judge the text on the screen against the saved one, where it is saved against the last commit. Answers with the run at once.

    ``base``: what it is judged against instead, texts by the addresses of documents.
    """
    asked = await request(server, uri, kernel, judges=True)
    return {"run": start(server, asked if base is None else with_base(server, asked, base)).id}


async def optimize_changed(server: KernelBandServer, ref: str) -> dict[str, Any]:
    """Optimize every kernel of the workspace whose program isn't what it was at that commit, one after the other.

    Answers with the kernels before the first one ends; ``stop_all`` ends them all.
    """
    folders = [place(f.uri) for f in server.documents.folders.values()]
    if not folders:
        raise UsageError("No folder is open, so nothing can be compared with a commit: open the folder of your repository.")
    for folder in folders:
        if refusal := server.trust.refusal(folder):
            raise UsageError(refusal)
    texts = server.open_texts()
    found = await asyncio.to_thread(lambda: [c for folder in folders for c in changed_kernels(folder, ref, texts)])
    if found:
        task = server.begin(_one_by_one(server, found))
        server.batches.add(task)
        task.add_done_callback(server.batches.discard)
    return {"kernels": [{"uri": Path(c.path).as_uri(), "kernel": c.kernel} for c in found]}


async def _one_by_one(server: KernelBandServer, found: list[Changed]) -> None:
    for changed in found:
        try:
            live = start(server, await request(server, Path(changed.path).as_uri(), changed.kernel))
        except KernelBandError as error:  # of this one: the others can run
            server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, error.message))
            continue
        while not live.ended:
            await asyncio.sleep(0.1)
        if live.stopping:  # by a person: they want no other one either
            return
