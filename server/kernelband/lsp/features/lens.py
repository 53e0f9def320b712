"""One lens or two above each kernel: how to begin, how it goes, what came of it."""

from __future__ import annotations

import asyncio
import time

from lsprotocol import types

from kernelband.explain.words import nothing_yet, short, worth
from kernelband.history.view import RunView, VariantView
from kernelband.lsp.document_view import View
from kernelband.lsp.index import place
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.standings import Standing
from kernelband.source.model import Kernel

SETTLES_S = 5.0


def register(server: KernelBandServer) -> None:
    """``textDocument/codeLens``. Answered from memory: a document that is being typed in gets the lenses of a moment ago. A client that
    can't be told to ask again, such as Neovim 0.11, would keep the first ones: there they wait for what the history says.
    """
    waited = set[str]()

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        view = await server.view(uri) if server.settings.lens else None
        if view is not None and not (server.redraws or view.snapshot.outlined or uri in waited):
            waited.add(uri)
            await _settled(server, view.snapshot.uri)
            view = await server.view(uri)
        server.has_drawn = True  # a client that is told earlier drops the answer it waits for, and asks again
        return lenses(server, view) if view is not None else []


async def _settled(server: KernelBandServer, uri: str) -> None:
    """Until the history was read and the document's text compared with it; for so long at most."""
    end = time.monotonic() + SETTLES_S
    while not (server.has_looked and server.standings.settled(uri)) and time.monotonic() < end:
        await asyncio.sleep(0.03)


def lenses(server: KernelBandServer, view: View) -> list[types.CodeLens]:
    """Of a document."""
    path = place(view.snapshot.uri)  # once: links are followed in the file system
    return [lens for kernel in view.kernels for lens in _of(server, view, kernel, path)]


def _of(server: KernelBandServer, view: View, kernel: Kernel, path: str) -> list[types.CodeLens]:
    where = view.range(kernel.name_span, server.encoding)
    uri, name = view.snapshot.uri, kernel.place.qualname
    live = server.runs.of(path, name)
    standing = server.standings.of(uri, name)
    told = result(standing) if standing is not None else ""
    if live is not None and not live.ended:
        now = _lens(where, live.headline, "kernelband.server.report", uri, name)
        cancel = _lens(where, "Cancel", "kernelband.server.cancel", live.id)
        run = standing.finding.telling if standing is not None and standing.offers else None
        if not live.verified or run is None or run.id != live.id:
            return [now, cancel]
        return [now, _lens(where, told, "kernelband.server.choose", uri, name), cancel]  # to be had while the search goes on
    out: list[types.CodeLens] = []
    if told and standing is not None:
        out.append(_lens(where, told, f"kernelband.server.{'verify' if standing.stale else 'choose'}", uri, name))
    interrupted = resumable(standing, path, name)
    if interrupted is not None:
        out.append(_lens(where, "Resume", "kernelband.server.resume", uri, name, interrupted))
    out.append(_lens(where, "Optimize", "kernelband.server.optimize", uri, name))
    return out


def resumable(standing: Standing | None, path: str, kernel: str) -> str | None:
    """The kernel's last run, if it was cut off and is about this very file: a copy of it has runs of its own to begin."""
    latest = next(iter(standing.finding.runs), None) if standing is not None else None
    ours = latest is not None and (latest.path, latest.kernel) == (path, kernel)
    return latest.id if latest is not None and ours and latest.state == "interrupted" else None


def result(standing: Standing) -> str:
    """What the history knows, in a few words; "" for nothing."""
    run = standing.finding.telling
    if run is None:
        return ""
    if standing.taken is not None:
        return _taken(run, standing.taken)
    if standing.stale:
        return "changed since it was optimized · verify again" if run.variants else ""
    best = next(iter(standing.offers), None)
    if best is None:
        return "" if run.state == "running" or not run.trials else nothing_yet(run)
    count = f"{len(standing.offers)} variant{'s' if len(standing.offers) > 1 else ''}"
    return f"{worth(run.device, best)} · {count}"


def _taken(run: RunView, variant: VariantView) -> str:
    date = time.strftime("%Y-%m-%d", time.localtime(run.created))
    if run.mode == "predicted":
        than = "than the original " if variant.tier.startswith("likely") else ""
        return f"{variant.tier or 'unclear'} {than}on {short(run.device)} · predicted {date}"
    if variant.ratio is None:
        return f"not verified on {short(run.device)} · {date}"
    return f"{variant.ratio:.2f}× over original on {short(run.device)} · verified {date}"


def _lens(where: types.Range, title: str, command: str, *arguments: str) -> types.CodeLens:
    return types.CodeLens(range=where, command=types.Command(title=title, command=command, arguments=list(arguments)))
