"""Entries one after the other, until one of them launches the kernel within the time."""

from __future__ import annotations

import time
from pathlib import Path

from attrs import evolve

from kernelband.errors import ExecutorFault, WorkloadError
from kernelband.source import Workspace
from kernelband.source.model import Program
from kernelband.workload.capture import ENTRY_S, WITHIN_S, Captured, capture_cases
from kernelband.workload.choose import Choice, choose_sizes
from kernelband.workload.fallback import Executor
from kernelband_worker.wire import Entry

LEAST_S = 5.0  # that an entry gets
#: Why another entry may do what this one didn't.
NEXT = ("import_failed", "entry_failed", "never_launches", "generated", "not_replayable")


def capture_first(
    executor: Executor,
    workspace: Workspace,
    program: Program,
    choice: Choice,
    *,
    lock: str | None = None,
    brief: bool = False,
    predicting: bool = False,
    sizes: bool = False,
    entry_s: float = ENTRY_S,
    within_s: float = WITHIN_S,
) -> Captured:
    """The capture of the first entry that launches the kernel; ``Captured.entry`` says which.

    Each further try takes a fresh process, and all of them together take no longer than one entry may: as long as others wait, one of them
    gets half of what is left, importing left aside: the next one would have to import the same.

    Args:
        executor: as of ``capture_cases``, and ``workspace``, ``program``, ``lock``, ``brief`` and ``predicting``, too.
        workspace: names the modules.
        program: the kernel with its host functions.
        choice: what to try, in this order.
        lock: of the GPU.
        brief: only what compiling needs.
        predicting: nothing will be measured.
        sizes: also run a benchmark once that stands beside the entry.
        entry_s: seconds for all tries, until one of them has launched the kernel.
        within_s: as of ``capture_cases``, for all tries.

    Raises:
        WorkloadError: of the only entry; of several, one sentence about each.
        ExecutorFault: of the only entry.
    """
    entries = (choice.entry, *choice.others)
    begin = time.monotonic()
    deadline = begin + entry_s
    failed: list[tuple[Entry, WorkloadError | ExecutorFault]] = []
    for entry in entries:
        left = deadline - time.monotonic()
        if failed and left < LEAST_S:
            break
        if failed:
            executor.restart()
        last = len(failed) + 1 == len(entries)
        larger = choose_sizes(workspace, program, entry, choice.there) if sizes else None
        seconds = left if last else max(left / 2, min(left, LEAST_S))
        try:
            found = capture_cases(
                executor,
                workspace,
                program,
                entry,
                lock=lock,
                brief=brief,
                predicting=predicting,
                sizes=larger,
                entry_s=seconds,
                at_most_s=left,
                within_s=max(LEAST_S, within_s - (time.monotonic() - begin)),
            )
        except (WorkloadError, ExecutorFault) as error:
            if not choice.others or not (isinstance(error, ExecutorFault) or error.kind in NEXT):
                raise
            if error.kind == "generated" and not program.launches:
                raise  # nobody launches it but text that isn't there before the program runs
            failed.append((entry, error))
        else:
            return evolve(found, notes=(*_told(program, choice, entry, failed), *found.notes))
    if len(failed) == 1:
        raise failed[0][1]
    raise _nothing(program, entries, failed)


def _told(program: Program, choice: Choice, entry: Entry, failed: list[tuple[Entry, WorkloadError | ExecutorFault]]) -> list[str]:
    """What a person should know of an entry that they didn't name."""
    notes: list[str] = []
    if failed:
        tried = _reasons(failed)
        notes.append(f"{entry['name']} of {Path(entry['path']).name} is the entry, since others don't work: {tried}.")
    if entry["kind"] == "script" and not choice.named:
        name = program.kernel.place.name
        notes.append(f"No test or benchmark was found for {name}, so {Path(entry['path']).name} is run as a script.")
    return notes


def _nothing(program: Program, entries: tuple[Entry, ...], failed: list[tuple[Entry, WorkloadError | ExecutorFault]]) -> WorkloadError:
    tried = _reasons(failed)
    rest = len(entries) - len(failed)
    out_of_time = f"; there was no time for {rest} more" if rest else ""
    first = failed[0][1]
    return WorkloadError(
        f"No entry that was found runs {program.kernel.place.name}: {tried}{out_of_time}. Name one that does with --entry FILE.py::NAME.",
        detail="\n\n".join(dict.fromkeys(error.detail for _, error in failed if error.detail)),
        kind=first.kind or "entry_failed",
    )


def _reasons(failed: list[tuple[Entry, WorkloadError | ExecutorFault]]) -> str:
    """Errors' sentences as parts of another one, what is the same of several entries (a failing import, say) once."""
    alike: dict[str, list[str]] = {}
    for entry, error in failed:
        who, said = f"{entry['name']} ({Path(entry['path']).name})", _reason(entry, error)
        key, who = (said, who) if said.startswith(":") else (f"{who}{said}", "")
        alike.setdefault(key, []).append(who)
    return "; ".join(f"{', '.join(filter(None, who))}{said}" for said, who in alike.items())


def _reason(entry: Entry, error: WorkloadError | ExecutorFault) -> str:
    """An error's sentence as what follows its entry's name: without its full stop, and without an advice that is given once for all."""
    said = error.message.partition(". Name ")[0].partition(": name ")[0].strip().rstrip(".")
    start = f"The entry {entry['name']} "
    return f" {said.removeprefix(start)}" if said.startswith(start) else f": {said}"
