"""``kernelband lsp``: the language server, over stdin and stdout or, for debugging, a port of this machine."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from importlib import import_module

import click


@click.command(name="lsp")
@click.option("--stdio", is_flag=True, help="Over stdin and stdout; the default, taken since many clients pass it.")
@click.option("--tcp", type=click.IntRange(1, 65535), metavar="PORT", help="Serve one client on this port of 127.0.0.1, for debugging.")
@click.option("--log-level", default="warning", type=click.Choice(["debug", "info", "warning"]), show_default=True, help="To stderr.")
@click.option("--db", metavar="PATH", help="Database to use instead of the one in your state folder.")  # not target's: it takes long
def lsp(stdio: bool, tcp: int | None, log_level: str, db: str | None) -> None:  # noqa: ARG001 - stdio is the default
    """Serve an editor. Opening a file parses it; nothing of a folder runs before it is trusted (kernelband trust DIR)."""
    logging.basicConfig(stream=sys.stderr, level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # The thread that reads a text must let the loop in between, and a full collection of its trees must not come with every few keys. Nor
    # may it come too seldom: what an edit replaces in a tree is a ring that only a full one finds.
    sys.setswitchinterval(0.001)
    gc.set_threshold(10_000, 20, 5)
    if tcp is None:
        from kernelband.lsp.greeting import greet_stdio

        loading = threading.Thread(target=import_module, args=("kernelband.lsp.app",), daemon=True)
        loading.start()  # while the client is waited for, and answered
        greeting = greet_stdio()
        loading.join()
        from kernelband.lsp.app import make_server
        from kernelband.lsp.connection import serve_stdio

        server = make_server(db)
        gc.freeze()  # modules stay: no collection needs to look at them
        serve_stdio(server, greeting)
    else:
        from kernelband.lsp.app import make_server
        from kernelband.lsp.connection import serve_tcp

        server = make_server(db)
        gc.freeze()
        serve_tcp(server, tcp)
