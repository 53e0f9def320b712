"""What a run is asked with: the text on the screen, the user's settings, and what they chose for this kernel."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import attrs

from kernelband.errors import SourceError, UsageError
from kernelband.lsp import choices
from kernelband.lsp.features.actions import can_name
from kernelband.lsp.features.configuring import tell_around
from kernelband.lsp.features.scoped import settings_of
from kernelband.lsp.index import place
from kernelband.lsp.liverun import Request
from kernelband.lsp.settings import Settings
from kernelband.source import Cells

if TYPE_CHECKING:
    from kernelband.lsp.server import KernelBandServer


async def request(server: KernelBandServer, uri: str, kernel: str, *, resume: str | None = None, judges: bool = False) -> Request:
    """The request for a run of that kernel. What the repository says about its runs is read by the run itself.

    Raises:
        UsageError: nothing may run there.
        SourceError: the text is too large to be read.
    """
    path = place(uri)
    refusal = server.trust.refusal(path)
    if refusal:
        raise UsageError(refusal)
    document = server.documents.find(uri)
    snapshot = await server.index.fresh(uri, document.version or 0) if document is not None else None
    if snapshot is not None and snapshot.problem:
        raise SourceError(snapshot.problem)
    with_ = await means(server, uri, kernel)
    opened = server.open_texts()
    texts = await asyncio.to_thread(lambda: {p: t for p, t in opened.items() if server.is_changed(p, t)})
    server.begin(tell_around(server, path))
    return Request(
        uri,
        path,
        kernel,
        texts.pop(path, None),
        texts,
        entry=with_.entry,
        trials=with_.settings.trials,
        seconds=with_.settings.seconds,
        gpu=with_.gpu,
        worker=with_.worker,
        python=with_.python,
        db=str(server.findings.db),
        resume=resume,
        judges=judges,
    )


@attrs.frozen
class Means:
    """What a kernel is run with: its entry, and where; and the other settings of its file."""

    settings: Settings
    entry: str | None
    worker: str | None
    python: str | None
    gpu: str | None


async def means(server: KernelBandServer, uri: str, kernel: str) -> Means:
    """By the settings for that document, and what its user chose for the kernel and the file."""
    path = place(uri)
    settings = await settings_of(server, uri)
    chosen = await asyncio.to_thread(choices.read)
    entry = chosen.entry(path, kernel) or settings.entry
    worker, python, gpu = device_of(settings, chosen.devices.get(path))
    folders = [place(f.uri) for f in server.documents.folders.values()]
    return Means(settings, absolute(entry, path, folders) if entry else None, worker, python, gpu)


def absolute(entry: str, path: str, folders: Iterable[str]) -> str:
    """The entry with its file's whole path: from the open folder that holds the kernel's file, or else from that file's own."""
    file, colons, name = entry.partition("::")
    if not file.endswith((".py", ".ipynb")):
        return entry
    base = max((f for f in folders if PurePath(path).is_relative_to(f)), key=len, default=os.path.dirname(path))
    return f"{os.path.normpath(os.path.join(base, file))}{colons}{name}"


def with_base(server: KernelBandServer, asked: Request, base: Mapping[str, Any]) -> Request:
    """The request to judge against texts of documents, by their addresses; of a notebook those of its cells, or of its program.

    Raises:
        UsageError: they aren't that.
    """
    if not base or not all(isinstance(text, str) and can_name(uri) for uri, text in base.items()):
        raise UsageError("A base is an object of texts by the addresses of their documents, with at least one.")
    texts: dict[str, str] = {}
    for uri, text in base.items():
        cell = server.documents.cell(uri)
        if cell is None:
            texts[place(uri)] = text
            continue
        sources = [base.get(c.document.uri, c.document.source) for c in cell.book.cells]
        texts[place(cell.book.uri)] = Cells(sources).text
    return attrs.evolve(asked, base=texts)


def with_budget(asked: Request, budget: Mapping[str, Any]) -> Request:
    """The request with a budget of its own.

    Raises:
        UsageError: it is none.
    """
    trials, seconds = budget.get("trials"), budget.get("seconds")
    numbers = [x for x in (trials, seconds) if x is not None]
    good = numbers and all(isinstance(x, int | float) and not isinstance(x, bool) and x > 0 for x in numbers)
    if not good or not isinstance(trials, int | None):
        raise UsageError('A budget is {"trials": a number, "seconds": a number}, above 0, with at least one of the two.')
    return attrs.evolve(asked, trials=trials, seconds=seconds)


def device_of(settings: Settings, chosen: choices.Device | None) -> tuple[str | None, str | None, str | None]:
    """Worker, Python and GPU to predict for. A worker that the settings no longer name isn't used: they are the user's newer word."""
    if chosen is None or (chosen.worker and chosen.worker not in workers(settings)):
        return settings.worker, settings.python, settings.gpu
    if chosen.worker:
        return chosen.worker, workers(settings)[chosen.worker] or None, None
    return None, settings.python if settings.worker is None else None, chosen.gpu or None


def workers(settings: Settings) -> dict[str, str]:
    """The commands that may be chosen, each with the Python behind it ("": python3)."""
    own = {settings.worker: settings.python or ""} if settings.worker else {}
    return {**own, **settings.workers}
