"""``plan``: what the next run of a kernel would do, for a client that shows it before the run begins. Nothing is run for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict, frozen

from kernelband.errors import HardwareError, KernelBandError
from kernelband.explain.words import short
from kernelband.hardware import DEFAULT_DEVICE, find_device
from kernelband.history.view import RunView
from kernelband.lsp import choices
from kernelband.lsp.features.environment import asked_of
from kernelband.lsp.index import place
from kernelband.lsp.remedies import words
from kernelband.lsp.run_request import means
from kernelband.lsp.server import KernelBandServer
from kernelband.source import Workspace, find_program
from kernelband.workload import choose, configuration_of

NEEDS_S = 0.5
BEFORE = ("start", "capture", "baseline")  # the first trial; spans of a run's clock


@frozen
class ShownBy:
    """What shows the kernel at work: ``entry`` as a person reads it, None where there is none, and ``why``. ``how``: ``chosen`` by a
    person, by the ``settings``, by the ``repository``, or ``found``, with so many ``others`` that are tried where it doesn't do; ``none``
    where nobody said one and none was found.
    """

    entry: str | None
    how: str
    others: int = 0
    why: str = ""


@frozen
class Pace:
    """Seconds that the last run of the kernel took: for a trial, before the first one, and for the final verification."""

    run: str
    trial_s: float
    before_s: float
    final_s: float


async def plan(server: KernelBandServer, uri: str, kernel: str) -> dict[str, Any]:
    """``{"refusal", "entry", "worker", "python", "gpu", "predicts", "pace"}``: why nothing may run there, "" where it may; ``ShownBy``; the
    command, the interpreter and the GPU that the next run is told of, null for none; the GPU's name that it predicts for where none is in
    reach; ``Pace``, null without a run.
    """
    path = place(uri)
    with_ = await means(server, uri, kernel)
    known = server.environments.known(await asked_of(server, uri))
    measured = known is not None and known.works.get("measure", False)
    chosen = (await asyncio.to_thread(choices.read)).entry(path, kernel)
    texts = server.open_texts()
    shown = await asyncio.to_thread(shown_by, path, kernel, texts, with_.entry, chosen=chosen is not None, measured=measured)
    pace = pace_of(server.findings.find(path, kernel).runs)
    return {
        "refusal": words(server.trust.refusal(path)),
        "entry": asdict(shown),
        "worker": with_.worker or None,
        "python": with_.python,
        "gpu": with_.gpu,
        "predicts": await asyncio.to_thread(_predicts, with_.gpu),
        "pace": asdict(pace) if pace is not None else None,
    }


async def needs(server: KernelBandServer, uri: str, kernel: str) -> str:
    """What *Optimize* would run, or what it needs first, in a sentence; "" where finding that takes longer than a hover may wait. One look
    goes on at a time: in a large repository it takes seconds.
    """
    if refused := server.trust.refusal(place(uri)):
        return words(refused)
    if server.planning is None or server.planning.done():
        looking = server.planning = server.begin(plan(server, uri, kernel))
        done, _ = await asyncio.wait({looking}, timeout=NEEDS_S)
        if done and not looking.cancelled() and looking.exception() is None:
            by = looking.result()["entry"]
            return f"It would run {by['entry']}." if by["entry"] is not None else f"It needs something that runs the kernel: {by['why']}"
    return ""


def shown_by(path: str, kernel: str, texts: Mapping[str, str], named: str | None, *, chosen: bool, measured: bool) -> ShownBy:
    """As the run itself chooses, by reading: for a thread. ``named``: by its user, of whom ``chosen`` says how."""
    own = named or configuration_of(path).entry
    how = "chosen" if chosen else "settings" if named else "repository" if own else "found"
    try:
        workspace = Workspace.for_file(path, texts)
        found = choose(workspace, find_program(workspace, path, kernel), own, measured=measured)
    except KernelBandError as error:  # the run would say the same
        return ShownBy(None, how if own else "none", why=words(error.message))
    file, name = os.path.relpath(found.entry["path"], os.path.dirname(path)), found.entry["name"]
    return ShownBy(f"{file}::{name}", how, len(found.others))


def _predicts(gpu: str | None) -> str:
    try:
        return short(find_device(gpu or DEFAULT_DEVICE).name)
    except HardwareError:
        return gpu or ""  # the run says that there is no such GPU


def pace_of(runs: Sequence[RunView]) -> Pace | None:
    """Of the newest search that has ended with trials; a run that judged one edit has no pace."""
    for run in runs:
        if run.state == "finished" and run.policy != "given" and run.trials:
            before, final = sum(run.clock.get(span, 0.0) for span in BEFORE), run.clock.get("final", 0.0)
            return Pace(run.id, round(max(0.0, run.seconds_used - before - final) / run.trials, 3), round(before, 3), round(final, 3))
    return None
