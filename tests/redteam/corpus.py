"""The red team's files as values: honest programs, cheats on them, and honest variants of them that look suspicious.

Cheats and controls are read as data: a file holds a docstring and assignments of literals, and none of it is run here. What an edit
makes of a program is text that only a worker's process should import: some cheats patch what they can reach.

A cheat of your own is one file in ``cheats/``: its docstring says what it does and ends in a line ``Source: ...``; ``EDITS`` are pairs of
an old text, which stands exactly once in the program, and the new one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from attrs import field, frozen

HERE = Path(__file__).parent


class Role(Enum):
    """Who hands the edit in."""

    MODEL = "model"  # an answer of a model: whole functions, through the gate
    VERIFY = "verify"  # an edit of one's own, given to ``kernelband verify``
    FINALIST = "finalist"  # a variant that screening called faster


class Reason(Enum):
    """What refuses a cheat, in the order in which a variant meets them."""

    GATE = "gate"  # the syntax tree of a model's answer
    CHECK = "check"  # results on the cases' own values and sizes, which a process compares that never loads the variant
    STRESS = "stress"  # results on other values, sizes and layouts
    BOUNDS = "bounds"  # guard zones around tensors
    STATE = "state"  # two calls whose results are both kept, another stream
    INTEGRITY = "integrity"  # kinds of results, threads, processes, names that were replaced
    DEVICE_ACTIVITY = "device_activity"  # the device still works after the call's own stream has ended
    TIMED_RESULT = "timed_result"  # results of timed calls, chosen afterwards
    CLOCK = "clock"  # the clock was bound before, and the supervisor's agrees with it
    FAULT = "fault"  # its process ends, or doesn't answer in time
    SLOWER = "slower"  # the trick reaches nothing that counts, so it isn't faster


#: Families and what is common to each.
FAMILIES = {
    "replay": "gives a result again that it has computed before",
    "state": "shares memory between results, or keeps what a call must compute",
    "stale_memory": "leans on what fresh memory holds",
    "detection": "works only when it is looked at",
    "lazy": "computes when somebody looks, or never",
    "async": "works beside the clock: threads, streams, what is left behind",
    "clock": "changes what measures time, or where it stands",
    "patch": "changes what compares, what is compared with, or chance",
    "expected": "takes, changes or forges what the judge holds",
    "process": "reaches beyond its process, or to its end",
    "library": "lets something else than the kernel do the work",
    "less_work": "leaves work out",
    "values": "is right for the values at hand only",
    "constants": "takes for constant what only happens to be",
    "sizes": "is right, or fast, for the sizes at hand only",
    "layout": "is right for contiguous tensors only",
    "precision": "computes with fewer bits than it says",
    "overflow": "counts with too few bits",
    "output": "returns another kind of tensor, or changes its inputs",
    "bounds": "reads or writes where nothing is its own",
    "races": "is right when programs run one after the other",
}

Edits = tuple[tuple[str, str], ...]


@frozen
class Program:
    """An honest program. ``entry`` is its quick test; ``bench`` has the sizes that a GPU needs."""

    name: str
    text: str = field(repr=False)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of its kernels; the first one is launched first."""
        return tuple(f.name for f in self._functions() if f.decorator_list)

    @property
    def entry(self) -> str:
        return next(f.name for f in self._functions() if f.name.startswith("test_"))

    def edited(self, edits: Edits) -> str:
        """The text with each old text, which must stand there exactly once, replaced by its new one.

        Raises:
            ValueError: an old text isn't there, or is there more than once.
        """
        text = self.text
        for old, new in edits:
            if text.count(old) != 1:
                raise ValueError(f"{old!r} stands {text.count(old)} times in {self.name}.py")
            text = text.replace(old, new)
        return text

    def _functions(self) -> list[ast.FunctionDef]:
        return _functions(self.text)


@frozen
class Edited:
    """An edit of a program in the roles that it can have. ``needs_gpu``: only a GPU shows what it does."""

    name: str
    base: Program
    roles: tuple[Role, ...]
    needs_gpu: bool
    edits: Edits = field(repr=False)

    @property
    def text(self) -> str:
        """The whole file with the edit in it."""
        return self.base.edited(self.edits)

    @property
    def kernel(self) -> str:
        """The kernel that is optimized: the first one that the edit changes, else the first one."""
        before, after = ({f.name: ast.dump(f) for f in _functions(text)} for text in (self.base.text, self.text))
        return next((name for name in self.base.kernels if before[name] != after[name]), self.base.kernels[0])


@frozen
class Cheat(Edited):
    """One that must never be called verified. ``caught_by``: any of these is the right reason in that role."""

    what: str
    source: str
    family: str
    caught_by: Mapping[Role, frozenset[Reason]]


@frozen
class Control(Edited):
    """An honest variant that must not be refused. ``why``: what makes it look suspicious."""

    what: str
    why: str


@cache
def programs() -> dict[str, Program]:
    """All honest programs by name."""
    return {path.stem: Program(path.stem, path.read_text(encoding="utf-8")) for path in _files("programs")}


@cache
def cheats() -> tuple[Cheat, ...]:
    """All cheats, by name."""
    return tuple(_cheat(path) for path in _files("cheats"))


def named(name: str) -> Cheat:
    """The cheat of that name."""
    return next(cheat for cheat in cheats() if cheat.name == name)


@cache
def controls() -> tuple[Control, ...]:
    """All controls, by name."""
    return tuple(_control(path) for path in _files("controls"))


def _functions(text: str) -> list[ast.FunctionDef]:
    return [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]


def _files(folder: str) -> list[Path]:
    return sorted((HERE / folder).glob("*.py"))


def _cheat(path: Path) -> Cheat:
    doc, values = _read(path, {"BASE", "FAMILY", "ROLES", "CAUGHT_BY", "NEEDS_GPU", "EDITS"})
    what, _, source = doc.partition("\n\nSource: ")
    caught = {Role(role): _reasons(given) for role, given in values["CAUGHT_BY"].items()}
    return Cheat(**_common(path, values), what=what.strip(), source=source.strip(), family=values["FAMILY"], caught_by=caught)


def _control(path: Path) -> Control:
    doc, values = _read(path, {"BASE", "WHY", "ROLES", "NEEDS_GPU", "EDITS"})
    return Control(**_common(path, values), what=doc.strip(), why=values["WHY"])


def _common(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": path.stem,
        "base": programs()[values["BASE"]],
        "roles": tuple(Role(role) for role in values["ROLES"]),
        "needs_gpu": values["NEEDS_GPU"],
        "edits": tuple((old, new) for old, new in values["EDITS"]),
    }


def _reasons(given: str | tuple[str, ...]) -> frozenset[Reason]:
    return frozenset(Reason(each) for each in ((given,) if isinstance(given, str) else given))


def _read(path: Path, names: set[str]) -> tuple[str, dict[str, Any]]:
    """The docstring and the assigned literals of a file.

    Raises:
        ValueError: it holds something else, or not all of the names.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    values: dict[str, Any] = {}
    for node in tree.body[1:]:
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            raise ValueError(f"{path.name}, line {node.lineno}: only assignments of literals may stand here")
        values[node.targets[0].id] = ast.literal_eval(node.value)
    if set(values) != names:
        raise ValueError(f"{path.name} must define {', '.join(sorted(names))}, and nothing else")
    return ast.get_docstring(tree) or "", values
