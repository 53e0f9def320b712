"""How every run of the server begins."""

from __future__ import annotations

from kernelband.errors import UsageError
from kernelband.lsp.features import configuration, progress
from kernelband.lsp.liverun import LiveRun, Request
from kernelband.lsp.server import KernelBandServer


def start(server: KernelBandServer, request: Request) -> LiveRun:
    """Begin it, or give the one of that kernel that goes on; with its progress.

    Raises:
        UsageError: it may not run, or something else goes on with that kernel.
    """
    live = server.runs.start(request)
    if live.request.judges != request.judges:
        doing = "verified" if live.request.judges else "optimized"
        raise UsageError(f"{request.kernel} is already being {doing} (run {live.id}): wait until that ends, or cancel it.")
    if live.id not in server.shown:
        server.begin(progress.begin(server, live))
        server.begin(configuration.tell_around(server, live.request.path))
    server.redraw()
    return live
