"""What latency.py measures beside the language server, in the same run: a server that does nothing, and one for Python in general."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from timed_editor import Client

SERVER = [sys.executable, "-m", "kernelband", "lsp", "--stdio"]
#: The least that a server on pygls can do: it has no feature.
BARE = [sys.executable, "-c", "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"]
JEDI = ["-c", "from jedi_language_server.cli import cli; cli()"]


def begin(client: Client, folder: Path) -> float:
    """Initialize; milliseconds from the start of the process to the reply."""
    capabilities = {"workspace": {"codeLens": {"refreshSupport": True}}, "general": {"positionEncodings": ["utf-32", "utf-16"]}}
    work = {"uri": folder.as_uri(), "name": folder.name}
    client.ask("initialize", {"processId": os.getpid(), "rootUri": work["uri"], "workspaceFolders": [work], "capabilities": capabilities})
    taken = (time.perf_counter() - client.begun) * 1000
    client.notify("initialized", {})
    return taken


def start(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    """Of one process, which is ended again: milliseconds to the reply."""
    client = Client(command, folder, environment)
    try:
        return begin(client, folder)
    finally:
        client.close()
