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
from kernelband.source.model import Program
from kernelband.workload.draft.bare_kernel import Grid, read_kernel
from kernelband.workload.draft.call_sites import apply_calls
from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.host import Host, find_host
from kernelband.workload.draft.reading import Reader
from kernelband.workload.draft.shapes import settle
from kernelband.workload.draft.signature import apply_words, parameters
from kernelband.workload.draft.text import Guess, Writer
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
    reader, grid = Reader(code), None
    if host.kind == "kernel":
        constructor, (called, grid) = [], _launched(reader, host, program)
    else:
        constructor, called = _followed(reader, host)
    made = [v.shape for launch in reader.launches for v in launch.passed.values() if isinstance(v, Tensor)]
    writer = Writer(host, constructor, called, answers or {}, grid, made)
    body = writer.body()
    used = [name for name in ("torch", "triton") if any(re.search(rf"(?<![\w.]){name}\.", line) for line in body)] or ["torch"]
    where, module = _where(workspace, path, out)
    there = {n.place.name for n in code.functions(where)} if os.path.exists(where) else set[str]()
    name = next(n for n in (f"bench_{host.title}{end}" for end in ("", *(f"_{i}" for i in range(2, 1000)))) if n not in there)
    lines = [f"def {name}():", *(f"    {line}" for line in body), ""]
    if module is not None:
        shown = f"Shows {program.kernel.place.name} at work. Drafted from the text of {os.path.basename(path)}: look at what is guessed."
        lines = [f'"""{shown}"""', "", *(f"import {m}" for m in used), "", f"from {module} import {host.name}", "", "", *lines]
    else:
        imported = {a.name for n in code.top(path) if isinstance(n, ast.Import) for a in n.names if a.asname is None}
        missing = [f"import {m}" for m in used if m not in imported]
        lines = ["", "", *missing, *([""] * 2 if missing else []), *lines]
    return Draft(where, "\n".join(lines), module is None, name, host.called, tuple(writer.guesses), host.others)


def _launched(reader: Reader, host: Host, program: Program) -> tuple[list[Param], Grid]:
    kernel = program.kernel
    found = read_kernel(reader, host.function, {*kernel.heuristics, *(name for config in kernel.configs for name in config.constants)})
    if found is None:
        raise WorkloadError(
            f"No code was found that launches {kernel.place.name}, and its grid can't be told from the kernel alone: write a function "
            "that launches it.",
            kind="no_entry",
        )
    return found


def _followed(reader: Reader, host: Host) -> tuple[list[Param], list[Param]]:
    """The parameters of the constructor, where there is one, and of what is called, with all that is known of them."""
    instance = Instance(of=host.owner) if host.kind == "method" else None
    init = host.owner.method("__init__") if instance is not None and host.owner is not None else None
    constructor, _ = _read(reader, init, instance) if init is not None else ([], {})
    bound = host.kind != "function" or "classmethod" in host.function.decorators
    called, names = _read(reader, host.function, instance, bound=bound)
    text = reader.code.workspace.read(host.function.place.path)
    apply_words(host.function, text, called, {n: v for n, v in names.items() if isinstance(v, Size)})
    apply_calls(reader.code, host, called)
    for param in called:
        if param.optional and param.default is None and param.kind == "tensor" and not param.tensor.shape.known:
            param.kind, param.value, param.why = "none", "None", "it may be None"
    settle([*constructor, *called], reader.launches)
    return constructor, called


def _read(reader: Reader, function: Definition, first: Value, *, bound: bool = True) -> tuple[list[Param], dict[str, Value]]:
    """Its parameters, and what its names mean at its end. ``bound``: the first one is ``first``."""
    params = parameters(function, bound=bound)
    names: dict[str, Value] = {p.name: p for p in params}
    if bound and function.positional:
        names[function.positional[0][0]] = first
    reader.follow(function, names)
    return params, names


def _where(workspace: Workspace, path: str, out: str | None) -> tuple[str, str | None]:
    """The file that gets the draft, and the module that it imports from; None: they are one file."""
    try:
        module = workspace.module_name(path)
    except SourceError:
        module = ""
    file = Path(path)
    if module.rpartition(".")[2] not in (file.stem, file.parent.name):
        if out is not None and os.path.realpath(out) != path:
            raise SourceError(f"{path} can't be imported by name, so a draft in another file can't call it: leave --out away.")
        return path, None
    stem = file.stem if file.name != "__init__.py" else file.parent.name
    return (os.path.realpath(out) if out is not None else str(file.with_name(f"bench_{stem}.py"))), module
