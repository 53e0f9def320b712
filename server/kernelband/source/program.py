"""A kernel with everything that one variant of it may edit: its helpers and the host functions that launch it, over the workspace."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from attrs import evolve
from parso.tree import NodeOrLeaf

from kernelband.errors import SourceError
from kernelband.source.decorators import callee
from kernelband.source.folders import real
from kernelband.source.launches import find_launches
from kernelband.source.made import kept_names
from kernelband.source.mentions import handed_on
from kernelband.source.model import HostFunction, Kernel, Launch, Place, Program, Span
from kernelband.source.resolve import Resolver
from kernelband.source.scopes import Scopes, absolute, qualname
from kernelband.source.tree import ancestors, children, trimmed_span, walk
from kernelband.source.workspace import Workspace
from kernelband.source.written import written_kernel

MODULE = "<module>"
MAX_FILES = 60  # files that mention the kernel and are read for launches
AUTOGRAD = frozenset({"torch.autograd.Function", "torch.autograd.function.Function", "autograd.Function"})


def find_program(workspace: Workspace, path: str, qualname: str | None = None) -> Program:
    """The kernel ``qualname`` of a file with its helpers, the functions that launch it anywhere in the workspace, and their texts.

    Without a name the file's only kernel is taken; jit functions that only serve other kernels of the file don't count as several.
    Other files are looked at when they mention the kernel's name. A kernel that nothing launches has no hosts.

    Raises:
        SourceError: no such file, not text, no kernel in it, several and none named, or no kernel of that name.
    """
    resolver = Resolver(workspace)
    path = real(path)
    kernel = choose_kernel(resolver.kernels(path), path, workspace.read(path), qualname)
    names = frozenset({kernel.place.name}) | kept_names(kernel.place.name, resolver.scopes(path))
    files = list(_files(workspace, kernel, names))
    hosts = tuple(h for file in files for h in _hosts(file, kernel.place, resolver, names))
    helpers = _helpers(kernel, hosts, resolver)
    paths = dict.fromkeys([path, *(h.place.path for h in helpers), *(h.place.path for h in hosts)])
    kernel = evolve(kernel, helpers=tuple(h.place for h in helpers))
    handed_on = tuple((file, line) for file in files for line in _handed_on(file, kernel.place, resolver, names))
    others = tuple(k for k in _others(kernel, hosts, resolver, paths) if k.place.path in paths and k not in helpers)
    return Program(kernel, helpers, hosts, {p: workspace.read(p) for p in paths}, handed_on, others)


def find_others(workspace: Workspace, program: Program) -> tuple[Program, ...]:
    """The other kernels that its host functions launch, each as a program of its own: those that nothing else launches or hands on, so that
    whoever runs the kernel runs all that an edit of them changes.
    """
    found: list[Program] = []
    hosts = {host.place for host in program.hosts}
    launched = {x.kernel for host in program.hosts for x in host.launches}
    for place in (k.place for k in program.others if k.place in launched):
        with suppress(SourceError):  # several of that name, say: nobody knows which one is launched
            other = find_program(workspace, place.path, place.qualname)
            alone = not other.handed_on and hosts.issuperset(host.place for host in other.hosts)
            if alone and other.texts.keys() <= program.texts.keys():
                found.append(other)
    return tuple(found)


def choose_kernel(kernels: tuple[Kernel, ...], path: str, text: str, qualname: str | None) -> Kernel:
    """The kernel that is meant.

    Raises:
        SourceError: none in the text, several and none named, or none (or several) of that name.
    """
    if not kernels:
        if "triton.experimental" in text and "gluon" in text:
            raise SourceError(f"{path} has Gluon kernels only: KernelBand optimizes @triton.jit kernels.")
        line = written_kernel(text)
        if line is not None:
            raise SourceError(
                f"{path} holds no @triton.jit kernel of its own: it generates one while it runs (line {line}), and only kernels in "
                "source files can be optimized. Name a file that defines one."
            )
        raise SourceError(f"There is no @triton.jit kernel in {path}: name a file that defines one.")
    if qualname is None:
        serving = {place for k in kernels for place in k.helpers}
        main = [k for k in kernels if k.place not in serving] or list(kernels)
        if len(main) > 1:
            names = ", ".join(k.place.qualname for k in main)
            raise SourceError(f"{path} has {len(main)} kernels ({names}): name one, as in {path}::{main[0].place.qualname}.")
        return main[0]
    found = [k for k in kernels if k.place.qualname == qualname] or [k for k in kernels if k.place.name == qualname]
    if len(found) == 1:
        return found[0]
    if found:
        names = list(dict.fromkeys(k.place.qualname for k in found))
        lines = ", ".join(str(k.line) for k in found)
        advice = f"name one in full ({', '.join(names)}) or rename one" if len(names) > 1 else "rename one"
        raise SourceError(f"{path} has {len(found)} kernels called {qualname} (lines {lines}): {advice}.")
    names = [k.place.qualname for k in kernels]
    close = difflib.get_close_matches(qualname, names, n=3)
    advice = f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(names)}."
    line = written_kernel(text) if not close else None
    if line is not None:
        written = f"generates another while it runs (line {line}), which is in no source file and can't be optimized"
        advice = f"it has {', '.join(names)}, and {written}."
    raise SourceError(f"There is no kernel {qualname} in {path}: {advice}")


def _files(workspace: Workspace, kernel: Kernel, names: frozenset[str]) -> Iterator[str]:
    """The kernel's own file, then others that mention one of its names."""
    yield kernel.place.path
    count = 0
    for path in workspace.files(kernel.place.path):
        if path != kernel.place.path and any(workspace.mentions(path, n) for n in names):
            yield path
            count += 1
            if count >= MAX_FILES:
                return


def _hosts(path: str, kernel: Place, resolver: Resolver, names: frozenset[str]) -> list[HostFunction]:
    """The functions of a file that launch the kernel, with all their launches (of other kernels too), in source order."""
    try:
        known = resolver.scopes(path)
    except SourceError:  # a neighbour that is no readable source launches nothing
        return []
    by_host: dict[int, tuple[NodeOrLeaf | None, list[Launch]]] = {}
    for launch, host in find_launches(path, resolver, named=names):
        by_host.setdefault(id(host), (host, []))[1].append(launch)
    out: list[HostFunction] = []
    for host, launches in by_host.values():
        if not any(x.kernel == kernel for x in launches):
            continue
        if host is None:
            out.append(HostFunction(Place(path, MODULE), "module", Span(0, len(known.text)), tuple(launches)))
        else:
            every = [x for x, inside in find_launches(path, resolver, within=host) if inside is host]  # now of all kernels
            outer = host.parent if host.parent is not None and host.parent.type == "decorated" else host
            out.append(HostFunction(Place(path, qualname(host)), _kind(host, known), trimmed_span(outer, known.text), tuple(every)))
    return sorted(out, key=lambda h: h.span)


def _handed_on(path: str, kernel: Place, resolver: Resolver, names: frozenset[str]) -> list[int]:
    try:
        return handed_on(path, kernel, resolver, names)
    except SourceError:
        return []


def _kind(function: NodeOrLeaf, known: Scopes) -> str:
    owner = next((a for a in ancestors(function) if a.type in ("classdef", "funcdef")), None)
    if owner is None or owner.type != "classdef":
        return "function"
    name = qualname(function).rpartition(".")[2]
    if name in ("forward", "backward") and _is_autograd(owner, known):
        return name
    marks = {callee(d) for d in _decorators(function)}
    return "static_method" if "staticmethod" in marks else "class_method" if "classmethod" in marks else "method"


def _decorators(function: NodeOrLeaf) -> list[NodeOrLeaf]:
    if function.parent is None or function.parent.type != "decorated":
        return []
    return [children(d)[1] for d in walk(children(function.parent)[0]) if d.type == "decorator" and len(children(d)) > 1]


def _is_autograd(owner: NodeOrLeaf, known: Scopes) -> bool:
    """Whether a class is an ``autograd.Function``, as far as its bases in this text tell."""
    bases = cast("NodeOrLeaf | None", cast("Any", owner).get_super_arglist())
    if bases is None:
        return False
    for base in children(bases) if bases.type == "arglist" else [bases]:
        name = callee(base)
        for meant in absolute(name, owner, known) if name is not None else []:
            if meant in AUTOGRAD or meant.endswith("autograd.Function"):
                return True
            parents = [b.statement for b in known.member(meant[1:]) if b.kind == "class"] if meant.startswith(":") else []
            if any(p is not owner and _is_autograd(p, known) for p in parents):
                return True
    return False


def _helpers(kernel: Kernel, hosts: tuple[HostFunction, ...], resolver: Resolver) -> tuple[Kernel, ...]:
    """What the kernel calls, and jit functions that its launches pass to it as arguments (an activation, say)."""
    found = {k.place: k for k in resolver.helpers(kernel)}
    for host in hosts:
        known = resolver.scopes(host.place.path)
        for launch in host.launches:
            for passed in launch.arguments.values() if launch.kernel == kernel.place else ():
                if not passed.text.replace(".", "").isidentifier():
                    continue
                for place in resolver.names(passed.text, known.module, host.place.path):
                    helper = resolver.kernel(place)
                    if helper is not None and place != kernel.place:
                        found.setdefault(place, helper)
                        found.update({k.place: k for k in resolver.helpers(helper)})
    return tuple(found.values())


def _others(kernel: Kernel, hosts: Sequence[HostFunction], resolver: Resolver, paths: Iterable[str]) -> Iterator[Kernel]:
    """What else the host functions launch and no other function of these files does, each followed by its helpers."""
    known, found = {host.place for host in hosts}, dict[Place, Kernel]()
    for place in dict.fromkeys(x.kernel for host in hosts for x in host.launches if x.kernel != kernel.place):
        other = resolver.kernel(place)
        if other is not None:
            names = frozenset({place.name}) | kept_names(place.name, resolver.scopes(place.path))
            if known.issuperset(h.place for path in paths for h in _hosts(path, place, resolver, names)):
                found |= {k.place: k for k in (other, *resolver.helpers(other)) if k.place != kernel.place}
    yield from found.values()
