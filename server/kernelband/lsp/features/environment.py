"""``environment``: which Python, torch, Triton and GPU the kernels of a file have, and what works with them."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs

from kernelband.lsp import choices
from kernelband.lsp.environments import Asked
from kernelband.lsp.index import place
from kernelband.lsp.run_request import device_of, settings_of
from kernelband.lsp.server import KernelBandServer


async def environment(server: KernelBandServer, uri: str, again: bool = False) -> dict[str, Any]:
    """As ``kernelband doctor --json``, for a run of that file or folder: ``{"worker", "python", "asked_s", "checks", "works"}``.

    Remembered for the session; ``again`` looks anew.
    """
    return attrs.asdict(await server.environments.of(place(uri), await asked_of(server, uri), again=again))


async def asked_of(server: KernelBandServer, uri: str) -> Asked:
    """What is looked at for runs of that file or folder."""
    chosen = await asyncio.to_thread(choices.read)
    worker, python, _ = device_of(await settings_of(server, uri), chosen.devices.get(place(uri)))
    return Asked(server.runs.command, worker, python, str(server.findings.db))
