"""The kernels of a folder that a branch has touched: whose kernel, helpers, host functions or what those read isn't what it was."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from attrs import frozen

from kernelband.errors import SourceError
from kernelband.source import Workspace, differing_files, find_kernels, find_program, form
from kernelband.source.model import Program


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
        if form(before) != form(program):
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
