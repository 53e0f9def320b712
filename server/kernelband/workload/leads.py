"""Which names lead to a kernel, from its host functions over wrappers, classes, aliases, tables and packages up to tests: by text alone.

A step leads from a name that is known to the statements that use it, in any file that imports it. The nearest names are followed first, and
only files that hold a known name are looked into.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from attrs import define, field, frozen

from kernelband.errors import SourceError
from kernelband.source import Workspace
from kernelband.source.folders import is_below
from kernelband.source.model import Program
from kernelband.workload.outline import Block, outline

FILE_PATTERNS = ("test_*.py", "*_test.py", "*_tests.py", "bench*.py", "*_bench.py", "*_benchmark.py")
FOLDERS = frozenset({"test", "tests", "testing", "bench", "benches", "benchmark", "benchmarks", "examples", "example"})
FARTHEST = 9.0  # steps
MOST_NAMES = 250  # that are followed
MOST_TABLE = 24  # names that a table holds: one of more leads to all of a package
STEP, REEXPORT, BY_WORD = 1.0, 0.1, 1.5
_REGISTERS = re.compile(r"@[\w.]*(?:regist|custom_op|triton_op|impl|library)[\w.]*")
_MARKS = re.compile(r"""@(?!pytest\b|triton\b|torch\.compile)[\w.]+\(\s*["']([\w.:]+)["']""")


@frozen(order=True)
class _Name:
    """A name at the top of a module; without a module, a word that something was registered by."""

    module: str
    name: str
    of: str = ""  # a word's package: only files that import it can mean the word


@define
class Leads:
    """``files``: what stands for the kernel in each file, as ``outline.uses`` writes it, with the steps up to it."""

    files: dict[str, dict[str, float]] = field(factory=dict[str, dict[str, float]])

    def steps(self, path: str, block: Block) -> float | None:
        """To the kernel from a block of a file; None where it doesn't lead there."""
        live = self.files.get(path)
        found = [live[word] for word in live.keys() & block.uses] if live else []
        return min(found) + STEP if found else None


def is_entry_file(path: str) -> bool:
    """Whether its name, or that of a folder around it, says that it is there to be run."""
    return is_test_file(path) or not FOLDERS.isdisjoint(Path(path).parts[-4:-1])


def is_test_file(path: str) -> bool:
    """Whether its name says that it holds tests or benchmarks."""
    return any(fnmatch(Path(path).name, p) for p in FILE_PATTERNS)


def find_leads(workspace: Workspace, program: Program) -> Leads:
    """What leads to the program's kernel, over the whole workspace."""
    return _Walk(workspace, program).go()


@define
class _Walk:
    workspace: Workspace
    program: Program
    leads: Leads = field(factory=Leads)
    _steps: dict[_Name, float] = field(factory=dict[_Name, float])
    _queue: list[tuple[float, _Name, str]] = field(factory=list[tuple[float, _Name, str]])
    _holding: dict[str, list[str]] = field(factory=dict[str, "list[str]"])
    _modules: dict[str, str] = field(factory=dict[str, str])

    def go(self) -> Leads:
        for place in (self.program.kernel.place, *(h.place for h in self.program.hosts)):
            top = place.qualname.partition(".")[0]
            if top.isidentifier():
                self._know(_Name(self._module(place.path), top), 0.0, place.path)
        followed = 0
        while self._queue and followed < MOST_NAMES:
            steps, name, path = heapq.heappop(self._queue)
            if steps > self._steps[name]:
                continue
            followed += 1
            if not name.module:
                self._follow_word(name, steps)
            else:
                self._follow(name, steps, path)
        return self.leads

    def _know(self, name: _Name, steps: float, path: str) -> None:
        if steps <= FARTHEST and steps < self._steps.get(name, FARTHEST + 1):
            self._steps[name] = steps
            heapq.heappush(self._queue, (steps, name, path))

    # ------------------------------------------------------------ one step

    def _follow(self, name: _Name, steps: float, path: str) -> None:
        """To the blocks of all files that use a name."""
        inside = is_test_file(path)  # nobody imports from there
        for file in [path] if inside else self._files_with(name.name):
            words = {name.name} if file == path else self._words(file, name, path, steps)
            if words:
                self._use(file, words, steps, name)
        for file, modules in self._starring:  # a package that passes everything on needn't say the name
            if not inside and any(_same(star, name.module) for star in modules):
                self._know(_Name(self._module(file), name.name), steps + REEXPORT, file)
        if path in self._texts:
            own = [b for b in outline(self._texts[path]).blocks if name.name in b.names and b.kind in ("def", "class")]
            for word in (w for b in own for w in _registered(b)):
                self._know(_Name("", word, self._package(path)), steps + BY_WORD, path)

    def _follow_word(self, name: _Name, steps: float) -> None:
        """To who asks for what was registered by a word: as an operator of torch's or an attribute where things are tested, or by the word
        itself in quotes.
        """
        plain = name.name.rpartition("::")[2].partition(".")[0]
        spoken = f"{name.name.partition('::')[0]}.{plain}" if "::" in name.name else ""
        words = {f'"{plain}"', f'"{name.name}"'}
        words |= {f"torch.ops.{spoken}", f"ops.{spoken}"} if spoken else set()
        for file in self._files_with(plain):
            if name.of not in self._texts[file] and name.of != self._package(file):
                continue
            asked = set[str]() if spoken else set[str](re.findall(rf"\btorch\.ops\.\w+\.{plain}\b", self._texts[file]))
            attributes = {f".{plain}", f".{plain.lstrip('_')}"} if is_entry_file(file) and len(plain) > 1 and not spoken else set[str]()
            self._use(file, words | asked | attributes, steps, name)

    def _use(self, file: str, words: set[str], steps: float, name: _Name) -> None:
        """The words stand for a known name in this file: what uses them leads to the kernel, too."""
        live = self.leads.files.setdefault(file, {})
        for word in words:
            live[word] = min(steps, live.get(word, steps))
        module, tests = self._module(file), is_entry_file(file)
        for block in outline(self._texts[file]).blocks:
            if words.isdisjoint(block.uses) or name.name in block.names:
                continue
            if block.kind in ("bound", "other") and name.module and not tests:
                for word in _named_beside(block.text, words):
                    self._know(_Name("", word, self._package(file)), steps + BY_WORD, file)
            if block.kind == "bound" and not tests and len(re.findall(r"[(\[{,]\s*[\w.\"']", block.text)) > MOST_TABLE:
                continue
            for bound in block.names:
                self._know(_Name(module, bound), steps + STEP, file)
                live[bound] = min(steps + STEP, live.get(bound, steps + STEP))

    # ------------------------------------------------------------ what stands for a name elsewhere

    def _words(self, file: str, name: _Name, path: str, steps: float) -> set[str]:
        """How another file writes the name: by an import of it, or as an attribute of a module; a fixture by its name alone."""
        module = name.module
        if Path(path).name == "conftest.py" and is_below(file, str(Path(path).parent)):
            return {name.name}
        text = self._texts[file]
        stem, own = module.rpartition(".")[2], self._module(file)
        if stem not in text and not own.startswith(module.rpartition(".")[0] or module):
            return set()
        seen = outline(text)
        words: set[str] = set()
        for one in seen.imports:
            source = _absolute(one.module, own, file)
            if one.member == name.name and _same(source, module):
                words.add(one.local)
            whole = source if one.member is None else f"{source}.{one.member}"
            base = one.local
            if _same(whole, module):
                words |= {f"{base}.{name.name}"} | _by_getattr(text, name.name)
            elif module.startswith(f"{whole}."):
                words.add(f"{base}.{module[len(whole) + 1 :]}.{name.name}")
            if "." in base and base.partition(".")[0] == module:  # ``import package.part`` brings the package, too
                words |= {f"{module}.{name.name}"} | _by_getattr(text, name.name)
        if any(_same(_absolute(star, own, file), module) for star in seen.stars):
            words.add(name.name)
        if not is_entry_file(file):
            self._pass_on(file, words, name, path, steps)
        return words

    def _pass_on(self, file: str, words: set[str], name: _Name, path: str, steps: float) -> None:
        """The file's own name for it can be imported from there; a package may also load by a table of names in quotes."""
        own = self._module(file)
        for word in words:
            if "." not in word and '"' not in word:
                self._know(_Name(own, word), steps + REEXPORT, file)
        folder = str(Path(file).parent)
        if (
            Path(file).name == "__init__.py"
            and is_below(path, folder)
            and re.search(rf"[\"']{re.escape(name.name)}[\"']", self._texts[file])
        ):
            self._know(_Name(own, name.name), steps + STEP / 2, file)

    # ------------------------------------------------------------ texts

    @cached_property
    def _texts(self) -> dict[str, str]:
        out: dict[str, str] = {}
        near = self.program.kernel.place.path
        for path in (near, *(h.place.path for h in self.program.hosts), *self.workspace.files(near)):
            if path in out:
                continue
            try:
                out[path] = self.workspace.read(path)
            except SourceError:  # not readable: then nothing in it can be run
                continue
        return out

    @cached_property
    def _starring(self) -> list[tuple[str, list[str]]]:
        """The files that import everything of a module, with the modules."""
        files = [path for path in self._files_with("import *") if not is_entry_file(path)]
        return [(path, [_absolute(star, self._module(path), path) for star in outline(self._texts[path]).stars]) for path in files]

    def _files_with(self, word: str) -> list[str]:
        if word not in self._holding:
            self._holding[word] = [path for path, text in self._texts.items() if word in text]
        return self._holding[word]

    def _module(self, path: str) -> str:
        if path not in self._modules:
            try:
                self._modules[path] = self.workspace.module_name(path)
            except SourceError:  # a name that can't be imported: a script, that only its own text uses
                self._modules[path] = Path(path).stem
        return self._modules[path]

    def _package(self, path: str) -> str:
        return self._module(path).partition(".")[0]


def _absolute(module: str, own: str, file: str) -> str:
    """A module as an import names it, without the dots of a relative one."""
    rest = module.lstrip(".")
    dots = len(module) - len(rest)
    if not dots:
        return module
    package = own.split(".") if Path(file).name == "__init__.py" else own.split(".")[:-1]
    return ".".join([*package[: len(package) - dots + 1], *([rest] if rest else [])])


def _same(named: str, module: str) -> bool:
    """Whether a name of a module can mean that one: folders on ``sys.path`` may cut it short at its front."""
    return named == module or (bool(named) and module.endswith(f".{named}")) or (bool(module) and named.endswith(f".{module}"))


def _by_getattr(text: str, name: str) -> set[str]:
    return {f'"{name}"'} if "getattr(" in text else set()


def _registered(block: Block) -> Iterator[str]:
    """The words that decorators register a function or class by; its own name where they say none."""
    said = _MARKS.findall(block.decorators)
    yield from said
    if not said and _REGISTERS.search(block.decorators):
        yield block.name


def _named_beside(text: str, words: set[str]) -> Iterator[str]:
    """The strings that stand before one of the words in a table or a call: ``("add", add)``, ``"add": add``."""
    for word in words:
        if word[0] not in ".\"'":
            yield from re.findall(rf"""["']([\w.:]+)["']\s*[,:]\s*(?:lambda[^:\n]*:\s*)?{re.escape(word)}\b""", text)
