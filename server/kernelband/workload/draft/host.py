"""Which function of the program an entry calls, so that the kernel is launched, and how that is written."""

from __future__ import annotations

import ast
import re
import sys
from typing import Literal

from attrs import frozen

from kernelband.errors import SourceError, WorkloadError
from kernelband.source.model import Place, Program
from kernelband.workload.draft.code import Code, Definition

Call = Literal["function", "apply", "method", "kernel"]
FARTHEST = 4  # functions between the one that launches and the one that is called
LOCALS = ".<locals>."


@frozen
class Host:
    """``called``: what is called in the draft; ``name``: what is imported for it. ``backward``: the kernel is launched by backward().

    ``function`` has the parameters: of a class with ``apply`` its forward. ``owner``: the class of a method or of ``apply``.
    """

    kind: Call
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
    reached: list[tuple[int, Host]] = []
    for host in program.hosts:
        qualname = host.place.qualname.partition(LOCALS)[0]
        if host.kind == "module" or qualname.partition(".")[0].lower().startswith(("test", "bench")):
            continue
        found = code.definition(Place(host.place.path, qualname))
        if found is not None and (qualname == host.place.qualname or _calls_inside(found, host.place.name)):
            reached += _upwards(code, found, backward=host.kind == "backward")
    bare = code.definition(kernel) if not program.hosts and not program.handed_on and "." not in kernel.qualname else None
    if bare is not None:
        return Host("kernel", kernel.name, kernel.name, bare)
    if not reached:
        raise _nobody(program)
    order = {"function": 0, "apply": 1, "method": 2, "kernel": 3}
    best = min(reached, key=lambda r: (_private(r[1]), r[0], r[1].backward, order[r[1].kind], r[1].function.place.path != kernel.path))[1]
    names = dict.fromkeys(h.called for steps, h in reached if steps == 0 and h.called != best.called)
    return Host(best.kind, best.name, best.called, best.function, best.owner, best.backward, tuple(names))


def _calls_inside(outer: Definition, name: str) -> bool:
    """Whether a function calls one that it defines: if it only returns it, somebody else does."""
    return any(isinstance(n, ast.Call) and ast.unparse(n.func) in (name, f"{name}.apply") for n in ast.walk(outer.node))


def _nobody(program: Program) -> WorkloadError:
    name = program.kernel.place.name
    if not program.hosts:
        return WorkloadError(f"No code was found that launches {name}, so no entry can be drafted for it.", kind="no_entry")
    where = ", ".join(dict.fromkeys(h.place.qualname for h in program.hosts))
    at = "at the top of a file" if where == "<module>" else f"in {where}"
    said = f"{name} is launched {at} only, so there is no function for an entry to call: choose what launches it as the entry."
    return WorkloadError(said, kind="no_entry", terminal="`kernelband optimize` takes it with --entry FILE.py::NAME, or ::__main__.")


def _private(host: Host) -> bool:
    return host.name.startswith("_") or (host.kind == "method" and host.function.place.name.startswith("_"))


def _upwards(code: Code, function: Definition, *, backward: bool) -> list[tuple[int, Host]]:
    """The function itself, and those of its file that call it, with the steps up to each."""
    out: list[tuple[int, Host]] = []
    seen = {function.place}
    level = [(function, backward)]
    every = code.functions(function.place.path)
    for steps in range(FARTHEST):
        following: list[tuple[Definition, bool]] = []
        for one, back in level:
            host = _host(code, one, backward=back)
            if host is not None:
                out.append((steps, host))
            name = host.owner.place.qualname if host is not None and host.owner is not None else one.place.qualname
            for caller in every:
                if caller.place not in seen and caller.function is not None and not caller.is_kernel and _calls(caller, one, name):
                    seen.add(caller.place)
                    going_back = back if one.place.name == "backward" else back or caller.place.name == "backward"
                    following.append((caller, going_back))
        level = following
    return out


def _calls(caller: Definition, one: Definition, owner: str) -> bool:
    """Whether it calls a function, or the class that has it."""
    name = one.place.name
    for node in ast.walk(caller.node):
        if not isinstance(node, ast.Call):
            continue
        written = ast.unparse(node.func)
        if written in (name, f"{owner}.apply", f"self.{name}", f"cls.{name}", f"{owner}.{name}"):
            return True
    return False


def _host(code: Code, function: Definition, *, backward: bool) -> Host | None:
    place = function.place
    node = function.function
    if (
        node is None
        or not place.name.strip("_")
        or place.name.lower().startswith(("test", "bench"))
        or isinstance(node, ast.AsyncFunctionDef)
    ):
        return None
    if "." not in place.qualname:
        return Host("function", place.name, place.name, function, backward=backward and place.name != "backward" and _uses_grad(function))
    owner = code.definition(Place(place.path, place.qualname.rpartition(".")[0]))
    if owner is None or "." in owner.place.qualname:
        return None
    if owner.is_autograd and place.name in ("forward", "backward"):
        forward = owner.method("forward")
        alias = _alias(code, owner)
        name = alias or owner.place.name
        return Host("apply", name, alias or f"{name}.apply", forward, owner, place.name == "backward" or backward) if forward else None
    marks = function.decorators
    if "staticmethod" in marks or "classmethod" in marks:
        return Host("function", owner.place.name, f"{owner.place.name}.{place.name}", function, owner)
    return Host("method", owner.place.name, f"{owner.place.name}.{place.name}", function, owner)


def _uses_grad(function: Definition) -> bool:
    """Whether it calls ``apply`` of an autograd function: one that only a backward pass calls is called by itself."""
    return any(isinstance(n, ast.Attribute) and n.attr == "apply" for n in ast.walk(function.node))


def _alias(code: Code, owner: Definition) -> str | None:
    """``attention = _attention.apply`` at the top of the file."""
    tree = code.tree(owner.place.path)
    for node in tree.body if tree is not None else ():
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and ast.unparse(node.value) == f"{owner.place.name}.apply"
        ):
            return node.targets[0].id
    return None
