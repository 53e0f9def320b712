"""The entry of a run: named, or the best that is there."""

from __future__ import annotations

import difflib
import os

from kernelband.errors import WorkloadError
from kernelband.source import Workspace, is_notebook, parse, value, walk
from kernelband.source.model import Program
from kernelband.workload.entries import Found, entries_of, find_entries, left_out
from kernelband.workload.permission import require_permission
from kernelband_worker.wire import Entry

HOW = "Name one with --entry FILE.py::NAME (a test, or a function without arguments that calls it)."


def choose_entry(workspace: Workspace, program: Program, named: str | None, *, measured: bool = False) -> Entry:
    """The named entry, or else the best: a pytest node, then a callable; where a GPU measures, a benchmark. A notebook without any is run.

    Raises:
        WorkloadError: the named one isn't there or may not run, or none was found.
    """
    if named:
        return _named(workspace, program, named)
    found = [f for f in find_entries(workspace, program) if not f.report]
    reaching = [f for f in found if f.reaches] or found
    path = program.kernel.place.path
    if not reaching and is_notebook(path):  # its cells run anyway, whoever imports it
        return _script(workspace, path)
    if not reaching:
        left = left_out(workspace, program)
        where = f" in a trusted folder ({left} isn't in one)" if left else ""
        raise WorkloadError(f"No test or bench function was found{where} that runs {program.kernel.place.name}. {HOW}", kind="no_entry")
    return min(enumerate(reaching), key=lambda x: (not x[1].near, _rank(x[1], measured), x[0]))[1].entry


def choose_sizes(workspace: Workspace, program: Program, entry: Entry) -> Entry | None:
    """A benchmark beside a test: its sizes are those that matter, where the test's are chosen for being odd and quick."""
    found = [f for f in find_entries(workspace, program) if f.reaches and not f.report]
    if not any(f.is_test and f.entry == entry for f in found):
        return None
    benches = [f for f in found if not f.is_test and f.entry["kind"] == "callable"]
    return min(benches, key=lambda f: not f.near).entry if benches else None


def choose_proof(workspace: Workspace, program: Program, entry: Entry) -> Entry:
    """What a winner must also pass: the entry itself if it is a test, else a test that leads to the kernel, else the entry."""
    tests = [f for f in find_entries(workspace, program) if f.is_test and f.reaches]
    if any(f.entry == entry for f in tests) or not tests:
        return entry
    return min(enumerate(tests), key=lambda x: (not x[1].near, x[1].entry["kind"] == "pytest", x[0]))[1].entry


def _rank(found: Found, measured: bool) -> int:
    if measured:
        return 1 if found.is_test else 0
    return 2 if not found.is_test else 0 if found.entry["kind"] == "pytest" else 1


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
        return _script(workspace, path)
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


def _script(workspace: Workspace, path: str) -> Entry:
    return {"kind": "script", "module": workspace.module_name(path), "path": path, "name": "__main__"}


def _only(workspace: Workspace, program: Program, path: str, named: str) -> Entry:
    """The best entry of a file that is named without one of its functions."""
    targets = frozenset({program.kernel.place.name} | {h.place.name for h in program.hosts})
    found = [f for f in entries_of(workspace, path, targets) if not f.report]
    if not found:
        raise WorkloadError(f"{named} holds no test or bench function. {HOW}", kind="no_entry")
    return next((f for f in found if f.reaches), found[0]).entry
