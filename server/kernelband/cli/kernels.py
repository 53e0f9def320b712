"""``kernelband kernels PATH…``: what is there to optimize. Reads text only; nothing is run."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import click

from kernelband.cli.output import echo
from kernelband.cli.target import Target, json_option, open_workspace, overlay_option, parse_overlays
from kernelband.errors import SourceError, UsageError
from kernelband.source import Census, Listed, Workspace, find_kernels, find_program, list_kernels
from kernelband.source.config_count import config_count
from kernelband.source.folders import DEEPEST, is_below
from kernelband.source.model import Kernel

Item = dict[str, Any]
#: What is said of the kernels of a named file only: to find it takes the text of a whole workspace for each.
OF_A_FILE = ("autotuned", "configs", "heuristics", "helpers", "helper_of", "hosts")


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH…")
@overlay_option
@json_option
def kernels(paths: tuple[str, ...], overlays: tuple[str, ...], as_json: bool) -> None:
    """List the Triton kernels of files and folders.

    For a file, with the functions that launch them; for a folder and its subfolders, with their parameters only. PATH::KERNEL lists those
    of that name.

    A file with syntax errors is read as far as possible. A file that can't be read is reported on stderr, and the others are
    listed; the exit code is 3 if it was named itself. A file without a kernel is an error only if no file has one.
    """
    if not paths:
        raise UsageError("No file is named: kernelband kernels PATH…, a file or a folder.")
    found, failed = list[Item](), list[SourceError]()
    for path in paths:
        target = Target.parse(path)
        try:
            found += _of_folder(target, overlays) if os.path.isdir(target.path) else _of_file(target, overlays)
        except SourceError as error:  # of one of them
            failed.append(error)
    if not found:
        none = SourceError(f"There is no Triton kernel in {', '.join(paths)}: name a file or folder with a @triton.jit function.")
        raise failed[0] if failed else none
    for error in failed:
        echo(error.message, err=True)
    echo(json.dumps(found, indent=1) if as_json else "\n".join(line for item in found for line in _lines(item)))
    if failed:
        raise click.exceptions.Exit(SourceError.exit_code)


def _lines(item: Item) -> Iterator[str]:
    many = "an unknown number of" if item["configs"] is None else item["configs"]
    marks = [f"autotuned over {many} configuration{'' if many == 1 else 's'}"] if item["autotuned"] else []
    marks += [f"heuristics for {', '.join(item['heuristics'])}"] if item["heuristics"] else []
    yield f"{item['path']}:{item['line']}  {item['kernel']}({', '.join(item['parameters'])})" + "".join(f"  [{m}]" for m in marks)
    if item["hosts"] is None:
        return
    for host in item["hosts"]:
        yield f"    launched by {host['name']} ({host['path']}:{host['line']})"
    if not item["hosts"] and item["helper_of"]:
        yield f"    called by {', '.join(item['helper_of'])}"
    elif not item["hosts"]:
        yield "    no launch of it was found in the workspace"


# ------------------------------------------------------------ a folder


def _of_folder(target: Target, overlays: Sequence[str]) -> list[Item]:
    texts = {path: text for path, text in parse_overlays(overlays).items() if is_below(path, target.path)}
    gc.set_threshold(10_000)  # trees come and go: to look for their rings after every 700 objects takes a fifth of the time
    look = Census(target.path, deepest=DEEPEST).look(without=texts)
    for problem in look.problems:
        echo(problem, err=True)
    if look.truncated:
        echo(f"{target.path} has more files than are listed at once: name folders in it to see the others.", err=True)
    every = {**look.kernels, **{path: list_kernels(path, text) for path, text in texts.items()}}
    return [_listed(path, k) for path, listed in every.items() for k in listed if _is_meant(target, k.qualname)]


def _listed(path: str, kernel: Listed) -> Item:
    return {
        "path": path,
        "line": kernel.line,
        "kernel": kernel.qualname,
        "parameters": list(kernel.parameters),
        "constexprs": list(kernel.constexprs),
        **dict.fromkeys(OF_A_FILE),
    }


# ------------------------------------------------------------ a file


def _of_file(target: Target, overlays: Sequence[str]) -> list[Item]:
    workspace = open_workspace(target, overlays)
    here = find_kernels(target.path, workspace.read(target.path))
    return [_described(workspace, k) for k in here if _is_meant(target, k.place.qualname)]


def _is_meant(target: Target, qualname: str) -> bool:
    return target.kernel in (None, qualname, qualname.rpartition(".")[2])


def _described(workspace: Workspace, kernel: Kernel) -> Item:
    path = kernel.place.path
    try:
        hosts = find_program(workspace, path, kernel.place.qualname).hosts
    except SourceError:  # two kernels of one name, say: then who launches which can't be told
        hosts = ()
    others = find_kernels(path, workspace.read(path))
    return {
        "path": path,
        "line": kernel.line,
        "kernel": kernel.place.qualname,
        "parameters": [p.name for p in kernel.parameters],
        "constexprs": [p.name for p in kernel.parameters if p.constexpr],
        "autotuned": kernel.autotuned,
        "configs": config_count(kernel, workspace.read(path)),
        "heuristics": list(kernel.heuristics),
        "helpers": [h.qualname for h in kernel.helpers],
        "helper_of": [k.place.qualname for k in others if kernel.place in k.helpers],
        "hosts": [{"name": h.place.qualname, "path": h.place.path, "kind": h.kind, "line": min(x.line for x in h.launches)} for h in hosts],
    }
