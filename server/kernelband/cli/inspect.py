"""``kernelband inspect FILE[::KERNEL] --gpu h100,a100,…``: compile for GPUs that need not be there, and say what limits the kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kernelband.cli.output import console, echo
from kernelband.cli.target import Target, json_option, open_workspace, overlay_option, repository
from kernelband.cli.where import device_options
from kernelband.errors import UsageError, WorkloadError
from kernelband.hardware import find_devices

if TYPE_CHECKING:
    from kernelband.explain.inspect import Inspection
    from kernelband.explain.remedies import Remedy
    from kernelband.search.captured import Once

DEFAULT_GPU = "h100"


@click.command(name="inspect")
@click.argument("target", metavar="FILE[::KERNEL]")
@click.option("--entry", metavar="E", help="The entry, which runs the kernel: NAME, FILE.py::NAME, a pytest node, or __main__.")
@device_options("The GPUs to compile for.", metavar="NAME,…")
@overlay_option
@json_option
@click.option("--json-lines", "as_lines", is_flag=True, help="Print one line of JSON for each launch and GPU, as soon as it is compiled.")
@click.option("--moves", is_flag=True, help="Propose moves against the hints of the first GPU, and compile them; nothing is run.")
def inspect(
    target: str,
    *,
    gpu: str | None,
    entry: str | None,
    worker: str | None,
    python: str | None,
    overlays: tuple[str, ...],
    as_json: bool,
    as_lines: bool,
    moves: bool,
) -> int:
    """Compile a kernel for GPUs, without one, and show registers, memory, occupancy, roofline, warnings and what limits it.

    The program runs once, to learn with which arguments and grid the kernel is launched. What it prints goes to stderr.
    """
    if moves and as_json:
        raise UsageError("--moves are printed below the table, or with --json-lines as lines of their own: leave --json out.")
    found = Target.parse(target)
    devices = find_devices(gpu or DEFAULT_GPU)
    entry = entry or repository(found.path).entry
    workspace = open_workspace(found, overlays, entry)
    from kernelband.cli import inspection
    from kernelband.explain.inspect import inspect as look
    from kernelband.explain.inspectionrows import as_json as rows
    from kernelband.explain.remedies import remedies
    from kernelband.search.captured import capture_once

    seen: list[Inspection] = []
    mended: list[Remedy] = []
    with capture_once(workspace, found.path, found.kernel, entry, gpu=devices[0].key, worker=worker, python=python, brief=True) as once:
        captured, lab = once.captured, once.lab
        for one in look(captured.cases, devices, lambda cases: lab.specialise(None, cases), lab.compilers, captured=captured.result):
            seen.append(one)
            if as_lines:
                echo(json.dumps({"event": "inspected", **rows([one])[0]}, default=str))
        if moves and as_lines:
            echo(json.dumps({"event": "proposing"}))  # all that was compiled has been said
        for remedy in remedies(once, seen) if moves and seen else ():
            mended.append(remedy)
            if as_lines:
                echo(json.dumps({"event": "proposed", **inspection.remedy_as_json(remedy)}))
    if not seen:
        raise WorkloadError(
            f"No launch of {once.program.kernel.place.name} was specialised: {'; '.join(captured.notes) or 'no case has one'}."
        )
    none = all(one.seen is None for one in seen)
    if as_lines:
        return WorkloadError.exit_code if none else 0
    if as_json:
        echo(json.dumps(rows(seen), indent=1, default=str))
        return WorkloadError.exit_code if none else 0
    if none:
        reasons = dict.fromkeys(f"{one.device.key}: {one.error}" for one in seen)
        name = once.program.kernel.place.name
        raise WorkloadError(f"{name} compiles for none of these GPUs.", detail="\n".join(reasons), kind="compile_error")
    out = console()
    inspection.print_inspection(seen, out)
    if moves:
        inspection.print_remedies(mended, out)
    for note in _notes(once, seen):
        out.print(note, markup=False, soft_wrap=True)
    return 0


def _notes(once: Once, seen: Sequence[Inspection]) -> list[str]:
    """What a reader must know of the launches that were compiled, and of the blocks that no search would change."""
    from kernelband.strategies import Facts, fixed_blocks

    notes = [*once.captured.notes, *fixed_blocks(once.program, Facts(once.lab.device, tuple(once.captured.cases)))]
    first = once.lab.device.name
    if len({one.device.key for one in seen}) > 1:
        notes.append(f"Grid and arguments are those that the program chose for {first}.")
    if any(x["config"] is not None for c in once.captured.cases for x in c["launches"]) and not once.lab.measured:
        notes.append("Without a GPU the autotuner can't time its configurations: the first one is compiled.")
    return notes
