"""``kernelband capture FILE[::KERNEL]``: what the program does with a kernel, and whether it can be replayed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from kernelband.cli.output import console, echo
from kernelband.cli.target import Target, json_option, open_workspace, overlay_option, repository
from kernelband.cli.where import device_options

if TYPE_CHECKING:
    from kernelband.search.captured import Once


@click.command()
@click.argument("target", metavar="FILE[::KERNEL]")
@click.option("--entry", metavar="E", help="The entry, which runs the kernel: NAME, FILE.py::NAME, a pytest node, or __main__.")
@device_options("The GPU to assume when none is available.")
@overlay_option
@json_option
def capture(
    target: str, *, entry: str | None, gpu: str | None, worker: str | None, python: str | None, overlays: tuple[str, ...], as_json: bool
) -> None:
    """Run the program once and show the cases that it makes of a kernel.

    Each case is a call that can be replayed with other variants of the kernel, or says why not. What the program prints goes to stderr.
    """
    found = Target.parse(target)
    entry = entry or repository(found.path).entry
    workspace = open_workspace(found, overlays, entry)
    if gpu is not None:
        from kernelband.hardware import find_device

        find_device(gpu)  # an unknown name is said before anything starts
    from kernelband.search.captured import capture_once

    with capture_once(workspace, found.path, found.kernel, entry, gpu=gpu, worker=worker, python=python) as once:
        if as_json:
            echo(json.dumps(as_dict(once), indent=1, default=str))
            return
        from kernelband.cli.capturing import render_capture

        cases = once.captured.result["cases"]
        console().print(render_capture(_title(once), cases, _notes(once), once.captured.out_of_bounds))


def as_dict(once: Once) -> dict[str, object]:
    """CaptureResult as on the wire, and what it is of. ``notes`` holds those of every attempt."""
    return {
        **once.captured.result,
        "notes": list(once.captured.notes),
        "kernel": once.program.kernel.place.qualname,
        "path": once.program.kernel.place.path,
        "entry": once.entry,
        "sizes": once.sizes,
        "device": once.lab.device.key,
        "measured": once.lab.measured,
    }


def _title(once: Once) -> str:
    where = f"on {once.lab.device.name}" if once.lab.measured else f"by the interpreter, standing in for {once.lab.device.name}"
    entries = [once.entry, *([once.sizes] if once.sizes is not None else [])]
    names = " and ".join(f"{os.path.relpath(entry['path'])}::{entry['name']}" for entry in entries)
    runs = "runs" if len(entries) == 1 else "run"
    return f"{once.program.kernel.place.qualname} as {names} {runs} it, {where} ({once.captured.result['seconds']:.1f} s)"


def _notes(once: Once) -> list[str]:
    """Without what the table says of refused cases itself."""
    refused = {f"Left out: {c['arguments']}: {c['reason']}" for c in once.captured.refused}
    tuned = any(x["config"] is not None for c in once.captured.cases for x in c["launches"])
    notes = [n for n in once.captured.notes if n not in refused]
    if tuned and not once.lab.measured:
        notes.append("Without a GPU the autotuner can't time its configurations: the first one is taken.")
    return notes
