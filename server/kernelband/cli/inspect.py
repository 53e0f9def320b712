"""``kernelband inspect FILE[::KERNEL] --gpu h100,a100,…``: compile for GPUs that need not be there, and say what limits the kernel."""

from __future__ import annotations

import json
from typing import Any

import attrs
import click

from kernelband.cli.output import console
from kernelband.cli.target import Target, json_option, open_workspace, overlay_option, worker_options
from kernelband.hardware import find_devices


@click.command(name="inspect")
@click.argument("target", metavar="FILE[::KERNEL]")
@click.option("--gpu", "gpus", default="h100", show_default=True, metavar="NAME,…", help="The GPUs to compile for.")
@click.option("--entry", metavar="E", help="What shows the kernel at work: NAME, FILE.py::NAME, a pytest node, or __main__.")
@worker_options
@overlay_option
@json_option
def inspect(
    target: str, *, gpus: str, entry: str | None, worker: str | None, python: str | None, overlays: tuple[str, ...], as_json: bool
) -> None:
    """Compile a kernel for GPUs, without one, and show registers, memory, occupancy, roofline, warnings and what limits it."""
    found = Target.parse(target)
    devices = find_devices(gpus)
    workspace = open_workspace(found, overlays, entry)
    from kernelband.explain.inspect import inspect as look
    from kernelband.search.captured import capture_once

    with capture_once(workspace, found.path, found.kernel, entry, gpu=devices[0].key, worker=worker, python=python) as once:
        captured, lab = once.captured, once.lab
        seen = list(
            look(
                captured.cases,
                devices,
                lambda cases: lab.specialise(None, cases),
                lab.compilers,
                captured=captured.result,
            )
        )
    if as_json:
        click.echo(json.dumps([_as_dict(one) for one in seen], indent=1, default=str))
        return
    _print(seen)


def _as_dict(one: Any) -> dict[str, Any]:
    out: dict[str, Any] = {
        "kernel": one.kernel,
        "path": one.path,
        "device": one.device.key,
        "case": one.case,
        "arguments": one.arguments,
        "error": one.error,
    }
    if one.seen is not None:
        s = one.seen
        out |= {
            "facts": s.facts,
            "occupancy": attrs.asdict(s.occupancy),
            "waves": attrs.asdict(s.waves),
            "roofline": attrs.asdict(s.roofline) if s.roofline is not None else None,
            "bottleneck": attrs.asdict(s.bottleneck),
            "instructions": s.mix,
            "widths": s.widths,
            "bytes": s.work.dram_bytes,
            "flops": s.work.flops,
            "dot_flops": s.work.dot_flops,
            "warnings": list(s.warnings),
        }
    return out


def _print(found: list[Any]) -> None:
    from rich.markup import escape

    out = console()
    said: set[tuple[str, int, str]] = set()
    for one in found:
        out.print(f"\n[bold]{escape(one.kernel)}[/] on {one.device.name}: {escape(one.arguments)}", soft_wrap=True)
        if one.seen is None:
            out.print(f"  [red]{escape(str(one.error))}[/]", soft_wrap=True)
            continue
        for line in _lines(one.seen):
            out.print(f"  {escape(line)}", soft_wrap=True)
        for warning in one.seen.warnings:
            key = warning["path"], warning["line"], warning["message"]
            if key not in said:
                said.add(key)
                out.print(f"  [yellow]{escape(warning['path'])}:{warning['line']}: {escape(warning['message'])}[/]", soft_wrap=True)


def _lines(seen: Any) -> list[str]:
    facts, held = seen.facts, seen.occupancy
    spilled = (facts["spill_store_bytes"] or 0) + (facts["spill_load_bytes"] or 0)
    parts = [
        f"{facts['num_warps']} warps, {facts['num_stages']} stages",
        f"{facts['registers']} registers a thread" if facts["registers"] is not None else "registers unknown",
        f"{spilled} bytes spilled" if spilled else "no spills",
        f"{facts['shared_bytes'] / 1024:.1f} KiB shared memory",
        facts["tensor_core"] or "no tensor cores",
    ]
    lines = [", ".join(parts)]
    lines.append(f"occupancy {100 * held.fraction:.0f} %: {held.programs} programs a multiprocessor, limited by {held.limiter}")
    lines.append(f"waves {seen.waves.count:.1f}, slots filled {100 * seen.waves.filled:.0f} %")
    if seen.widths:
        lines.append("global accesses: " + "; ".join(f"{k} {v}" for k, v in seen.widths.items()))
    if seen.mix:
        lines.append("instructions: " + ", ".join(f"{k} {v}" for k, v in seen.mix.items()))
    if seen.roofline is not None:
        lines.append(f"speed of light {seen.roofline.us:.1f} us, by {seen.roofline.limit}")
    return [*lines, seen.bottleneck.sentence, *seen.bottleneck.also]
