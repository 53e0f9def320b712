"""What could be run to see a kernel at work: read from the text, nothing is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve, field, frozen
from parso.python.tree import Function

from kernelband.errors import SourceError
from kernelband.source import Workspace, children, parse
from kernelband.source.model import Program
from kernelband.workload.leads import Leads, find_leads, is_entry_file, is_test_file
from kernelband.workload.nearness import Likeness, far_apart
from kernelband.workload.outline import Block, outline, signature
from kernelband.workload.permission import may_run
from kernelband_worker.wire import Entry

TEST, BENCH = ("test",), ("bench",)
MOST_FILES = 50  # in which entries are looked for, beside the kernel's own: those most like it by name, and nearest
UNLIKELY = 4.0  # steps that count for what may not run by itself: skipped, over several processes, with arguments of a command line
_SKIPPED = re.compile(r"@[\w.]*\bskip\b(?!if)")
_SEVERAL = re.compile(r"\b(?:mp|multiprocessing)\b[\w.]*\.spawn|\bworld_size\b|\binit_process_group\b|\btorchrun\b")
_NEEDS_ARGUMENTS = re.compile(r"""add_argument\(\s*["'][^-"'][^)]*\)|add_argument\([^)]*required\s*=\s*True""")
_BACKWARD = re.compile(r"bwd|backward|grad", re.IGNORECASE)
_GOES_BACK = re.compile(r"backward|(?<!requires_)(?<!no_)grad", re.IGNORECASE)
_MARK = re.compile(r"\bmark\.(\w+)")
_TESTS_ITSELF = re.compile(r"\b(?:pytest|unittest)\.main\b")
_SETUP = re.compile(r"@[\w.]*fixture|\bdef (?:setUp|setUpClass|setup_method|setup_class|__init__)\b")


@frozen
class Found:
    """An entry that could be named. ``reaches``: its text leads to the kernel or a host function, as far as names tell, over so many
    ``steps``. ``near``: it is in the kernel's file or in that of a host function.
    """

    entry: Entry
    reaches: bool
    near: bool = True
    report: bool = False  # a triton.testing.perf_report
    marks: tuple[str, ...] = ()  # pytest's
    steps: float = 0.0
    likeness: tuple[float, float] = (0.0, 0.0)  # of its file's name, then of its own, to the kernel's module
    apart: int = 0  # folders between it and the kernel
    of_others: bool = False  # it says what it is about, and nothing of that is in the kernel's names

    @property
    def is_test(self) -> bool:
        """Whether it checks something, by its name; a benchmark that pytest runs doesn't."""
        name = self.entry["name"].rpartition("::")[2].rpartition(".")[2].lower()
        return name.startswith(TEST) and not any(p.lower().startswith(BENCH) for p in Path(self.entry["path"]).parts[-3:])

    @property
    def nearness(self) -> tuple[bool, float, float, float, int]:
        """Smaller is nearer."""
        file, own = self.likeness
        return (not self.near, -file, self.steps - own, -own, self.apart)


@frozen
class Entries:
    """``functions``: tests and benchmarks, the nearest first. ``scripts``: files that run the kernel when they are run themselves.
    ``left_out``: a file that leads to the kernel and may not be run.
    """

    functions: tuple[Found, ...] = ()
    scripts: tuple[Found, ...] = ()
    left_out: str | None = field(default=None)


def find_entries(workspace: Workspace, program: Program) -> tuple[Found, ...]:
    """The tests and benchmarks of the kernel's own file, its host functions' files, and those of the workspace whose text leads to it, the
    nearest first; those that may be run (``permission``).
    """
    return look(workspace, program).functions


def look(workspace: Workspace, program: Program) -> Entries:
    """Everything that could be run, from one walk over the workspace."""
    leads = find_leads(workspace, program)
    kernel = program.kernel.place.path
    own = dict.fromkeys((kernel, *(h.place.path for h in program.hosts)))
    likeness = Likeness.to(program)
    far = sorted(
        (p for p in leads.files if p not in own and _nameable(workspace, p)), key=lambda p: (-likeness.of_file(p), far_apart(p, kernel), p)
    )
    allowed = [p for p in (*own, *far) if may_run(p)]
    functions: list[Found] = []
    for path in [p for p in allowed if p in own or is_entry_file(p)][: len(own) + MOST_FILES]:
        found = [f for f in entries_of(workspace, path, leads, backward=_goes_back(program)) if f.reaches or path in own]
        functions += [
            evolve(
                f,
                near=path in own,
                likeness=(likeness.of_file(path), likeness.of_name(f.entry["name"], f.marks)),
                apart=far_apart(path, kernel),
                of_others=likeness.has_nothing_of(path, f.entry["name"], f.marks),
            )
            for f in found
        ]
    scripts = [
        evolve(f, near=p in own, likeness=(likeness.of_file(p), 0.0), apart=far_apart(p, kernel))
        for p in allowed
        for f in _scripts(workspace, p, leads, own=p in own)
    ]
    left_out = next((p for p in far if not may_run(p) and is_entry_file(p)), None)
    functions.sort(key=lambda f: (not f.reaches, f.nearness))
    scripts.sort(key=lambda f: f.nearness)
    return Entries(tuple(functions), tuple(scripts), left_out)


def entries_of(workspace: Workspace, path: str, leads: Leads | None = None, *, backward: bool = False) -> Iterator[Found]:
    """The tests and benchmarks of one file, in source order.

    Args:
        workspace: reads the text.
        path: the file.
        leads: what leads to the kernel; without it nothing does.
        backward: it is a kernel of a backward pass: a test that has none is less likely to launch it.
    """
    known = leads or Leads()
    module = workspace.module_name(path)
    blocks = outline(workspace.read(path)).blocks
    by_name = {b.name: b for b in blocks if b.kind in ("def", "class")}
    for block in blocks:
        steps = known.steps(path, block)
        if block.kind == "class" and _is_test_class(block, by_name):
            methods = _methods(block, by_name)
            reaching = _reaching_methods(methods, known.files.get(path, {}))
            for method in (m for m in methods if m.kind == "def" and m.name.startswith("test")):
                reaches = steps is not None and method.name in reaching
                weighed = _weighed(steps, method, backward)
                entry = _entry("pytest", module, path, f"{block.name}::{method.name}")
                yield Found(entry, reaches, steps=weighed, marks=_marks(block, method))
        report = "perf_report" in block.decorators
        if block.kind != "def" or not (report or block.name.lower().startswith(TEST + BENCH)):
            continue
        needed = bool(required(block))
        pytest = "pytest" in block.decorators or (needed and block.name.startswith("test"))
        if not needed or pytest or report:
            kind = "pytest" if pytest else "callable"
            called = needed and not block.decorators and any(f"{block.name}(" in b.text for b in blocks if b is not block)
            weighed = _weighed(steps, block, backward) + (UNLIKELY if called else 0.0)  # it is given its arguments there, not by pytest
            entry = _entry(kind, module, path, block.name)
            yield Found(entry, steps is not None, report=report, steps=weighed, marks=_marks(block))


def required(block: Block) -> list[str]:
    """Names of a function's parameters without default."""
    function = children(parse(signature(block)))[0]
    params = function.get_params() if isinstance(function, Function) else []
    return [p.name.value for p in params if p.default is None and not p.star_count and p.name.value not in ("self", "cls")]


def script_of(workspace: Workspace, path: str) -> Entry:
    """The file itself, run as a script is."""
    return _entry("script", workspace.module_name(path), path, "__main__")


# ------------------------------------------------------------ what leads to the kernel


def _weighed(steps: float | None, block: Block, backward: bool) -> float:
    """The steps, and more for what may not launch the kernel after all."""
    more = UNLIKELY if _SKIPPED.search(block.decorators) or _SEVERAL.search(block.text) else 0.0
    if backward and not _GOES_BACK.search(block.text):
        more += 0.5 if "requires_grad" in block.text else 1.5  # the function that it hands them to may go back
    return (steps or 0.0) + more


def _marks(*blocks: Block) -> tuple[str, ...]:
    return tuple(mark for block in blocks for mark in _MARK.findall(block.decorators))


def _goes_back(program: Program) -> bool:
    names = (program.kernel.place.name, *(h.place.name for h in program.hosts))
    return any(_BACKWARD.search(n) for n in names[:1]) or (len(names) > 1 and all(_BACKWARD.search(n) for n in names[1:]))


def _scripts(workspace: Workspace, path: str, leads: Leads, *, own: bool) -> Iterator[Found]:
    """The file as a script, where its part for being run, or what it does when it is loaded, leads to the kernel."""
    live = leads.files.get(path, {})
    text = workspace.read(path)
    for block in outline(text).blocks:
        steps = leads.steps(path, block)
        runs = (block.kind == "main" and not _TESTS_ITSELF.search(block.text)) or (
            block.kind in ("bound", "other") and (own or (is_entry_file(path) and not is_test_file(path))) and _calls(block, live)
        )
        if steps is not None and runs:
            yield Found(script_of(workspace, path), True, steps=steps + (UNLIKELY if _NEEDS_ARGUMENTS.search(text) else 0.0))
            return


def _calls(block: Block, live: dict[str, float]) -> bool:
    words = [re.escape(w) for w in live.keys() & block.uses if w[0] not in '."']
    return bool(words) and re.search(rf"(?<![\w.])(?:{'|'.join(words)})(?:\.\w+)*\s*[\[(]", block.text) is not None


def _is_test_class(block: Block, by_name: dict[str, Block]) -> bool:
    return block.name.startswith("Test") or any("TestCase" in base.header for base in (block, *_bases(block, by_name)))


def _bases(block: Block, by_name: dict[str, Block], depth: int = 4) -> Iterator[Block]:
    """The classes of the same file that a class is made from."""
    for name in re.findall(r"\w+", block.header.partition("(")[2]) if depth else []:
        base = by_name.get(name)
        if base is not None and base.kind == "class" and base is not block:
            yield base
            yield from _bases(base, by_name, depth - 1)


def _methods(block: Block, by_name: dict[str, Block]) -> list[Block]:
    """What is in a class, and then what it has from its bases in this file."""
    found = {b.name: b for part in (block, *_bases(block, by_name)) for b in reversed(part.body) if b.name}
    order = [b.name for part in (block, *_bases(block, by_name)) for b in part.body if b.name]
    return [found[name] for name in dict.fromkeys(order)]


def _reaching_methods(methods: list[Block], live: dict[str, float]) -> set[str]:
    """The methods that lead to the kernel, directly or through others; all of them where what sets the tests up does, or none by itself."""
    reaching = {m.name for m in methods if not live.keys().isdisjoint(m.uses)}
    while True:
        asked = {f"{who}.{name}" for name in reaching for who in ("self", "cls")}
        more = {m.name for m in methods if m.name not in reaching and not asked.isdisjoint(m.uses)}
        if not more:
            break
        reaching |= more
    every = {m.name for m in methods}
    if not any(name.startswith("test") for name in reaching):
        return every
    return every if any(m.name in reaching and _SETUP.search(m.text) for m in methods) else reaching


# ------------------------------------------------------------ around it


def _nameable(workspace: Workspace, path: str) -> bool:
    """Whether the file can be imported under its name."""
    try:
        workspace.module_name(path)
    except SourceError:
        return False
    return True


def _entry(kind: str, module: str, path: str, name: str) -> Entry:
    return {"kind": kind, "module": module, "path": path, "name": name}
