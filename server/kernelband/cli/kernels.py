"""``kernelband kernels FILE…``: what is there to optimize. Reads text only; nothing is run."""

from __future__ import annotations

import json
from typing import Any

import click

from kernelband.cli.target import Target, json_option, open_workspace, overlay_option
from kernelband.errors import SourceError, UsageError
from kernelband.source import Workspace, find_kernels, find_program
from kernelband.source.model import Kernel


@click.command()
@click.argument("files", nargs=-1, metavar="FILE…")
@overlay_option
@json_option
def kernels(files: tuple[str, ...], overlays: tuple[str, ...], as_json: bool) -> None:
    """List the Triton kernels of files, and the functions that launch them.

    Text that is broken in the middle of an edit is read as far as it goes. A file without a kernel is an error only when no file has one.
    """
    if not files:
        raise UsageError("No file is named: kernelband kernels FILE…")
    found: list[dict[str, Any]] = []
    for file in files:
        target = Target.parse(file)
        workspace = open_workspace(target, overlays)
        here = find_kernels(target.path, workspace.read(target.path))
        found += [_described(workspace, k) for k in here if target.kernel in (None, k.place.qualname, k.place.name)]
    if not found:
        raise SourceError(f"There is no Triton kernel in {', '.join(files)}: name a file with a @triton.jit function.")
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for item in found:
        marks = [f"autotuned over {item['configs']} configs"] if item["autotuned"] else []
        marks += [f"heuristics for {', '.join(item['heuristics'])}"] if item["heuristics"] else []
        click.echo(f"{item['path']}:{item['line']}  {item['kernel']}({', '.join(item['parameters'])})" + "".join(f"  [{m}]" for m in marks))
        for host in item["hosts"]:
            click.echo(f"    launched by {host['name']} ({host['path']}:{host['line']})")
        if not item["hosts"] and item["helper_of"]:
            click.echo(f"    called by {', '.join(item['helper_of'])}")
        elif not item["hosts"]:
            click.echo("    no launch of it was found in the workspace")


def _described(workspace: Workspace, kernel: Kernel) -> dict[str, Any]:
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
        "configs": len(kernel.configs),
        "heuristics": list(kernel.heuristics),
        "helpers": [h.qualname for h in kernel.helpers],
        "helper_of": [k.place.qualname for k in others if kernel.place in k.helpers],
        "hosts": [{"name": h.place.qualname, "path": h.place.path, "kind": h.kind, "line": min(x.line for x in h.launches)} for h in hosts],
    }
