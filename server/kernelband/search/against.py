"""What an edit is judged against: the kernel as it was saved, as it is in a file, or as it was committed."""

from __future__ import annotations

import os
from collections.abc import Mapping

from attrs import evolve

from kernelband.errors import SourceError, UsageError
from kernelband.history.records import BEFORE, SAVED
from kernelband.search.options import Options
from kernelband.search.start import entry_file
from kernelband.source import Workspace, committed_text, find_program, form, require_parsable
from kernelband.source.model import Program

HEAD = "HEAD"


def given_edit(options: Options, against: str | None, before: Mapping[str, str] | None = None) -> Options:
    """Options that judge the text at hand (``options.overlays`` over the disk), as one variant of an original.

    Files of the program (kernel, helpers, host functions) are those of the original; all others are as they are now on both sides.

    Args:
        options: of the text at hand.
        against: a file, whose text the kernel's own file had, or a commit. None: the saved files where an unsaved text differs from them,
            else HEAD.
        before: texts of the original, by path, where it is neither. A file that isn't among them is as it is now.

    Raises:
        SourceError: there is no such original, or the kernel isn't in it.
        UsageError: the edit changes nothing of the kernel, or there are two originals.
    """
    if before and against is not None:
        raise UsageError("The original is given twice: give --against or --against-overlay.")
    now = _program(options, options.overlays)
    if against is None:
        against = BEFORE if before else SAVED if _is_unsaved(options, now) else HEAD
    old = {options.path: now.texts[options.path], **before} if before else _texts(now, against, options.path)
    original = _original(options, old, against, now.kernel.place.qualname)
    if form(original) == form(now):
        raise UsageError(
            f"{now.kernel.place.qualname} is the same as in {against}, with its host functions, so there is nothing to verify: "
            "edit it, or name another original with --against."
        )
    texts = {path: old[path] for path in original.texts if path in old}
    overlays = {**options.overlays, **texts}
    edited = {path: now.texts[path] for path in texts if path in now.texts and now.texts[path] != texts[path]}
    return evolve(options, kernel=now.kernel.place.qualname, overlays=overlays, edited=edited, against=against, trials=1, seconds=None)


def _is_unsaved(options: Options, now: Program) -> bool:
    """Whether the text at hand differs from the saved one in what matters to the kernel."""
    saved = _known({path: _saved(path) for path in options.overlays if path in now.texts})
    if all(saved.get(path) == text for path, text in now.texts.items() if path in options.overlays):
        return False
    try:
        before = _program(evolve(options, kernel=now.kernel.place.qualname), {**options.overlays, **saved})
    except SourceError:  # what is saved is no program: then it is no original either
        return False
    return form(before) != form(now)


def _texts(now: Program, against: str, kernel_path: str) -> dict[str, str]:
    """The program's files as they were; those that the original hasn't are left as they are."""
    if against == SAVED:
        return _known({path: _saved(path) for path in now.texts})
    if os.path.isfile(against):
        return {kernel_path: Workspace.for_file(against).read(against)}
    return _known({path: committed_text(path, against) for path in now.texts})


def _known(texts: Mapping[str, str | None]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if text is not None}


def _saved(path: str) -> str | None:
    return Workspace.for_file(path).read(path) if os.path.isfile(path) else None


def _original(options: Options, old: Mapping[str, str], against: str, kernel: str) -> Program:
    if options.path not in old:
        raise SourceError(f"{options.path} is not in {against}, so there is nothing to compare with: name another original with --against.")
    require_parsable(old[options.path], f"{options.path} ({against})")
    try:
        return _program(evolve(options, kernel=kernel), {**options.overlays, **old})
    except SourceError as error:
        raise SourceError(f"The original of {kernel} can't be found in {against}: {error.message}") from error


def _program(options: Options, overlays: Mapping[str, str]) -> Program:
    workspace = Workspace.for_file(options.path, overlays, entry=entry_file(options.entry, options.path))
    require_parsable(workspace.read(options.path), options.path)
    program = find_program(workspace, options.path, options.kernel)
    for path, text in program.texts.items():
        require_parsable(text, path)
    return program
