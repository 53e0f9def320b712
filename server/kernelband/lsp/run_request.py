"""What a run is asked with: the text on the screen, the user's settings, and what they chose for this kernel."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, cast

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from kernelband.errors import SourceError, UsageError
from kernelband.lsp import choices
from kernelband.lsp.index import place
from kernelband.lsp.liverun import Request
from kernelband.lsp.refusal import can_name
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.settings import Settings, read_settings
from kernelband.source import Cells
from kernelband.workload import defaults
from kernelband.workload.permission import nearest

SCOPED = ("entry", "trials", "seconds")  # what a repository may say of its runs
ANSWER_S = 2.0  # for the client's answer; then the session's settings stand

log = logging.getLogger(__name__)


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
    if resume is not None:
        with_ = without(with_, await asyncio.to_thread(defaults.read_usable))
    opened = server.open_texts()
    texts = await asyncio.to_thread(lambda: {p: t for p, t in opened.items() if server.is_changed(p, t)})
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


def without(with_: Means, own: defaults.Defaults) -> Means:
    """For a run that is resumed, which keeps what it was started with: what `kernelband config` says, or a choice of here, isn't said."""
    worker = None if with_.worker == own.worker else with_.worker or None
    return attrs.evolve(with_, worker=worker, python=None if with_.python == own.python else with_.python)


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
    """Worker, Python and GPU to predict for. A worker that the settings no longer name isn't used: they are the user's newer word.

    The worker is "" where this machine was chosen: None leaves it to what `kernelband config` says.
    """
    if chosen is None or (chosen.worker and chosen.worker not in workers(settings)):
        return settings.worker, settings.python, settings.gpu
    if chosen.worker:
        return chosen.worker, workers(settings)[chosen.worker] or None, None
    return "", settings.python if settings.worker is None else None, chosen.gpu or None


def workers(settings: Settings) -> dict[str, str]:
    """The commands that may be chosen, each with the Python behind it ("": python3)."""
    own = {settings.worker: settings.python or ""} if settings.worker else {}
    return {**own, **settings.workers}


# ---------------------------------------------------------------- the settings of one folder of several


async def session_of(server: KernelBandServer) -> Settings:
    """The session's settings, with what `kernelband config` says where the editor says nothing. One that is broken is the run's to say."""
    own = await asyncio.to_thread(defaults.read_usable)
    said = server.settings
    found = own.under(worker=said.worker, python=said.python, gpu=said.gpu)
    return attrs.evolve(said, worker=found.worker, python=found.python, gpu=found.gpu)


async def settings_of(server: KernelBandServer, uri: str) -> Settings:
    """For that document: the session's, with what its folder has of its own (``workspace/configuration``). A key that is null there is the
    session's.

    An editor takes a folder's settings from files of the folder as well, and doesn't say so. So only what a repository may say is taken
    for one folder; what runs and what is reached (``python``, ``worker``) is said for the session.
    """
    workspace = server.client_capabilities.workspace
    session = with_python(await session_of(server), place(uri))
    if workspace is None or not workspace.configuration:
        return session
    params = types.ConfigurationParams([types.ConfigurationItem(scope_uri=uri, section="kernelband")])
    try:
        answer: Any = await asyncio.wait_for(server.workspace_configuration_async(params), ANSWER_S)
    except (asyncio.TimeoutError, JsonRpcException) as error:
        log.warning("The client doesn't tell the settings of %s: %s", uri, error or "no answer")
        return session
    answers = [*cast("list[Any]", answer)] if isinstance(answer, (list, tuple)) else []
    given = next(iter(answers), None)
    own = {k: v for k in SCOPED if (v := _get(given, k)) is not None}
    settings, problems = read_settings(own, session)
    for problem in problems:
        log.warning(problem)
    return settings


def with_python(settings: Settings, path: str) -> Settings:
    """With the Python that the user's editor has for the nearest folder above that path, where it has one and runs it on this machine."""
    python = nearest(settings.pythons, path)[1] if settings.worker is None else None
    return attrs.evolve(settings, python=python) if python else settings


def _get(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else getattr(value, name, None)
