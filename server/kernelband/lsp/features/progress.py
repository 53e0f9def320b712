"""How a run goes: the standard's progress, which can be cancelled, and a typed notification for clients of ours."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, cast

from lsprotocol import types

from kernelband.explain.words import headline
from kernelband.history.view import RunView
from kernelband.lsp.features import refusals
from kernelband.lsp.features.views import concerning
from kernelband.lsp.liverun import LiveRun
from kernelband.lsp.remedies import Said
from kernelband.lsp.server import KernelBandServer

RUN_CHANGED = "kernelband/runChanged"
RUN_ENDED = "kernelband/runEnded"
PREFIX = "kernelband-run-"

log = logging.getLogger(__name__)


def register(server: KernelBandServer) -> None:
    """``window/workDoneProgress/cancel`` for runs, and what is told when one changes."""
    server.on_run.append(lambda live: tell(server, live))
    server.on_end.append(lambda run: _tell_end(server, run))

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    async def cancel(params: types.WorkDoneProgressCancelParams) -> None:
        run = str(params.token).removeprefix(PREFIX)
        if server.runs.get(run) is not None:
            await server.runs.cancel(run)


async def begin(server: KernelBandServer, live: LiveRun) -> None:
    """Show the run's progress, if the client can."""
    window = server.client_capabilities.window
    if window is None or not window.work_done_progress:
        return
    token = f"{PREFIX}{live.id}"
    await server.work_done_progress.create_async(token)  # pyright: ignore[reportUnknownMemberType] - its own types
    title = f"{'Verify' if live.request.judges else 'Optimize'} {live.request.kernel}"
    server.work_done_progress.begin(token, types.WorkDoneProgressBegin(title=title, message=live.headline, percentage=0, cancellable=True))
    server.shown.add(live.id)
    _show(server, live)  # of now; its error was told by ``tell``


def tell(server: KernelBandServer, live: LiveRun) -> None:
    """The run has changed."""
    server.protocol.notify(RUN_CHANGED, changed(live))
    if live.state == "failed" and live.error:
        # Who asked for the run is told: a progress is gone with its end, and some clients show none.
        said = f"{live.request.kernel} was not {'verified' if live.request.judges else 'optimized'}: {live.error}"
        log.error("Run %s: %s", live.id, said)
        refusals.tell(server, Said(said, live.remedies), refusals.About(live.request.uri, live.request.kernel, live.id))
    if live.id in server.shown:
        _show(server, live)


def _tell_end(server: KernelBandServer, run: RunView) -> None:
    """One that wasn't started here has ended: in another window, or in a terminal."""
    if concerning(server)(run.path):
        told = {"run": run.id, "uri": Path(run.path).as_uri(), "kernel": run.kernel, "headline": headline(run)}
        server.protocol.notify(RUN_ENDED, told)


def _show(server: KernelBandServer, live: LiveRun) -> None:
    token = f"{PREFIX}{live.id}"
    if live.ended:
        server.shown.discard(live.id)
        server.work_done_progress.end(token, types.WorkDoneProgressEnd(message=live.error or live.headline))
        cast("dict[str, Any]", server.work_done_progress.tokens).pop(token, None)  # pyright: ignore[reportUnknownMemberType] - its own types
        return
    report = types.WorkDoneProgressReport(message=live.headline, percentage=round(100 * live.fraction), cancellable=True)
    server.work_done_progress.report(token, report)


def changed(live: LiveRun) -> dict[str, Any]:
    """The parameters of ``kernelband/runChanged``. ``score`` is of screening until ``verified`` names variants; null where predicted."""
    return {
        "run": live.id,
        "uri": live.request.uri,
        "kernel": live.request.kernel,
        "state": live.state,
        "phase": live.phase,
        "mode": live.mode,
        "device": live.device,
        "headline": live.headline,
        "fraction": live.fraction,
        "trials": live.done,
        "score": live.score,
        "tier": live.tier,
        "verified": list(live.verified),
        "counts": live.counts,
        "reason": live.reason,
        "error": live.error,
    }
