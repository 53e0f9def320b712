"""``kernels``, ``runs`` and ``forget``: what a view of the whole workspace shows, and takes away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelband.errors import HistoryError, UsageError
from kernelband.explain.words import headline
from kernelband.history import Store, runs, view
from kernelband.history.view import RunView, VariantView
from kernelband.lsp.catalog import Found
from kernelband.lsp.features import lens
from kernelband.lsp.index import place
from kernelband.lsp.liverun import LiveRun
from kernelband.lsp.notebooks import Book
from kernelband.source.folders import is_below

if TYPE_CHECKING:
    from kernelband.history.records import RunRow
    from kernelband.lsp.server import KernelBandServer

MOST_RUNS = 500


async def kernels(server: KernelBandServer) -> dict[str, Any]:
    """Every kernel of the open folders and documents: ``{"kernels": [...], "truncated"}``. Truncated: there may be more; ask again.

    Each is ``{"uri", "kernel", "line", "told", "live", "latest", "variants"}``; ``line`` from 0, ``told`` as its lens says it.
    """
    await server.look()  # what has come to the history since; lenses hear of it, too
    opened = await _opened(server)
    paths = {place(d.uri) for d in server.open_documents()}
    folders, findings = _folders(server), server.findings
    async with server.scanning:
        found, truncated = await asyncio.to_thread(server.catalog.look, folders, paths, findings)
    files = [_kernel(server, f) for f in found]
    return {"kernels": [*opened, *files], "truncated": truncated}


async def _opened(server: KernelBandServer) -> list[dict[str, Any]]:
    """Of open documents, as they are now; of a notebook in its cells."""
    out: list[dict[str, Any]] = []
    for document in server.open_documents():
        if await server.view(document.uri) is None:  # closed meanwhile
            continue
        for uri in [c.document.uri for c in document.cells] if isinstance(document, Book) else [document.uri]:
            view = await server.view(uri)
            for kernel in view.kernels if view is not None else ():
                name = kernel.place.qualname
                line = view.range(kernel.name_span, server.encoding).start.line if view is not None else 0
                out.append(_kernel(server, Found(uri, place(document.uri), name, line, server.standings.of(document.uri, name))))
    return out


def _kernel(server: KernelBandServer, found: Found) -> dict[str, Any]:
    finding = found.standing.finding if found.standing is not None else None
    live = server.runs.of(found.path, found.kernel)
    latest = next(iter(finding.runs), None) if finding is not None else None
    going = live.id if live is not None and not live.ended else latest.id if latest is not None and latest.state == "running" else None
    telling = finding.telling if finding is not None else None
    return {
        "uri": found.uri,
        "kernel": found.kernel,
        "line": found.line,
        "told": lens.result(found.standing) if found.standing is not None else "",
        "live": going,
        "latest": latest.id if latest is not None else None,
        "variants": len(telling.better) if telling is not None else 0,
    }


async def list_runs(server: KernelBandServer, limit: int) -> dict[str, Any]:
    """Live and past runs, the newest first: ``{"runs": [...]}``. Of open files and those in the open folders, of all without a folder."""
    if not 0 < limit <= MOST_RUNS:
        raise UsageError(f"A list of runs has 1 to {MOST_RUNS}, and {limit} were asked for.")
    inside, findings = concerning(server), server.findings
    await server.look()
    past = await asyncio.to_thread(findings.newest, limit, inside)
    live = {r.id: r for r in server.runs.live if inside(r.request.path)}
    begun = {r.id for r in past}
    new = [_begun(r) for r in live.values() if r.id not in begun]
    out = [*new, *(_run(r, live.get(r.id)) for r in past)]
    return {"runs": sorted(out, key=lambda r: -r["created"])[:limit]}


def concerning(server: KernelBandServer) -> Callable[[str], bool]:
    """Whether a file, by its path, is open or in an open folder; any is where no folder is open."""
    folders, opened = _folders(server), {place(d.uri) for d in server.open_documents()}
    return lambda path: not folders or path in opened or any(is_below(path, folder) for folder in folders)


def _begun(live: LiveRun) -> dict[str, Any]:
    """A run that has written nothing down yet."""
    asked = live.request
    own = {"run": live.id, "uri": asked.uri, "path": asked.path, "kernel": asked.kernel, "state": live.state, "headline": live.headline}
    return own | {"device": live.device, "mode": live.mode, "created": time.time() - live.elapsed, "variants": []}


def _run(run: RunView, live: LiveRun | None) -> dict[str, Any]:
    state, said = ("running", live.headline) if live is not None else (run.state, headline(run))
    own = {"run": run.id, "uri": Path(run.path).as_uri(), "path": run.path, "kernel": run.kernel, "state": state, "headline": said}
    return own | {"device": run.device, "mode": run.mode, "created": run.created, "variants": [_variant(v) for v in run.variants]}


def _variant(v: VariantView) -> dict[str, Any]:
    return {
        "number": v.number,
        "title": v.title,
        "ratio": v.ratio,
        "tier": v.tier or None,
        "verified": v.verified,
        "decision": v.decision or None,
    }


async def forget(server: KernelBandServer, run: str) -> dict[str, str]:
    """Delete a run with all that it found, for good: ``{"run": id}``."""
    live = server.runs.get(run)
    if live is not None and not live.ended:
        raise UsageError(f"Run {run} is still running: cancel it first, then delete it.")
    row = await asyncio.to_thread(_forget, server.findings.db, run)
    server.runs.forget(row.id)
    await server.look()
    return {"run": row.id}


def _forget(db: Path, run: str) -> RunRow:
    with Store.read(db) as store:
        if view.run_row(store, run) is None:  # the beginning of an id is not enough to delete by
            raise HistoryError(f"There is no run {run!r} in {db}, so nothing was deleted: it may be gone already.")
        row = runs.forget(store, run)
        store.shrink()
        return row


def _folders(server: KernelBandServer) -> list[str]:
    return [place(f.uri) for f in server.documents.folders.values()]
