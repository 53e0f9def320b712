"""Capture: the entry runs once per input set in an executor, and cases come out (JUDGING, section 1)."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from kernelband.source import Workspace
from kernelband.source.model import Place, Program
from kernelband.workload.fallback import Executor, capture_somewhere
from kernelband_worker.wire import CaptureParams, CaptureResult, Case, Entry, Function

ENTRY_S = 60.0  # until an entry has launched the kernel
WITHIN_S = 60.0  # for all of it, once it has
SHARE = 1 / 3  # of the seconds of a run, at most
DISTINCT_CASES = 16
INPUT_SETS = 3
PROGRAMS = 64  # sampled per launch where it is interpreted
BRIEF_PROGRAMS = 16
AROUND_S = 120.0  # until a capture that doesn't keep to its time is ended


@frozen
class Captured:
    """``cases`` that can be replayed, ``refused`` ones with their reasons, and what a person should know."""

    cases: tuple[Case, ...]
    refused: tuple[Case, ...]
    notes: tuple[str, ...]
    out_of_bounds: tuple[dict[str, Any], ...]
    result: CaptureResult
    entry: Entry  # that was run
    sizes: Entry | None = None  # that was run as well, for its sizes


def within(budget_s: float | None) -> float:
    """Seconds that recording may take of a run of so many; None: of one of trials only."""
    return WITHIN_S if budget_s is None else min(WITHIN_S, SHARE * budget_s)


def modules_of(workspace: Workspace, program: Program, entry: Entry) -> list[str]:
    """What the kernel's and its host functions' modules are called where the entry runs.

    Raises:
        SourceError: one can't be imported.
    """
    workspace.search_beside(entry["path"], script=entry["kind"] == "script")
    places = [program.kernel.place, *(h.place for h in program.hosts if h.kind != "module")]
    return list(dict.fromkeys(workspace.module_name(p.path) for p in places))


def capture_cases(
    executor: Executor,
    workspace: Workspace,
    program: Program,
    entry: Entry,
    *,
    lock: str | None = None,
    brief: bool = False,
    predicting: bool = False,
    sizes: Entry | None = None,
    entry_s: float = ENTRY_S,
    at_most_s: float = ENTRY_S,
    within_s: float = WITHIN_S,
) -> Captured:
    """Run the entry and record how the program calls the kernel.

    Args:
        executor: a fresh one, of role gpu or cpu.
        workspace: names the modules.
        program: the kernel with its host functions.
        entry: what to run.
        lock: the GPU whose lock is held meanwhile: shares of device time are measured.
        brief: only what compiling and traffic need: one input set, no neighbouring sizes, fewer programs.
        predicting: nothing will be measured: one input set, and fewer programs.
        sizes: an entry with larger sizes, that is run once as well.
        entry_s: seconds within which the entry must have launched the kernel, once what it needs is imported.
        at_most_s: those with importing.
        within_s: seconds for recording and replaying, as far as that is possible.

    Raises:
        WorkloadError: the entry fails, never launches the kernel, or nothing of it can be replayed.
        ExecutorFault: it hung or died.
    """
    workspace.search_beside(entry["path"], script=entry["kind"] == "script")

    def function(place: Place) -> Function:
        return {"module": workspace.module_name(place.path), "path": place.path, "qualname": place.qualname}

    params: CaptureParams = {
        "entry": entry,
        "kernel": function(program.kernel.place),
        "hosts": [function(h.place) for h in program.hosts if h.kind != "module"],
        "seconds": entry_s,
        "at_most_s": at_most_s,
        "within_s": within_s,
        "distinct_cases": DISTINCT_CASES,
        "input_sets": 1 if brief or predicting else INPUT_SETS,
        "programs": BRIEF_PROGRAMS if brief or predicting else PROGRAMS,
        "neighbours": not brief,
        "sizes": sizes,
    }
    deadline = at_most_s + within_s + AROUND_S
    result, elsewhere = capture_somewhere(executor, params, deadline, lock)
    cases = tuple(c for c in result["cases"] if c["replayable"])
    refused = tuple(c for c in result["cases"] if not c["replayable"])
    notes = [*elsewhere, *result.get("notes", [])]
    if result["truncated"]:
        notes.append(result["truncated"])
    notes += [f"Left out: {c['arguments']}: {c['reason']}" for c in refused]
    return Captured(cases, refused, tuple(notes), tuple(result["out_of_bounds"]), result, entry, sizes)
