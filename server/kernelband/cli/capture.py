"""``kernelband capture FILE[::KERNEL]``: what the program does with a kernel, and whether it can be replayed."""

from __future__ import annotations

import json
from typing import Any

import click

from kernelband.cli.output import console
from kernelband.cli.target import Target, json_option, open_workspace, overlay_option, worker_options


@click.command()
@click.argument("target", metavar="FILE[::KERNEL]")
@click.option("--entry", metavar="E", help="What shows the kernel at work: NAME, FILE.py::NAME, a pytest node, or __main__.")
@click.option("--gpu", metavar="NAME", help="The GPU to stand in for, where none is in reach. Default: h100.")
@worker_options
@overlay_option
@json_option
def capture(
    target: str, *, entry: str | None, gpu: str | None, worker: str | None, python: str | None, overlays: tuple[str, ...], as_json: bool
) -> None:
    """Run the program once and show the cases that it makes of a kernel."""
    found = Target.parse(target)
    workspace = open_workspace(found, overlays, entry)
    from kernelband.search.captured import capture_once

    with capture_once(workspace, found.path, found.kernel, entry, gpu=gpu, worker=worker, python=python) as once:
        captured = once.captured
        if as_json:
            result: dict[str, Any] = {
                "kernel": once.program.kernel.place.qualname,
                "entry": once.entry,
                "device": once.lab.device.name,
                "measured": once.lab.measured,
                "cases": [*captured.cases, *captured.refused],
                "notes": list(captured.notes),
                "out_of_bounds": list(captured.out_of_bounds),
            }
            click.echo(json.dumps(result, indent=1, default=str))
            return
        _print(once)


def _print(once: Any) -> None:
    from rich.markup import escape

    out = console()
    captured, entry = once.captured, once.entry
    where = f"on {once.lab.device.name}" if once.lab.measured else f"by the interpreter, standing in for {once.lab.device.name}"
    out.print(f"[bold]{escape(once.program.kernel.place.qualname)}[/], as {escape(entry['name'])} runs it, {where}", soft_wrap=True)
    for case in (*captured.cases, *captured.refused):
        name = case["function"]["qualname"]
        time = f"  {case['device_us']:.1f} us" if case["device_us"] is not None else ""
        out.print(f"  {case['role']:8} {escape(name)}({escape(case['arguments'])})  {case['calls']}x{time}", soft_wrap=True)
        if not case["replayable"]:
            out.print(f"           [yellow]not replayable: {escape(str(case['reason']))}[/]", soft_wrap=True)
        for launch in case["launches"]:
            grid = "x".join(map(str, launch["grid"]))
            constants = ", ".join(f"{k}={v}" for k, v in launch["constants"].items())
            mark = "" if launch["target"] else " (not the one that is optimized)"
            out.print(f"           {escape(launch['kernel']['qualname'])}[{grid}] {escape(constants)}{mark}", soft_wrap=True)
    for place in captured.out_of_bounds:
        out.print(f"  [red]{escape(place['path'])}:{place['line']}: {escape(place['message'])}[/]", soft_wrap=True)
    for note in captured.notes:
        out.print(f"  {escape(note)}", soft_wrap=True)
