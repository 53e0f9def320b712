"""How near an entry is to a kernel by names and folders: ``test_rms_norm.py`` is about ``rms_norm.py``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import frozen

from kernelband.source.model import Program

# fmt: off
GENERIC = frozenset((
    "test", "tests", "bench", "benchmark", "benchmarks", "check", "correctness", "accuracy", "op", "ops", "kernel", "kernels", "triton",
    "src", "lib", "python", "layer", "layers", "module", "modules", "function", "functions", "functional", "func", "fn", "forward",
    "backward", "fwd", "bwd", "utils", "util", "common", "init", "py", "impl", "main", "example", "examples", "speed", "perf", "the",
    "and", "of", "it", "run",
))
#: Marks of pytest and its plugins, which say nothing of what is tested.
_OF_PYTEST = frozenset((
    "parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "timeout", "asyncio", "slow", "gpu", "cuda", "inplace",
))
# fmt: on


@frozen
class Likeness:
    """To one kernel. ``about``: the words of its module's name and of the folder around it; ``own``: those of its and its hosts' names, and
    each name's written as one, with how many there are in it.
    """

    about: frozenset[str]
    own: Mapping[str, int]

    @classmethod
    def to(cls, program: Program) -> Likeness:
        """The words of a program's kernel."""
        path = Path(program.kernel.place.path)
        names = [path.stem, *(place.qualname for place in (program.kernel.place, *(h.place for h in program.hosts)))]
        own = {word: 1 for name in names for word in words(name)}
        own |= {"".join(parts): len(parts) for parts in map(_telling, names) if len(parts) > 1}
        return cls(words(path.stem) | words(path.parent.name), own)

    def of_file(self, path: str) -> float:
        """0 to 1: the share of words that a file's name has with the kernel's module."""
        return _share(words(Path(path).stem), self.about)

    def of_name(self, name: str, marks: Iterable[str] = ()) -> float:
        """0 to 1: the share of an entry's words that are also in the names of the kernel and its host functions, alone or written as one
        word; a little less where they are few (``layer_norm`` and ``vector_norm`` share ``norm``). A mark of pytest's may say more than the
        name does.
        """
        said = [words(each) for each in (name, *(mark for mark in marks if mark not in _OF_PYTEST))]
        return max((self._shared(each) for each in said), default=0.0)

    def has_nothing_of(self, path: str, name: str, marks: Iterable[str]) -> bool:
        """Whether the names of an entry and its file say what they are about, and it is nothing of the kernel's."""
        stem = Path(path).stem
        return bool(words(stem) | words(name)) and not (self.of_file(path) or self.of_name(stem) or self.of_name(name, marks))

    def _shared(self, said: frozenset[str]) -> float:
        same = said & self.own.keys()
        return round(len(same) / len(said) * (1 - 0.3 / sum(self.own[word] for word in same)), 2) if same else 0.0


def words(name: str) -> frozenset[str]:
    """The telling words of a name in any spelling, in lower case."""
    return frozenset(_telling(name))


def _telling(name: str) -> list[str]:
    parts = (part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name))
    return [part for part in parts if part not in GENERIC]


def far_apart(path: str, other: str) -> int:
    """Folders that lie between two files."""
    one, two = Path(path).parent.parts, Path(other).parent.parts
    same = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return len(one) + len(two) - 2 * same


def _share(one: frozenset[str], two: frozenset[str]) -> float:
    return round(len(one & two) / len(one | two), 2) if one and two else 0.0
