"""``review``: a variant for a client that puts it in and lets a person keep or undo its steps; ``accept``: they keep it all."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kernelband.errors import SourceError, StaleText, UsageError
from kernelband.history import Store, runs, trials, view
from kernelband.lsp.review import Answer, Version, answered, chain, read_words
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.variant_edit import Part, Wanted, edited, parts


async def review(server: KernelBandServer, uri: str, kernel: str, run: str, number: int) -> Answer:
    """The variant as hunks of the documents of this moment, refused where ``apply`` is. Nothing is edited or written."""
    whole, numbers = await asyncio.to_thread(chain, server.findings.db, run, number)
    steps: list[tuple[int, list[Part]]] = []
    for at in numbers:
        try:
            found = await parts(server.findings, server.open_documents(), Wanted(uri, kernel, whole, at))
        except (SourceError, StaleText):
            if at == number:
                raise
            continue  # it doesn't fit this text by itself: one step with the next
        steps.append((at, found))
    words = await asyncio.to_thread(read_words, server.findings.db, whole, [at for at, _ in steps])
    files, groups = await asyncio.to_thread(answered, _versions([own for _, own in steps]), words)
    last = words[-1]
    return Answer(
        uri=uri, kernel=kernel, run=whole, variant=number, title=last.title, short=last.short, why=last.why, files=files, steps=groups
    )


def _versions(steps: list[list[Part]]) -> dict[str, Version]:
    """The documents of all steps, each with its text now and after each of them."""
    now = {part.uri: part for own in steps for part in own}
    after = [{part.uri: edited(part) for part in own} for own in steps]
    return {uri: Version(part.version, (part.text, *(texts.get(uri, part.text) for texts in after))) for uri, part in now.items()}


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
        if number not in view.numbers(store, whole):
            raise UsageError(f"There is no variant {number} of run {whole}, so nothing was decided: look at the kernel's report.")
        trials.decide(store, whole, number, decision)
