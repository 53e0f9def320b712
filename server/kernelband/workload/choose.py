"""The entry of a run: named, or the best that is there."""

from __future__ import annotations

import difflib
import os
import shlex

from attrs import field, frozen

from kernelband.errors import SourceError, WorkloadError
from kernelband.source import Workspace, find_kernels, is_notebook, parse, value, walk
from kernelband.source.model import Program
from kernelband.workload.entries import Entries, Found, entries_of, look, script_of
from kernelband.workload.permission import require_permission
from kernelband_worker.wire import Entry

HOW = "Name one with --entry FILE.py::NAME (a test, or a function without arguments that calls it)."
WRITE = "Write a test, or a function without arguments that calls it and whose name starts with bench_."
MOST_TRIED = 4
MOST_NAMED = 3  # of the kernels that call another


@frozen
class Choice:
    """What is run to see a kernel at work: ``entry``, and where it doesn't launch the kernel one after the other of ``others``. One that
    was ``named`` has none. ``there``: what could be run, where it was looked for.
    """

    entry: Entry
    others: tuple[Entry, ...] = ()
    named: bool = False
    there: Entries | None = field(default=None, eq=False, repr=False)


def choose(workspace: Workspace, program: Program, named: str | None, *, measured: bool = False, there: Entries | None = None) -> Choice:
    """The named entry, or else the nearest test, then a benchmark; where a GPU measures, a benchmark first. Then a perf_report, then a
    file that is run as a script. A notebook without any is run. ``there``: of an earlier choice, so that the workspace isn't read again.

    Raises:
        WorkloadError: the named one isn't there or may not run, or none was found.
    """
    if named:
        return Choice(_named(workspace, program, named), named=True)
    users = _users(workspace, program)
    if users and all(users) and not program.hosts:  # whatever is run, it isn't launched
        raise _no_entry(workspace, program, None)
    there = there or look(workspace, program)
    path = program.kernel.place.path
    functions = sorted((f for f in there.functions if f.reaches), key=lambda f: (f.report, not f.near, *_rank(f, measured), f.nearness))
    found = [f.entry for f in functions] or [f.entry for f in there.scripts]
    if not found:  # what its own files test, though by no name that leads to the kernel
        found = [f.entry for f in sorted((f for f in there.functions if not f.report), key=lambda f: _rank(f, measured))]
    if not found and is_notebook(path):  # its cells run anyway, whoever imports it
        found = [script_of(workspace, path)]
    if not found:
        raise _no_entry(workspace, program, there.left_out)
    return Choice(found[0], tuple(_varied(found))[1:MOST_TRIED], there=there)


def choose_entry(workspace: Workspace, program: Program, named: str | None, *, measured: bool = False) -> Entry:
    """The first of ``choose``.

    Raises:
        WorkloadError: as there.
    """
    return choose(workspace, program, named, measured=measured).entry


def choose_sizes(workspace: Workspace, program: Program, entry: Entry, there: Entries | None = None) -> Entry | None:
    """A benchmark beside a test: its sizes are those that matter, where the test's are chosen for being odd and quick. ``there``: as of
    ``choose``.
    """
    found = [f for f in (there or look(workspace, program)).functions if f.reaches and not f.report]
    if not any(f.is_test and f.entry == entry for f in found):
        return None
    benches = [f for f in found if not f.is_test and f.entry["kind"] == "callable"]
    return benches[0].entry if benches else None


def choose_proof(workspace: Workspace, program: Program, entry: Entry, there: Entries | None = None) -> Entry:
    """What a winner must also pass: the entry itself if it is a test, else a test that leads to the kernel, else the entry. What it imports
    is found by the workspace from then on.

    ``there``: as of ``choose``.
    """
    proof = _proof(there or look(workspace, program), entry)
    workspace.search_beside(proof["path"], script=proof["kind"] == "script")
    return proof


def _proof(there: Entries, entry: Entry) -> Entry:
    tests = [f for f in there.functions if f.is_test and f.reaches]
    if any(f.entry == entry for f in tests) or not tests:
        return entry
    return min(tests, key=lambda f: (not f.near, f.entry["kind"] == "pytest")).entry


def _no_entry(workspace: Workspace, program: Program, left_out: str | None) -> WorkloadError:
    """Why there is no entry, and what to do about it."""
    name = program.kernel.place.name
    if left_out:
        said = f"No test or bench function was found in a trusted folder ({left_out} isn't in one) that runs {name}."
    elif program.hosts:
        copy = _copy(workspace, program)
        other = f" of {program.kernel.place.path}; {copy} has another one of that name" if copy else ""
        said = f"No test or bench function was found that runs {name}{other}."
    elif _users(workspace, program):
        return WorkloadError(_not_launched(workspace, program), kind="no_entry", terminal=HOW)
    else:
        said = f"No code was found that launches {name}, and no kernel calls it."
    target = f"{os.path.relpath(program.kernel.place.path)}::{program.kernel.place.qualname}"
    return WorkloadError(f"{said} {WRITE}", kind="no_entry", terminal=f"`kernelband entry {shlex.quote(target)}` drafts one. {HOW}")


def _not_launched(workspace: Workspace, program: Program) -> str:
    """Of a kernel that is used other than by a launch."""
    name = program.kernel.place.name
    callers = [user for user in _users(workspace, program) if user]
    if not callers:
        return f"No code was found that launches {name}, and no kernel calls it. {WRITE}"
    named = ", ".join(callers[:MOST_NAMED]) + (f", {len(callers) - MOST_NAMED} more" if len(callers) > MOST_NAMED else "")
    call, them = ("call", "one of them") if len(callers) > 1 else ("calls", "that one")
    return f"No code was found that launches {name}: {named} {call} it, so optimize {them}."


def _users(workspace: Workspace, program: Program) -> list[str]:
    """What uses the kernel other than by a launch, each once: kernels with their files, and "" for anything else."""
    found: dict[str, None] = {}
    for path, line in program.handed_on:
        text, around = workspace.read(path), ""
        for kernel in find_kernels(path, text):
            first, last = (text.count("\n", 0, at) + 1 for at in (kernel.span.start, kernel.span.end))
            if first <= line <= last and kernel.place != program.kernel.place:
                around = f"{kernel.place.qualname} ({os.path.basename(path)})"
        found[around] = None
    return list(found)


def _copy(workspace: Workspace, program: Program) -> str:
    """The file and line of another kernel of the same name, as tests have that launch a copy; "" where there is none."""
    here = program.kernel.place
    for path in workspace.files(here.path):
        if path == here.path or not workspace.mentions(path, f"def {here.name}("):
            continue
        try:
            text = workspace.read(path)
        except SourceError:  # no readable source: nothing of it is launched
            continue
        found = next((k for k in find_kernels(path, text) if k.place.name == here.name), None)
        if found is not None:
            return f"{path} (line {found.line})"
    return ""


def _rank(found: Found, measured: bool) -> tuple[bool, bool]:
    """Where a GPU measures, benchmarks first, but for those of other kernels that come by this one."""
    return (found.of_others, found.is_test) if measured else (False, not found.is_test)


def _varied(found: list[Entry]) -> list[Entry]:
    """In their order, but no third of a file before the first of others: what stops one test often stops its neighbours."""
    seen: dict[str, int] = {}
    rounds: list[tuple[int, int]] = []
    for at, entry in enumerate(found):
        seen[entry["path"]] = seen.get(entry["path"], 0) + 1
        rounds.append((max(0, seen[entry["path"]] - 2), at))
    return [found[at] for _, at in sorted(rounds)]


def _named(workspace: Workspace, program: Program, named: str) -> Entry:
    first, _, rest = named.partition("::")
    file, name = (first, rest) if first.endswith(".py") or is_notebook(first) else ("", named)
    path = os.path.realpath(file) if file else program.kernel.place.path
    if is_notebook(path) and path != program.kernel.place.path:
        raise WorkloadError(f"{file} is another notebook than the kernel's, so it can't be the entry: name a .py file.", kind="no_entry")
    if not workspace.has(path):
        raise WorkloadError(f"The entry's file {file} doesn't exist: check --entry {named}.", kind="no_entry")
    require_permission(path)
    module = workspace.module_name(path)
    if name in ("__main__", ""):
        if not name:
            return _only(workspace, program, path, named)
        return script_of(workspace, path)
    found = {f.entry["name"]: f for f in entries_of(workspace, path)}
    plain = name.partition("[")[0]
    if "[" in name or (plain in found and found[plain].entry["kind"] == "pytest"):
        return {"kind": "pytest", "module": module, "path": path, "name": name}
    if name in found:
        return found[name].entry
    if "::" in name:
        return {"kind": "pytest", "module": module, "path": path, "name": name}
    if name.partition(".")[0] not in {value(n) for n in walk(parse(workspace.read(path))) if n.type == "name"}:
        close = difflib.get_close_matches(name, list(found), 3)
        there = f" Did you mean {', '.join(close)}?" if close else f" It has {', '.join(found)}." if found else ""
        raise WorkloadError(f"There is no {name} in {path}.{there}", kind="no_entry")
    return {"kind": "callable", "module": module, "path": path, "name": name}


def _only(workspace: Workspace, program: Program, path: str, named: str) -> Entry:
    """The best entry of a file that is named without one of its functions."""
    there = look(workspace, program)
    reaching = [f for f in (*there.functions, *there.scripts) if f.reaches and f.entry["path"] == path]
    found = reaching or [f for f in entries_of(workspace, path) if not f.report]
    if not found:
        raise WorkloadError(f"{named} holds no test or bench function. {HOW}", kind="no_entry")
    return min(found, key=lambda f: f.report).entry
