"""How near an entry is to a kernel by names and folders: ``test_rms_norm.py`` is about ``rms_norm.py``."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

from kernelband.source.model import Program

GENERIC = frozenset(
    [
        "test",
        "tests",
        "bench",
        "benchmark",
        "benchmarks",
        "check",
        "correctness",
        "accuracy",
        "op",
        "ops",
        "kernel",
        "kernels",
        "triton",
        "src",
        "lib",
        "python",
        "layer",
        "layers",
        "module",
        "modules",
        "function",
        "functions",
        "functional",
        "fn",
        "forward",
        "backward",
        "fwd",
        "bwd",
        "utils",
        "util",
        "common",
        "init",
        "py",
        "impl",
        "main",
        "example",
        "examples",
        "speed",
        "perf",
        "the",
        "and",
        "of",
        "it",
    ]
)


@frozen
class Likeness:
    """To one kernel. ``about``: the words of its module's name and of the folder around it; ``own``: those of its and its hosts' names."""

    about: frozenset[str]
    own: frozenset[str]

    @classmethod
    def to(cls, program: Program) -> Likeness:
        """The words of a program's kernel."""
        path = Path(program.kernel.place.path)
        own = words(path.stem)
        for place in (program.kernel.place, *(h.place for h in program.hosts)):
            own |= words(place.qualname)
        return cls(words(path.stem) | words(path.parent.name), own)

    def of_file(self, path: str) -> float:
        """0 to 1: the share of words that a file's name has with the kernel's module."""
        return _share(words(Path(path).stem), self.about)

    def of_name(self, name: str) -> float:
        """0 to 1: the share of an entry's words that are also in the names of the kernel and its host functions."""
        said = words(name)
        return round(len(said & self.own) / len(said), 2) if said else 0.0


def words(name: str) -> frozenset[str]:
    """The telling words of a name in any spelling, in lower case."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return frozenset(p.lower() for p in parts) - GENERIC


def far_apart(path: str, other: str) -> int:
    """Folders that lie between two files."""
    one, two = Path(path).parent.parts, Path(other).parent.parts
    same = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return len(one) + len(two) - 2 * same


def _share(one: frozenset[str], two: frozenset[str]) -> float:
    return round(len(one & two) / len(one | two), 2) if one and two else 0.0
