"""Kernels compiled for their hints: when asked, or when a file is saved where the user allows that."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from lsprotocol import types

from kernelband.errors import HardwareError, KernelBandError, SourceError
from kernelband.hardware import find_device
from kernelband.lsp.index import place
from kernelband.lsp.liverun import Request
from kernelband.lsp.parts import needed
from kernelband.lsp.run_request import means
from kernelband.lsp.server import KernelBandServer

SAVED_S = 1.0  # after a save, for the next one

log = logging.getLogger(__name__)


async def inspect(server: KernelBandServer, uri: str, kernel: str) -> dict[str, Any]:
    """Run the program once and compile the kernel, now; answers with its hints when that is done."""
    found = await _take(server, uri, kernel)
    return {"hints": found}


def saved(server: KernelBandServer, uri: str) -> None:
    """A document was saved: its kernels soon, if the setting allows it and the folder is trusted."""
    _forget(server, uri)
    if server.settings.inspect == "save" and server.trust.allows(place(uri)):
        server.inspections.waiting[uri] = asyncio.get_running_loop().create_task(_after(server, uri))


def closed(server: KernelBandServer, uri: str) -> None:
    """Nothing more is wanted of it."""
    _forget(server, uri)
    server.inspections.closed(uri)


def _forget(server: KernelBandServer, uri: str) -> None:
    """What its last save has begun; not what a person asked for."""
    task = server.inspections.waiting.pop(uri, None)
    if task is not None:
        task.cancel()


async def _after(server: KernelBandServer, uri: str) -> None:
    """One kernel after the other, those whose program has changed. Never beside a run: that measures, or compiles on the same cores."""
    await asyncio.sleep(SAVED_S)
    snapshot = server.index.latest(uri)
    for kernel in snapshot.kernels if snapshot is not None else ():
        name = kernel.place.qualname
        text = await asyncio.to_thread(_needed, snapshot.text if snapshot is not None else "", name)
        if server.runs.live or server.inspections.looked_at.get((uri, name)) == text:
            continue
        try:
            await _take(server, uri, name)
        except KernelBandError as error:
            log.info("%s can't be inspected: %s", name, error.message)
        server.inspections.looked_at[uri, name] = text


def _needed(text: str, kernel: str) -> int:
    return hash(needed({"": text}, kernel)[""])


async def _take(server: KernelBandServer, uri: str, kernel: str) -> list[dict[str, str]]:
    path, texts = place(uri), server.open_texts()
    if path not in texts:
        raise SourceError(f"{path} isn't open: open it, then inspect {kernel}.")
    changed = await asyncio.to_thread(lambda: {p: t for p, t in texts.items() if p == path or server.is_changed(p, t)})
    with_ = await means(server, uri, kernel)
    gpu = with_.gpu or _gpu(server, path, kernel)
    ask = Request(uri, path, kernel, None, changed, entry=with_.entry, gpu=gpu, worker=with_.worker, python=with_.python)
    token = await _begin(server, f"Inspect {kernel}")
    try:
        found = await server.inspections.inspect(ask)
    finally:
        if token:
            server.work_done_progress.end(token, types.WorkDoneProgressEnd())
    server.diagnoses.take(found)
    snapshot = server.index.latest(uri)
    if snapshot is not None:
        server.diagnoses.look(snapshot)
    return [{"code": h.code, "message": h.message} for h in found.hints]


async def _begin(server: KernelBandServer, title: str) -> str:
    """Show that something goes on, if the client can; its token."""
    window = server.client_capabilities.window
    if window is None or not window.work_done_progress:
        return ""
    server.inspections.shown += 1
    token = f"kernelband-inspect-{server.inspections.shown}"
    await server.work_done_progress.create_async(token)  # pyright: ignore[reportUnknownMemberType] - its own types
    server.work_done_progress.begin(token, types.WorkDoneProgressBegin(title=title, cancellable=False))
    return token


def _gpu(server: KernelBandServer, path: str, kernel: str) -> str | None:
    """That of the kernel's last run; None for the command's own choice."""
    run = server.findings.find(path, kernel).telling
    try:
        return find_device(run.device).key if run is not None else None
    except HardwareError:
        return None
