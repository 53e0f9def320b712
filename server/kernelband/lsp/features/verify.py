"""``verify``: the judge's word on what was typed; ``optimizeChanged``: every kernel that a branch has touched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen
from lsprotocol import types

from kernelband.errors import KernelBandError, SourceError, UsageError, WorkloadError
from kernelband.lsp.features import refusals
from kernelband.lsp.features.start import start
from kernelband.lsp.index import place
from kernelband.lsp.liverun import LiveRun, Request
from kernelband.lsp.parts import needed
from kernelband.lsp.remedies import Said, joined, of_error
from kernelband.lsp.run_request import request, with_base
from kernelband.lsp.server import KernelBandServer
from kernelband.source import Workspace, differing_files, find_kernels, find_program, form
from kernelband.source.model import Program

OF_ONE_KERNEL = (SourceError.exit_code, WorkloadError.exit_code)


def register(server: KernelBandServer) -> None:
    """Who asked for a word on an edit gets it in a message, too: a progress is gone with its end."""

    def over(live: LiveRun) -> None:
        if live.request.judges and live.state == "finished":
            said = f"{live.reason[:1].upper()}{live.reason[1:]}."
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, said))

    server.runs.on_change.append(over)


async def verify(server: KernelBandServer, uri: str, kernel: str, base: dict[str, Any] | None = None) -> dict[str, str]:
    """Judge the text on the screen. Answers with the run at once.

    Against the saved one; where that is the same, against what its last run began with if it has changed since, else the last commit.
    ``base``: what it is judged against instead, texts by the addresses of documents.
    """
    asked = await request(server, uri, kernel, judges=True)
    asked = with_base(server, asked, base) if base is not None else attrs.evolve(asked, base=await _of_last_run(server, asked))
    return {"run": start(server, asked).id}


async def _of_last_run(server: KernelBandServer, asked: Request) -> Mapping[str, str]:
    """The texts that the kernel's last run with variants began with, by path. None where the text is one of that run's, however it is
    written; where it was about another file; or where something is unsaved that matters, which is judged against what is saved.
    """
    standing = server.standings.of(asked.uri, asked.kernel)
    run = standing.finding.telling if standing is not None and standing.stale and standing.accepted is None else None
    if run is None or (run.path, run.kernel) != (asked.path, asked.kernel):
        return {}
    unsaved = {**asked.overlays, **({asked.path: asked.text} if asked.text is not None else {})}

    def load() -> Mapping[str, str]:
        began = server.findings.load(run.id, ()).base_texts
        read, kernel = Workspace.for_file(asked.path).read, asked.kernel
        matters = any(needed({p: t}, kernel) != needed({p: read(p)}, kernel) for p, t in unsaved.items() if p in began)
        return {} if matters else began

    try:
        return await asyncio.to_thread(load)
    except SourceError:  # a file that isn't there yet
        return {}


async def optimize_changed(server: KernelBandServer, ref: str) -> dict[str, Any]:
    """Optimize every kernel of the workspace whose program isn't what it was at that commit, one after the other.

    Answers with the kernels before the first one ends; ``stop_all`` ends them all.
    """
    root = server.documents.root_uri  # of clients that know of one folder only
    folders = [place(f.uri) for f in server.documents.folders.values()] or ([place(root)] if root else [])
    if not folders:
        raise UsageError("No folder is open, so nothing can be compared with a commit: open the folder of your repository.")
    found, left_out = await asyncio.to_thread(_changed, server, folders, ref, server.open_texts())
    if left_out:
        said = " ".join(dict.fromkeys(e.message for e in left_out))
        if len(left_out) == len(folders):
            raise UsageError(said)
        remedies = joined([of_error(e) for e in left_out])
        told = Said(f"Some folders are left out. {said}", remedies)
        refusals.tell(server, told, refusals.About(Path(folders[0]).as_uri()), types.MessageType.Warning)
    if found:
        task = server.begin(_one_by_one(server, found))
        server.batches.add(task)
        task.add_done_callback(server.batches.discard)
    return {"kernels": [{"uri": Path(c.path).as_uri(), "kernel": c.kernel} for c in found]}


def _changed(
    server: KernelBandServer, folders: list[str], ref: str, texts: Mapping[str, str]
) -> tuple[list[Changed], list[KernelBandError]]:
    """The kernels of all folders, each once where one folder is in another; and why folders have none. Runs git: for a thread."""
    found: dict[Changed, None] = {}
    left_out: list[KernelBandError] = []
    for folder in folders:
        kernels = _changed_in(server, folder, ref, texts)
        if isinstance(kernels, KernelBandError):
            left_out.append(kernels)
        else:
            found |= dict.fromkeys(kernels)
    return list(found), left_out


def _changed_in(server: KernelBandServer, folder: str, ref: str, texts: Mapping[str, str]) -> list[Changed] | KernelBandError:
    """Of one folder, or why there are none: the others can be looked at all the same."""
    if refusal := server.trust.refusal(folder):
        return UsageError(refusal)
    try:
        return changed_kernels(folder, ref, texts)
    except KernelBandError as error:
        return error


async def _one_by_one(server: KernelBandServer, found: list[Changed]) -> None:
    for changed in found:
        uri = Path(changed.path).as_uri()
        try:
            live = start(server, await request(server, uri, changed.kernel))
        except KernelBandError as error:  # of this one: the others can run
            refusals.tell(server, of_error(error), refusals.About(uri, changed.kernel), types.MessageType.Warning)
            continue
        while not live.ended:
            await asyncio.sleep(0.1)
        if live.stopping:  # by a person: they want no other one either
            return
        if live.state == "failed" and live.device is None and live.exit_code not in OF_ONE_KERNEL:  # the next one would say the same
            return


# ---------------------------------------------------------------- what a branch has touched


@frozen
class Changed:
    """A kernel, by the path of its file and its qualname."""

    path: str
    kernel: str


def changed_kernels(folder: str, ref: str, texts: Mapping[str, str]) -> list[Changed]:
    """In the order of their files. A kernel that the commit hasn't is changed.

    Args:
        folder: absolute; files below it are looked at.
        ref: what git takes for a commit.
        texts: of open documents, by path, in place of the files.

    Raises:
        SourceError: no git, no repository, no such commit.
    """
    differing = differing_files(folder, ref, texts)
    old = {path: text for path, text in differing.items() if text is not None}
    out: list[Changed] = []
    launched, helpers = set[tuple[str, str]](), set[tuple[str, str]]()  # a helper that nobody launches can't be optimized
    for path, kernel, program in _programs(folder, texts, set(differing)):
        launched |= {(path, kernel)} if program.hosts else set()
        helpers |= {(h.place.path, h.place.qualname) for h in program.helpers}
        if not any(p in differing for p in program.texts):
            continue
        try:
            before = find_program(Workspace.for_file(path, {**texts, **old}), path, kernel)
            if path in differing and path not in old:
                raise SourceError(f"{path} is new")
        except SourceError:  # it is new
            out.append(Changed(path, kernel))
            continue
        if form(before, alone=True) != form(program, alone=True):  # another kernel of its calls is in this list itself
            out.append(Changed(path, kernel))
    return sorted((c for c in out if (c.path, c.kernel) not in helpers - launched), key=lambda c: c.path)


def _programs(folder: str, texts: Mapping[str, str], differing: set[str]) -> Iterator[tuple[str, str, Program]]:
    """The kernels that a differing file can matter to: all of those files, and of the others those that mention one of them or are
    mentioned by one.
    """
    workspace = Workspace([folder], texts)
    names = {os.path.splitext(os.path.basename(p))[0] for p in differing}
    for path in workspace.files(folder):
        own = os.path.splitext(os.path.basename(path))[0]
        near = path in differing or any(workspace.mentions(path, n) for n in names) or any(workspace.mentions(d, own) for d in differing)
        if not near:
            continue
        try:
            for kernel in find_kernels(path, workspace.read(path)):
                name = kernel.place.qualname
                yield path, name, find_program(Workspace.for_file(path, texts), path, name)
        except SourceError:  # not Python at the moment
            continue
