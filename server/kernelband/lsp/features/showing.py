"""What shows a variant: against the original, with its reason, and the command that finds it again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelband.history import Store
from kernelband.lsp.features import pages
from kernelband.lsp.pages import AGAIN, PATCH, REPORT, Page, pairs, reproduction

if TYPE_CHECKING:
    from kernelband.explain.again import Again
    from kernelband.lsp.server import KernelBandServer


async def compare(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:  # noqa: ARG001 - as all of them
    """Show the diff. Answers its place, and original and variant of each edited file for a client with a diff view of its own."""
    found = await asyncio.to_thread(_pairs, server.findings.db, run, number)
    files = [{"original": (await pages.locate(server, a)).uri, "variant": (await pages.locate(server, b)).uri} for a, b in found]
    shown = await pages.show(server, Page(found[0][1].run, number, PATCH) if found else Page(run, number, PATCH))
    return {**(files[0] if files else {"original": None, "variant": None}), "files": files, **shown.answer}


async def explain(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:  # noqa: ARG001
    """Show the report. Answers its place."""
    return (await pages.show(server, Page(run, number, REPORT))).answer


async def reproduce(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> dict[str, Any]:  # noqa: ARG001
    """Show the commands that search again and show the variant. Answers the first, what may make it another search, and the place."""
    told = await asyncio.to_thread(_again, server.findings.db, run)
    shown = await pages.show(server, Page(run, number, AGAIN))
    return {"command": told.command, "notes": list(told.notes), **shown.answer}


def _pairs(db: Path, run: str, number: int) -> tuple[tuple[Page, Page], ...]:
    with Store.read(db) as store:
        return pairs(store, run, number)


def _again(db: Path, run: str) -> Again:
    with Store.read(db) as store:
        return reproduction(store, run)
