"""``kernelband capture FILE[::KERNEL]``: what the program does with a kernel, and whether it can be replayed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelband.cli.output import console, echo
from kernelband.cli.target import Target, json_option, open_workspace, overlay_option, repository
from kernelband.cli.where import device_options
from kernelband.hardware.units import duration, size
from kernelband_worker.wire import Case, LaunchFacts, TensorFacts

if TYPE_CHECKING:
    from kernelband.search.captured import Once

#: Case.boundary in words.
BOUNDARIES = {"host_call": "host call", "launch": "launch"}
MOST_LAUNCHES = 6  # of a call, that are listed


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


def render_capture(title: str, cases: Sequence[Case], notes: Sequence[str], out_of_bounds: Sequence[dict[str, Any]]) -> RenderableType:
    """All of it."""
    lines: list[RenderableType] = [Text(title, style="bold"), Text("")]
    lines += [_table(cases), Text("")] if cases else []
    for place in out_of_bounds:
        lines.append(Text.assemble((f"{os.path.relpath(place['path'])}:{place['line']}", "cyan"), "  out-of-bounds  ", place["message"]))
    lines += [Text(note) for note in dict.fromkeys(notes)]
    return Group(*lines)


def _table(cases: Sequence[Case]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("role", "boundary", "call"):
        table.add_column(name, overflow="fold", no_wrap=name != "call", ratio=1 if name == "call" else None)
    for name in ("calls", "share", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("replay", no_wrap=True)
    for case in cases:
        neighbour = case.get("neighbour_of") is not None
        table.add_row(
            case["role"],
            BOUNDARIES.get(case["boundary"], case["boundary"]),
            _call(case),
            "-" if neighbour else str(case["calls"]),
            "-" if case["share"] is None else f"{100 * case['share']:.0f} %",
            "-" if case["device_us"] is None else duration(case["device_us"]),
            Text("yes", style="green") if case["replayable"] else Text("no", style="red"),
        )
    return table


def _call(case: Case) -> Text:
    """The call, and under it what it launches, where its data comes from and what it leaves behind."""
    out = Text(f"{case['function']['qualname']}({case['arguments']})")
    if not case["replayable"]:
        out.append(f"\nnot replayable: {case['reason']}", style="red")
    for line in (*launch_lines(case["launches"]), *data_lines(case), *effect_lines(case)):
        out.append(f"\n{line}", style="dim")
    return out


def launch_lines(launches: Sequence[LaunchFacts]) -> list[str]:
    """One line per distinct launch, in order: kernel, grid, warps, constants."""
    counts: dict[str, int] = {}
    for launch in launches:
        counts[_launch(launch)] = counts.get(_launch(launch), 0) + 1
    lines = [f"launches {text}" + (f", {count} times" if count > 1 else "") for text, count in counts.items()]
    more = len(lines) - MOST_LAUNCHES
    return [*lines[:MOST_LAUNCHES], f"and {more} other launches"] if more > 0 else lines


def _launch(launch: LaunchFacts) -> str:
    grid = " × ".join(map(str, _grid(launch["grid"])))
    parts = [f"{launch['kernel']['qualname']}[{grid}]", _count(launch["num_warps"], "warp"), _count(launch["num_stages"], "stage")]
    if launch["num_ctas"] > 1:
        parts.append(f"{launch['num_ctas']} CTAs")
    text = ", ".join(parts)
    constants = ", ".join(f"{k}={v}" for k, v in launch["constants"].items())
    if constants:
        text += f": {constants}"
    if launch["config"] is not None:
        text += " (autotuned)"
    return text if launch["target"] else f"{text} (not the kernel that is optimized)"


def _grid(grid: Sequence[int]) -> list[int]:
    """Without the ones at its end."""
    out = list(grid)
    while len(out) > 1 and out[-1] == 1:
        out.pop()
    return out


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def data_lines(case: Case) -> list[str]:
    """Which tensors are kept as they were, made again by the program, or drawn."""
    if case.get("neighbour_of") is not None:
        return []
    by_policy: dict[str, list[str]] = {}
    for tensor in case["tensors"]:
        by_policy.setdefault(tensor["policy"], []).append(tensor["name"])
    parts = [f"{_few(names)} {policy}" for policy, names in by_policy.items()]
    parts += [f"{_few(names)} share memory" for names in _shared(case["tensors"])]
    if not parts:
        return []
    sets = f", {_count(case['input_sets'], 'input set')}, {size(case['memory_bytes'])} for two and the outputs"
    return ["data " + "; ".join(parts) + sets]


def _shared(tensors: Iterable[TensorFacts]) -> list[list[str]]:
    by_storage: dict[int, list[str]] = {}
    for tensor in tensors:
        by_storage.setdefault(tensor["storage"], []).append(tensor["name"])
    return [names for names in by_storage.values() if len(names) > 1]


def effect_lines(case: Case) -> list[str]:
    """Outputs, what is written in place, whose memory they share, random numbers, other device work."""
    if case.get("neighbour_of") is not None:
        return []
    shared = case.get("aliases", {})
    named = [f"{name} in the memory of {shared[name]}" if shared.get(name) else name for name in case["outputs"]]
    parts = [f"gives {_few(named)}"] if named else []
    if case["reads_rng"]:
        parts.append("reads random numbers")
    if case["noise"]:
        parts.append(f"two runs differ by {case['noise']:.1g} of the output's RMS")
    if case["other_kernels"]:
        parts.append(f"also runs {_few(list(dict.fromkeys(case['other_kernels'])))}")
    return ["effects " + "; ".join(parts)] if parts else []


def _few(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
