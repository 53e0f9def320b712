"""``review``: a variant for a client that puts it in and lets a person keep or undo its parts; ``accept``: they keep it all."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kernelband.errors import UsageError
from kernelband.history import Store, runs, trials
from kernelband.lsp.applying import Wanted, parts
from kernelband.lsp.review import Answer, read_words, review_hunks
from kernelband.lsp.server import KernelBandServer


async def review(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> Answer:
    """The variant as hunks of the documents of this moment, refused where ``apply`` is. Nothing is edited or written."""
    files = await parts(server.findings, server.open_documents(), Wanted(uri, kernel, run, number))
    words = await asyncio.to_thread(read_words, server.findings.db, run, number)
    found, groups = await asyncio.to_thread(review_hunks, files)
    return Answer(
        uri=uri,
        kernel=kernel,
        run=words.run,
        variant=number,
        title=words.title,
        short=words.short,
        why=words.why,
        files=found,
        groups=groups,
    )


async def accept(server: KernelBandServer, run: str, number: int) -> None:
    """A person keeps this variant, as it was verified."""
    await asyncio.to_thread(decide, server.findings.db, run, number, "accept")


async def reject(server: KernelBandServer, run: str, number: int) -> None:
    """A person doesn't want this variant: it isn't offered again."""
    await asyncio.to_thread(decide, server.findings.db, run, number, "reject")


def decide(db: Path, run: str, number: int, decision: str) -> None:
    """Write down what a person said of a variant.

    Raises:
        UsageError: there is no such variant.
    """
    with Store.write(db) as store:
        whole = runs.find(store, run).id
        if not store.rows("SELECT id FROM variants WHERE run = ? AND id = ? AND id", [whole, number]):
            raise UsageError(f"There is no variant {number} of run {whole}, so nothing was decided: look at the kernel's report.")
        trials.decide(store, whole, number, decision)
