"""An entry for a kernel that no test shows at work: a ``bench_`` function, drafted from the text alone. Nothing is imported or run."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from kernelband.errors import SourceError, WorkloadError
from kernelband.source import Workspace, is_notebook
from kernelband.source.model import Place, Program
from kernelband.workload.draft.bare_kernel import Grid, read_kernel
from kernelband.workload.draft.call_sites import apply_calls
from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.guess import Guess
from kernelband.workload.draft.host import Host, find_host
from kernelband.workload.draft.host_body import Followed
from kernelband.workload.draft.shapes import settle
from kernelband.workload.draft.signature import apply_words, parameters
from kernelband.workload.draft.text import Writer
from kernelband.workload.draft.values import Instance, Param, Size, Tensor, Value


@frozen
class Draft:
    """``text`` belongs at the end of ``path``: a new file, or, where ``appended``, the one that has the function itself.

    ``entry``: the function's name; ``called``: what it calls. ``others``: what launches the kernel, too, and isn't called.
    """

    path: str
    text: str
    appended: bool
    entry: str
    called: str
    guesses: tuple[Guess, ...]
    others: tuple[str, ...] = ()


def draft_entry(workspace: Workspace, program: Program, answers: Mapping[str, str] | None = None, *, out: str | None = None) -> Draft:
    """The draft of an entry that calls the nearest function which launches the kernel.

    Args:
        workspace: reads the texts.
        program: the kernel with its host functions.
        answers: what a person says instead of a guess, by its name.
        out: the new file; None: ``bench_<module>.py`` beside the function's, or the end of a file that no import can name.

    Raises:
        WorkloadError: nothing launches the kernel from a function that can be called, or it is in a notebook, whose cells run anyway.
        SourceError: the function's file can't be imported, and ``out`` is another one.
        UsageError: an answer to nothing, or one that is no Python.
    """
    code = Code(workspace)
    host = find_host(code, program)
    path = host.function.place.path
    if is_notebook(path):
        raise WorkloadError(f"{path} is a notebook: its cells are run as they are, so it needs no entry.", kind="no_entry")
    grid: Grid | None = None
    followed = Followed(code)
    if host.kind == "kernel":
        constructor, (called, grid) = [], _launched(followed, host, program)
    else:
        constructor, called = _followed(followed, host)
    made = [v.shape for launch in followed.launches for v in launch.passed.values() if isinstance(v, Tensor)]
    writer = Writer(host, (*constructor, *called), answers or {}, grid, made)
    body = writer.body(constructor, called)
    used = [name for name in ("torch", "triton") if any(re.search(rf"(?<![\w.]){name}\.", line) for line in body)] or ["torch"]
    where, module = _where(workspace, path, out)
    name = _free_name(code, where, f"bench_{host.title}")
    lines = [f"def {name}():", *(f"    {line}" for line in body)]
    if module is not None:
        about = (
            f'"""Shows {program.kernel.place.name} at work. Drafted from the text of {os.path.basename(path)}: look at what is guessed."""'
        )
        text = "\n".join([about, "", *(f"import {m}" for m in used), "", f"from {module} import {host.name}", "", "", *lines, ""])
    else:
        imports = [f"import {m}" for m in used if not _imports(code, path, m)]
        text = "\n".join(["", "", *imports, *([""] * 2 if imports else []), *lines, ""])
    return Draft(where, text, module is None, name, host.called, tuple(writer.guesses), host.others)


def _launched(followed: Followed, host: Host, program: Program) -> tuple[list[Param], Grid]:
    kernel = program.kernel
    chosen = {*kernel.heuristics, *(name for config in kernel.configs for name in config.constants)}
    found = read_kernel(followed, host.function, chosen)
    if found is None:
        raise WorkloadError(
            f"No code was found that launches {kernel.place.name}, and its grid can't be told from the kernel alone: write a function "
            "that launches it.",
            kind="no_entry",
        )
    return found


def _followed(followed: Followed, host: Host) -> tuple[list[Param], list[Param]]:
    """The parameters of the constructor, where there is one, and of what is called, with all that is known of them."""
    code = followed.code
    constructor: list[Param] = []
    first: Value = None
    if host.kind == "method" and host.owner is not None:
        first = instance = Instance(of=host.owner)
        made = host.owner.method("__init__")
        if made is not None:
            constructor = _read(followed, made, instance)
    called = _read(followed, host.function, first, bound=host.kind != "function" or "classmethod" in host.function.decorators)
    every = [*constructor, *called]
    sizes = {n: v for n, v in followed.names.items() if isinstance(v, Size)}
    for definition, params in ((host.function, called),):
        apply_words(definition, code.text(definition.place.path), params, sizes)
    apply_calls(code, host, called)
    _leave_none(called)
    settle(every, followed.launches)
    return constructor, called


def _read(followed: Followed, function: Definition, first: Value, *, bound: bool = True) -> list[Param]:
    node = function.function
    assert node is not None
    params = parameters(node, bound=bound)
    given: dict[str, Value] = {p.name: p for p in params}
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if bound and names:
        given[names[0]] = first
    followed.follow(function, given)
    return params


def _leave_none(params: list[Param]) -> None:
    """What may be None and has no default is None where nothing says its shape."""
    for param in params:
        if param.optional and param.default is None and param.kind == "tensor" and not param.tensor.shape.known and not param.value:
            param.kind, param.value, param.why = "none", "None", "it may be None"


def _where(workspace: Workspace, path: str, out: str | None) -> tuple[str, str | None]:
    """The file that gets the draft, and the module that it imports from; None: they are one file."""
    try:
        module = workspace.module_name(path)
    except SourceError:
        module = None
    importable = module is not None and module.rpartition(".")[2] in (Path(path).stem, Path(path).parent.name)
    if not importable:
        if out is not None and os.path.realpath(out) != path:
            raise SourceError(f"{path} can't be imported by name, so a draft in another file can't call it: leave --out away.")
        return path, None
    stem = Path(path).stem if Path(path).name != "__init__.py" else Path(path).parent.name
    return (os.path.realpath(out) if out is not None else str(Path(path).with_name(f"bench_{stem}.py"))), module


def _free_name(code: Code, path: str, name: str) -> str:
    """One that the file hasn't got."""
    if not os.path.exists(path):
        return name
    return next(n for n in (name, *(f"{name}_{i}" for i in range(2, 1000))) if code.definition(Place(path, n)) is None)


def _imports(code: Code, path: str, module: str) -> bool:
    tree = code.tree(path)
    return tree is not None and any(
        isinstance(n, ast.Import) and any(a.name == module and a.asname is None for a in n.names) for n in tree.body
    )
