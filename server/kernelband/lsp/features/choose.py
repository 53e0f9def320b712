"""``chooseEntry`` and ``chooseDevice``: asked in any client by a message with buttons, or said by the caller; kept over restarts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from lsprotocol import types

from kernelband.errors import HistoryError, UsageError
from kernelband.hardware import find_device
from kernelband.hardware.devices import table
from kernelband.history import Store, runs
from kernelband.lsp import choices, run_request
from kernelband.lsp.choices import Device
from kernelband.lsp.index import place
from kernelband.lsp.server import KernelBandServer
from kernelband.source import Workspace, find_program
from kernelband.workload import entries_of, find_entries

BY_ITSELF = "The best one that is found"
AS_SET = "As the settings say"
HERE = "This machine"
MOST_ENTRIES = 12  # that are offered; any may be named
PREDICTED = ("h100", "h200", "b200", "a100", "mi300x")  # offered; any known one may be named
NO_GPU = "No GPU: predicted for "
UNASKED = Device(gpu="nothing was chosen")  # where None is a choice


async def choose_entry(server: KernelBandServer, uri: str, kernel: str, entry: str | None = None) -> dict[str, Any]:
    """What shows the kernel at work from now on. ``entry`` as ``--entry`` takes it, "" for the best by itself; without it, ask.

    Answers ``{"entry", "changed"}``: what the next run takes, null for the best by itself.
    """
    path, texts = place(uri), server.open_texts()
    known = await asyncio.to_thread(choices.read)
    if entry is None:
        found = await asyncio.to_thread(entries, path, kernel, texts)
        if not found:
            raise UsageError(f"No test or benchmark was found for {kernel}: write one that calls it without arguments, then choose it.")
        offered = {_shown(e, path): e for e in found[:MOST_ENTRIES]} | {BY_ITSELF: ""}
        entry = await _ask(server, f"Which entry runs {kernel}?", offered)
        if entry is None:
            return {"entry": known.entry(path, kernel), "changed": False}
    elif entry:
        entry = await asyncio.to_thread(_named, path, kernel, texts, entry)
    await asyncio.to_thread(lambda: choices.write(choices.read().with_entry(path, kernel, entry or None)))
    return {"entry": entry or None, "changed": True}


async def draft_entry(server: KernelBandServer, uri: str, kernel: str) -> dict[str, Any]:
    """A function that would show the kernel at work, drafted by reading, for the client to put in: nothing is written.

    Answers ``{"uri", "text", "appended", "entry", "guesses"}``: where the text belongs, at the end of a file that is there or as a new one;
    the function's name; and the names of what is guessed in it.
    """
    path, texts = place(uri), server.open_texts()

    def draft() -> dict[str, Any]:
        from kernelband.workload.draft import draft_entry as drafted  # seldom asked for, and much to load

        workspace = Workspace.for_file(path, texts)
        made = drafted(workspace, find_program(workspace, path, kernel))
        if not made.appended and os.path.lexists(made.path):
            raise UsageError(f"{os.path.basename(made.path)} is there already and stays as it is: write {made.entry} into it yourself.")
        where = Path(made.path).as_uri()
        return {"uri": where, "text": made.text, "appended": made.appended, "entry": made.entry, "guesses": [g.name for g in made.guesses]}

    return await asyncio.to_thread(draft)


async def choose_device(server: KernelBandServer, uri: str, device: str | None = None) -> dict[str, Any]:
    """Where kernels of that file run from now on. ``device``: "here", a worker's command of the settings, a GPU's name to predict for, or
    "" for what the settings say; without it, ask.

    Answers ``{"worker", "gpu", "changed"}``: what the next run takes; both null for this machine's own.
    """
    path = place(uri)
    found = await asyncio.to_thread(_seen, server.findings.db)
    workers = run_request.workers(await run_request.session_of(server))
    if device is None:
        offered: dict[str, Device | None] = {HERE + _at("", found): Device()}
        offered |= {worker + _at(worker, found): Device(worker) for worker in workers}
        offered |= {NO_GPU + find_device(key).name: Device(gpu=key) for key in PREDICTED}
        chosen = await _ask(server, f"Where should kernels of {os.path.basename(path)} run?", offered | {AS_SET: None}, nothing=UNASKED)
        if chosen is UNASKED:
            return await _device_of(server, path, changed=False)
    elif device in ("", "here"):
        chosen = Device() if device else None
    elif device in workers:
        chosen = Device(device)
    elif any(device.lower() == d.key for d in table()):
        chosen = Device(gpu=device.lower())
    else:
        names = ", ".join([*workers, *(d.key for d in table())])
        raise UsageError(
            f'{device} can\'t be chosen as a device: give "here", a worker of your settings, or a GPU to predict for: {names}.'
        )
    await asyncio.to_thread(lambda: choices.write(choices.read().with_device(path, chosen)))
    return await _device_of(server, path, changed=True)


async def device_of(server: KernelBandServer, uri: str) -> dict[str, Any]:
    """Where kernels of that file run: ``{"worker", "gpu"}`` as ``chooseDevice`` answers them."""
    return await _device_of(server, place(uri), changed=False)


async def _device_of(server: KernelBandServer, path: str, *, changed: bool) -> dict[str, Any]:
    known = await asyncio.to_thread(choices.read)
    worker, _, gpu = run_request.device_of(await run_request.session_of(server), known.devices.get(path))
    return {"worker": worker or None, "gpu": gpu, "changed": changed}


async def _ask(server: KernelBandServer, question: str, offered: dict[str, Any], *, nothing: Any = None) -> Any:
    picked = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(types.MessageType.Info, question, [types.MessageActionItem(t) for t in offered])
    )
    return offered[picked.title] if picked is not None and picked.title in offered else nothing


# ------------------------------------------------------------ what there is; for a thread


def entries(path: str, kernel: str, texts: dict[str, str]) -> list[str]:
    """Those that lead to the kernel, as ``--entry`` takes them, found by reading: those of its own file first; ``__main__`` last."""
    workspace = Workspace.for_file(path, texts)
    program = find_program(workspace, path, kernel)
    found = [f for f in find_entries(workspace, program) if f.reaches]
    found.sort(key=lambda f: (not f.near, f.report))
    own = [path, *(h.place.path for h in program.hosts)]
    mains = [f"{p}::__main__" for p in dict.fromkeys(own) if "__main__" in workspace.read(p)]
    return [*dict.fromkeys(f"{f.entry['path']}::{f.entry['name']}" for f in found), *mains]


def _named(path: str, kernel: str, texts: dict[str, str], entry: str) -> str:
    """The entry with the whole path of its file: a run has no folder of its user's.

    Raises:
        UsageError: there is no such entry.
    """
    known = entries(path, kernel, texts)
    workspace = Workspace.for_file(path, texts)
    own = [f"{path}::{f.entry['name']}" for f in entries_of(workspace, path)]
    for found in (*known, *own):
        file, _, name = found.partition("::")
        if entry in (found, name, f"{os.path.basename(file)}::{name}"):
            return found
    named = ", ".join(_shown(e, path) for e in known) or "none"
    raise UsageError(f"There is no entry {entry} for {kernel}. Those that were found: {named}.")


def _shown(entry: str, path: str) -> str:
    file, _, name = entry.partition("::")
    return f"{name} ({os.path.relpath(file, os.path.dirname(path))})"


def _seen(db: Path) -> dict[str, str]:
    """The GPU that each worker ("" for this machine) had when it last measured."""
    if not db.exists():
        return {}
    try:
        with Store.read(db) as store:
            return runs.last_devices(store)
    except HistoryError:  # the lens says what is wrong with it
        return {}


def _at(worker: str, found: dict[str, str]) -> str:
    return f": {found[worker]}" if worker in found else ""
