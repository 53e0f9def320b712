"""What could be run to see a kernel at work: read from the text, nothing is imported."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from attrs import evolve, frozen
from parso.python.tree import Class, Function, PythonNode
from parso.tree import NodeOrLeaf

from kernelband.source import Workspace, children, code, parse, value, walk
from kernelband.source.model import Program
from kernelband.workload.permission import may_run
from kernelband_worker.wire import Entry

FILE_PATTERNS = ("test_*.py", "*_test.py", "bench*.py", "*_bench.py", "*_benchmark.py")
TEST, BENCH = ("test",), ("bench",)
MOST_FILES = 50  # neighbouring test and bench files that are read


@frozen
class Found:
    """An entry that could be named. ``reaches``: its text leads to the kernel or a host function, as far as names tell. ``near``: it is in
    the kernel's file or in that of a host function.
    """

    entry: Entry
    reaches: bool
    near: bool = True
    report: bool = False  # a triton.testing.perf_report: only run when named

    @property
    def is_test(self) -> bool:
        return self.entry["name"].rpartition("::")[2].rpartition(".")[2].lower().startswith(TEST)


def find_entries(workspace: Workspace, program: Program) -> tuple[Found, ...]:
    """The entries of the kernel's own file, its host functions' files and neighbouring test and bench files, in this order; those that may
    be run (``permission``).
    """
    own, targets, modules = _about(workspace, program)
    out = [found for path in own if may_run(path) for found in entries_of(workspace, path, frozenset(targets))]
    for path in _neighbours(workspace, program.kernel.place.path, targets, modules):
        if path not in own and may_run(path):
            out += [evolve(found, near=False) for found in entries_of(workspace, path, frozenset(targets)) if found.reaches]
    return tuple(out)


def left_out(workspace: Workspace, program: Program) -> str | None:
    """A test or bench file that names the kernel and may not be run; None where there is none."""
    _, targets, modules = _about(workspace, program)
    return next((p for p in _neighbours(workspace, program.kernel.place.path, targets, modules) if not may_run(p)), None)


def _about(workspace: Workspace, program: Program) -> tuple[dict[str, None], set[str], set[str]]:
    """The program's own files, the names that lead to its kernel, and the modules that those come from."""
    targets = {program.kernel.place.name} | {h.place.name for h in program.hosts} | _owners(program)
    own = dict.fromkeys((program.kernel.place.path, *(h.place.path for h in program.hosts)))
    return own, targets, {workspace.module_name(path).rpartition(".")[2] for path in own}


def entries_of(workspace: Workspace, path: str, targets: frozenset[str] = frozenset()) -> Iterator[Found]:
    """The tests and benchmarks of one file, in source order. ``targets`` are the names that they should lead to."""
    text = workspace.read(path)
    module = workspace.module_name(path)
    definitions = list(_definitions(children(parse(text))))
    uses = {_name(node): {value(n) for n in walk(node) if n.type == "name"} for node, _ in definitions}
    reaching = _reaching(uses, targets)
    for node, decorators in definitions:
        name = _name(node)
        if isinstance(node, Class):
            if name.startswith("Test"):
                for method, _ in _definitions(children(children(node)[-1])):
                    if isinstance(method, Function) and _name(method).startswith("test"):
                        yield Found(_entry("pytest", module, path, f"{name}::{_name(method)}"), name in reaching)
            continue
        if not name.lower().startswith(TEST + BENCH):
            continue
        report = "perf_report" in decorators
        pytest = "pytest" in decorators or (bool(required(node)) and name.startswith("test"))
        if required(node) and not (pytest or report):
            continue
        yield Found(_entry("pytest" if pytest else "callable", module, path, name), name in reaching, report=report)


def required(function: Function) -> list[str]:
    """Names of the parameters without default."""
    return [p.name.value for p in function.get_params() if p.default is None and not p.star_count and p.name.value not in ("self", "cls")]


def _definitions(nodes: list[NodeOrLeaf]) -> Iterator[tuple[Function | Class, str]]:
    """Top-level functions and classes with the text of their decorators, also below ``if`` and ``try``."""
    for node in nodes:
        if isinstance(node, PythonNode) and node.type == "decorated":
            decorators, inner = code(children(node)[0]), children(node)[-1]
            if inner.type in ("async_stmt", "async_funcdef"):
                continue
            if isinstance(inner, Function | Class):
                yield inner, decorators
        elif isinstance(node, Function | Class):
            yield node, ""
        elif node.type in ("if_stmt", "try_stmt", "suite", "simple_stmt"):
            yield from _definitions(children(node))


def _name(node: Function | Class) -> str:
    return node.name.value


def _reaching(uses: dict[str, set[str]], targets: frozenset[str]) -> set[str]:
    """Definitions that use a target, directly or through other definitions of the file."""
    reaching = {name for name, used in uses.items() if name in targets or used & targets}
    while True:
        more = {name for name, used in uses.items() if name not in reaching and used & reaching}
        if not more:
            return reaching
        reaching |= more


def _owners(program: Program) -> set[str]:
    """The classes whose methods launch the kernel: a test names the class."""
    return {h.place.qualname.partition(".")[0] for h in program.hosts if "." in h.place.qualname and "<locals>" not in h.place.qualname}


def _neighbours(workspace: Workspace, near: str, targets: set[str], modules: set[str]) -> Iterator[str]:
    """Test and bench files that name a target and a module that it could come from (or its package, which is a folder's name)."""
    modules = modules | {Path(near).parent.name}
    count = 0
    for path in workspace.files(near):
        if any(fnmatch(Path(path).name, p) for p in FILE_PATTERNS) and all(
            any(workspace.mentions(path, word) for word in words) for words in (targets, modules)
        ):
            yield path
            count += 1
            if count >= MOST_FILES:
                return


def _entry(kind: str, module: str, path: str, name: str) -> Entry:
    return {"kind": kind, "module": module, "path": path, "name": name}
