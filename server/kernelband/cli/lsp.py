"""``kernelband lsp``: the language server, over stdin and stdout or, for debugging, a port of this machine."""

from __future__ import annotations

import gc
import logging
import socket
import sys

import click


@click.command(name="lsp")
@click.option("--stdio", is_flag=True, help="Use stdin and stdout: the default, accepted because many clients pass it.")
@click.option("--tcp", type=click.IntRange(1, 65535), metavar="PORT", help="Serve one client on this port of 127.0.0.1, for debugging.")
@click.option("--log-level", default="warning", type=click.Choice(["debug", "info", "warning"]), show_default=True, help="To stderr.")
@click.option("--db", metavar="PATH", help="Database to use instead of the one in your state folder.")  # not target's: it takes long
def lsp(stdio: bool, tcp: int | None, log_level: str, db: str | None) -> None:  # noqa: ARG001 - stdio is the default
    """Run the language server. Opening a file parses it; nothing of a folder runs before it is trusted (kernelband trust DIR)."""
    logging.basicConfig(stream=sys.stderr, level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.setswitchinterval(0.001)  # the thread that reads a text must let the loop in between
    gc.disable()
    from kernelband.lsp.app import make_server
    from kernelband.lsp.transport import serve

    server = make_server(db)
    gc.freeze()  # modules stay: no collection needs to look at them
    # A full collection of a text's trees must not come with every few keys, nor too seldom: what an edit replaces in a tree is a ring that
    # only a full one finds.
    gc.set_threshold(10_000, 20, 5)
    gc.enable()
    if tcp is None:
        serve(server, server.leave, sys.stdin.buffer, sys.stdout.buffer)
    else:
        with socket.create_server(("127.0.0.1", tcp)) as listening:
            connection = listening.accept()[0]
        serve(server, server.leave, connection.makefile("rb"), connection.makefile("wb"))
