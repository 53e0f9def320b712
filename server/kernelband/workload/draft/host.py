"""Which function of the program an entry calls, so that the kernel is launched, and how that is written."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import Literal

from attrs import evolve, frozen

from kernelband.errors import SourceError, WorkloadError
from kernelband.source.model import Place, Program
from kernelband.source.syntax import all_nodes
from kernelband.workload.draft.code import Code, Definition

FARTHEST = 4  # functions between the one that launches and the one that is called
LOCALS = ".<locals>."
ORDER = ("function", "apply", "method", "kernel")  # of those that are as near as another


@frozen
class Host:
    """``called``: what is called in the draft; ``name``: what is imported for it. ``backward``: the kernel is launched by backward().

    ``function`` has the parameters: of a class with ``apply`` its forward. ``owner``: the class of a method or of ``apply``.
    """

    kind: Literal["function", "apply", "method", "kernel"]
    name: str
    called: str
    function: Definition
    owner: Definition | None = None
    backward: bool = False
    others: tuple[str, ...] = ()  # that launch the kernel, too

    @property
    def title(self) -> str:
        """For the name of the entry: ``liger_rms_norm`` of LigerRMSNormFunction."""
        inner = self.function.place.name.strip("_")
        own = self.owner is None or self.kind == "apply" or inner in ("forward", "call", "apply")
        name = re.sub(r"(?<=\w)(Function|AutoGrad|Func)$", "", self.name.strip("_")) if own else inner
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
        return re.sub("_+", "_", words).lower() if words != words.upper() or len(words) > 3 else name

    @property
    def private(self) -> bool:
        return self.name.startswith("_") or (self.kind == "method" and self.function.place.name.startswith("_"))


def find_host(code: Code, program: Program) -> Host:
    """The nearest function that is meant to be called and reaches the kernel.

    Raises:
        WorkloadError: what launches it can't be called from outside.
        SourceError: this Python can't read it.
    """
    kernel = program.kernel.place
    for path in {h.place.path for h in program.hosts}:
        if code.tree(path) is None:
            version = ".".join(map(str, sys.version_info[:2]))
            raise SourceError(f"{path} is no text that Python {version} reads, so no entry can be drafted for it: write one yourself.")
    bare = code.definition(kernel) if not program.hosts and not program.handed_on and "." not in kernel.qualname else None
    if bare is not None:
        return Host("kernel", kernel.name, kernel.name, bare)
    reached: list[tuple[int, Host]] = []
    for host in program.hosts:
        qualname = host.place.qualname.partition(LOCALS)[0]
        found = code.definition(Place(host.place.path, qualname)) if host.kind != "module" and not _is_test(qualname) else None
        inner = host.place.name
        if found is not None and (qualname == host.place.qualname or not _called(found).isdisjoint((inner, f"{inner}.apply"))):
            reached += _upwards(code, found, backward=host.kind == "backward")
    if not reached:
        raise _nobody(program)

    def rank(item: tuple[int, Host]) -> tuple[bool, int, bool, int, bool]:
        steps, host = item
        return host.private, steps, host.backward, ORDER.index(host.kind), host.function.place.path != kernel.path

    best = min(reached, key=rank)[1]
    return evolve(best, others=tuple(dict.fromkeys(h.called for steps, h in reached if steps == 0 and h.called != best.called)))


def _is_test(name: str) -> bool:
    return name.lower().startswith(("test", "bench"))


def _called(function: Definition) -> set[str]:
    """What is called anywhere in it, as it is written."""
    return {ast.unparse(n.func) for n in all_nodes(function.node) if isinstance(n, ast.Call)}


def _nobody(program: Program) -> WorkloadError:
    name = program.kernel.place.name
    if not program.hosts:
        return WorkloadError(f"No code was found that launches {name}, so no entry can be drafted for it.", kind="no_entry")
    where = ", ".join(dict.fromkeys(h.place.qualname for h in program.hosts))
    at = "at the top of a file" if where == "<module>" else f"in {where}"
    said = f"{name} is launched {at} only, so there is no function for an entry to call: choose what launches it as the entry."
    return WorkloadError(said, kind="no_entry", terminal="`kernelband optimize` takes it with --entry FILE.py::NAME, or ::__main__.")


def _upwards(code: Code, function: Definition, *, backward: bool) -> Iterator[tuple[int, Host]]:
    """The function itself, and those of its file that call it, with the steps up to each."""
    left = {f.place: f for f in code.functions(function.place.path) if f.place != function.place and not f.is_kernel}
    level = [(function, backward)]
    for steps in range(FARTHEST):
        following: list[tuple[Definition, bool]] = []
        for one, back in level:
            host = _host(code, one, backward=back)
            if host is not None:
                yield steps, host
            name, owner = one.place.name, host.owner.place.qualname if host is not None and host.owner is not None else one.place.qualname
            ways = (name, f"{owner}.apply", f"self.{name}", f"cls.{name}", f"{owner}.{name}")
            for caller in [f for f in left.values() if not _called(f).isdisjoint(ways)]:
                del left[caller.place]
                following.append((caller, back or "backward" == caller.place.name != name))
        level = following


def _host(code: Code, function: Definition, *, backward: bool) -> Host | None:
    place = function.place
    if not place.name.strip("_") or _is_test(place.name) or not isinstance(function.node, ast.FunctionDef):
        return None
    if "." not in place.qualname:
        applies = any(isinstance(n, ast.Attribute) and n.attr == "apply" for n in all_nodes(function.node))
        return Host("function", place.name, place.name, function, backward=backward and place.name != "backward" and applies)
    owner = code.definition(Place(place.path, place.qualname.rpartition(".")[0]))
    if owner is None or "." in owner.place.qualname:
        return None
    name = owner.place.name
    if owner.is_autograd and place.name in ("forward", "backward"):
        forward = owner.method("forward")
        alias = next((n for n, value in code.constants(place.path) if ast.unparse(value) == f"{name}.apply"), None)
        backward = place.name == "backward" or backward
        return Host("apply", alias or name, alias or f"{name}.apply", forward, owner, backward) if forward is not None else None
    kind = "method" if {"staticmethod", "classmethod"}.isdisjoint(function.decorators) else "function"
    return Host(kind, name, f"{name}.{place.name}", function, owner)
