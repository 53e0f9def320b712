"""What a hover says, as Markdown: of a kernel, a launch, a constexpr. Every figure comes from a row, and says how it was got."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from attrs import frozen

from kernelband.explain.bottleneck import bottleneck, bound, flops_of, peak_of
from kernelband.explain.hints import Material
from kernelband.explain.roofline_picture import roofline_picture
from kernelband.explain.words import figure, worth, worth_trying
from kernelband.hardware import Device
from kernelband.hardware.units import duration, operations, size
from kernelband.hardware.work import Work
from kernelband.history.view import RunView, VariantView
from kernelband.lsp.findings import Finding
from kernelband.lsp.markdown import as_code, escaped, shortened
from kernelband.lsp.original import CaseSeen, Original
from kernelband_worker.wire import LaunchFacts

MOST_SHOWN = 3  # variants
MOST_CASES = 8
LONG = 80  # characters of a case's arguments

Row = tuple[str, str, str]  # what, how much, how it is known


@frozen
class Compiled:
    """What is known of the text as it is without a run: the newest inspection, what each line costs (from 0, in words), and what a run
    would need.
    """

    inspected: Material | None = None
    lines: tuple[tuple[int, str], ...] = ()
    needs: str = ""


def kernel_hover(
    finding: Finding,
    original: Original | None,
    problem: str = "",
    stale: str = "",
    taken: VariantView | None = None,
    *,
    compiled: Compiled = Compiled(),
    pictures: bool = True,
) -> str:
    """Of a kernel's name.

    Args:
        finding: what the history knows of it.
        original: of the run ``finding.telling``; None where that isn't read.
        problem: a sentence about the history itself.
        stale: why the text isn't the one that the run was about, "" where it is that, or one of its variants.
        taken: the variant that the text is.
        compiled: what is known of it without a run.
        pictures: whether the client shows them: to others one is a screen of base64.
    """
    name = _name(finding.qualname)
    run = finding.telling
    said = [f"*{escaped(problem)}*"] if problem else []
    if run is None:
        target = as_code(f"kernelband optimize {PurePath(finding.path).name}::{finding.qualname}")
        yet = "No variant has been tried yet." if compiled.inspected else "Nothing is measured or predicted for this kernel yet."
        begin = f"{yet} Start with the code action *Optimize*, or with {target}. {escaped(compiled.needs)}".rstrip()
        return "\n\n".join([name, *_inspected(compiled.inspected), *_lines(compiled.lines), begin, *said])
    parts = [f"{name}: {_where(run)}"]
    if stale:
        parts.append(f"{escaped(stale)} Nothing is known about this version; what follows is about the original of that run.")
    elif taken is not None:
        known = escaped(worth(run.device, taken))
        parts.append(f"This is variant {taken.number} of run {run.id}: {known}. What follows is about the original.")
    case = original.longest() if original is not None else None
    if original is not None and case is not None:
        parts += _original(run, original, case, pictures)
    parts += _variants(run) if not stale else []
    parts += _lines(compiled.lines)
    if run.state == "running":
        parts.append(f"Run {run.id} is going on: {run.trials} trials so far.")
    elif run.state != "finished":
        parts.append(f"Run {run.id} was {run.state}: {escaped(run.reason)}.")
    return "\n\n".join([*parts, *said])


def launch_hover(finding: Finding, original: Original | None) -> str:
    """Of a launch: its grid, warps and constants in the cases of the run ``finding.telling``; "" where there is no such run."""
    run = finding.telling
    if run is None:
        return ""
    seen = [(c, x) for c in _cases(original) for x in c.launches]
    if not seen:
        return f"Run {run.id} recorded no launch of {escaped(finding.qualname)}."
    lines = [f"- {_arguments(c)}: grid {_grid(x)}, {_options(x)}, constants {_constants(x)}" for c, x in seen[:MOST_CASES]]
    tuned = ["An autotuner chose them."] if any(x.get("config") is not None for _, x in seen) else []
    return "\n\n".join([f"Launches of {_name(finding.qualname)}: {_captured(run)}", "\n".join(lines), *_more(seen), *tuned])


def constexpr_hover(finding: Finding, original: Original | None, name: str) -> str:
    """Of a constexpr parameter: its values in the cases of the run ``finding.telling``; "" where no launch gave it one."""
    run = finding.telling
    values: dict[str, list[CaseSeen]] = {}
    for case in _cases(original):
        for launch in case.launches:
            if name in _given(launch):
                cases = values.setdefault(repr(_given(launch)[name]), [])
                cases += [] if case in cases else [case]
    if run is None or not values:
        return ""
    lines = [f"- {as_code(f'{name} = {shortened(value, LONG)}')}: {_for(cases)}" for value, cases in list(values.items())[:MOST_CASES]]
    return "\n\n".join([f"{_name(name)} of {as_code(finding.qualname)}: {_captured(run)}", "\n".join(lines), *_more(list(values))])


# ---------------------------------------------------------------- the original


def _original(run: RunView, original: Original, case: CaseSeen, pictures: bool) -> list[str]:
    """What limits it in a sentence, the facts, the picture."""
    work, device = case.work, original.device
    us = case.times.device_us if case.times is not None and run.mode == "measured" else None
    alone = us if case.alone and len(case.launches) == 1 else None  # else the time isn't this launch's
    out: list[str] = []
    if work is not None and device is not None:
        found = bottleneck(device, work, alone)
        out.append(" ".join([f"{escaped(found.sentence)} *({'measured' if alone else 'predicted'})*", *map(escaped, found.also)]))
    rows = _times(run, case)
    if work is not None:
        rows += _rates(device, work, alone) if device is not None else []
        rows += _compiled(device, work)
    if rows:
        timed = sum(c.role == "time" for c in original.cases)
        which = f"The longest of {timed} timing cases" if timed > 1 else "Case"
        out += [_listed(rows), f"{which}: {_arguments(case)}. Run {run.id}, {_versions(run)}."]
    if device is None:
        out.append(f"Rates of {escaped(run.device)} weren't kept, so its limits aren't shown.")
    elif pictures and work is not None and (picture := _picture(device, work, alone)):
        out.append(picture)
    return out


def _times(run: RunView, case: CaseSeen) -> list[Row]:
    times = case.times
    if times is None or run.mode != "measured":
        return []
    how = f"measured on {escaped(run.gpu or run.device)}, {_date(run)}"
    method = f" ({escaped(times.method)})" if times.method else ""
    device = [("device time", duration(times.device_us), how + method)] if times.device_us is not None else []
    call = [("call time", duration(times.call_us), how)] if times.call_us is not None else []
    return [*device, *call]


def _rates(device: Device, work: Work, us: float | None) -> list[Row]:
    """How near the launch is to what the device can do; without a time, what the device would need at least."""
    light = bound(device, work)
    if light is None:
        return []
    limit = "memory" if light.limit == "launch" and light.memory_us >= light.tensor_us else light.limit
    if us is None:
        return [("speed of light", f"{duration(light.us)}, {limit}", f"predicted for {escaped(device.name)}")]
    how = "measured time, counted work"
    rows = [("roofline", f"{light.percent(us):.0f} % of {duration(light.us)}, {limit}", how)]
    if work.dram_bytes:
        rows.append(("memory", f"{size(work.dram_bytes / us * 1e6)}/s of {size(device.dram_bytes_per_s)}/s", how))
    if flops_of(work):
        rows.append(("arithmetic", f"{operations(flops_of(work) / us * 1e6)}/s of {operations(peak_of(device, work))}/s", how))
    return rows


def _compiled(device: Device | None, work: Work) -> list[Row]:
    facts = work.facts
    how = f"compiled for {escaped(device.name)}" if device is not None else "compiled"
    rows: list[Row] = []
    if device is not None:
        held = work.occupancy(device)
        rows.append(("occupancy", f"{100 * held.fraction:.0f} %, limited by {held.limiter}", how))
    spilled = (facts["spill_store_bytes"] or 0) + (facts["spill_load_bytes"] or 0)
    if facts["registers"] is not None:
        rows.append(("registers", f"{facts['registers']} per thread", how))
    if facts["spill_store_bytes"] is not None or facts["spill_load_bytes"] is not None:
        rows.append(("spills", f"{spilled} bytes per thread" if spilled else "none", how))
    return [*rows, ("shared memory", f"{size(facts['shared_bytes'])} per program", how)]


def _picture(device: Device, work: Work, us: float | None) -> str:
    """As an image that needs no file; "" where a number is missing."""
    if not work.dram_bytes or not flops_of(work):
        return ""
    svg = roofline_picture(
        flops_of(work) / work.dram_bytes,
        flops_of(work) / us * 1e6 if us else None,
        bytes_per_s=device.dram_bytes_per_s,
        flops_per_s=peak_of(device, work),
    )
    return f"![roofline](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


# ---------------------------------------------------------------- what compiling tells


def _inspected(material: Material | None) -> list[str]:
    """Of the largest launch, which others differ from by their sizes."""
    launched = max(material.launches, key=lambda x: x.work.programs, default=None) if material is not None else None
    if material is None or launched is None:
        return []
    rows = [("launch", as_code(launched.about), f"{launched.work.programs} programs")] if launched.about else []
    return [_listed([*rows, *_compiled(material.device, launched.work)])]


def _lines(found: Sequence[tuple[int, str]]) -> list[str]:
    """Those that cost most."""
    if not found:
        return []
    return ["\n".join(["Lines that cost most:", "", *(f"- line {line + 1}: {escaped(words)}" for line, words in found[:MOST_SHOWN])])]


def line_hover(kernel: str, words: str) -> str:
    """Of a line in a kernel: what it costs."""
    return f"{_name(kernel)}, this line: {escaped(words)}."


# ---------------------------------------------------------------- variants


def _variants(run: RunView) -> list[str]:
    if run.mode == "predicted":
        shown = [v for v in run.variants if v.tier == "likely faster"][:MOST_SHOWN]
        none = _worth_trying(run) if run.variants else ""
        lines = [f"- **{v.tier}**: {escaped(v.fact)}. {_edit(v)}" for v in shown]
        head = f"Predicted for {escaped(run.device)}, not measured:"
    else:
        shown = [v for v in run.variants if v.verified][:MOST_SHOWN]
        none = "No variant was verified to be faster." if run.state == "finished" else _so_far(run)
        told = [(figure(v.ratio, v.low, v.high) or "faster", f"{v.cases} case{'s' if v.cases != 1 else ''}", _edit(v)) for v in shown]
        lines = [f"- **{known}** on {cases}. {edit}" for known, cases, edit in told]
        head = f"Verified on {escaped(run.gpu or run.device)}, {_date(run)}:"
    if not shown:
        return [none] if none else []
    return ["\n".join([head, "", *lines])]


def _worth_trying(run: RunView) -> str:
    chosen = worth_trying((v.number, v.tier, v.gain) for v in run.variants)
    shown = [v for number in chosen for v in run.variants if v.number == number]
    lines = [f"- {_edit(v)} It has {escaped(v.gain)}." for v in shown]
    none = "No variant is likely to be faster."
    return "\n".join([f"{none} Worth trying on a GPU:", "", *lines]) if lines else none


def _so_far(run: RunView) -> str:
    return f"Best so far, not verified: {_edit(run.so_far)}" if run.so_far is not None else ""


def _edit(v: VariantView) -> str:
    mark = {"accept": " *Accepted.*", "reject": " *Rejected.*"}.get(v.decision, "")
    return f"Variant {v.number}: {escaped(v.title)}.{mark}"


# ---------------------------------------------------------------- words


def _name(name: str) -> str:
    return f"**{as_code(name)}**"


def _listed(rows: Sequence[Row]) -> str:
    """Not as a table: editors in a terminal show its bars and dashes as they are."""
    return "\n".join(f"- {what}: {much} · {how}" for what, much, how in rows)


def _options(launch: LaunchFacts) -> str:
    return f"{_count(launch['num_warps'], 'warp')}, {_count(launch['num_stages'], 'stage')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _where(run: RunView) -> str:
    if run.mode == "predicted":
        return f"predicted for {escaped(run.device)}, {_date(run)}; nothing is measured"
    return f"measured on {escaped(run.gpu or run.device)}, {_date(run)}"


def _captured(run: RunView) -> str:
    return f"as captured in run {run.id}, {_date(run)}."


def _date(run: RunView) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(run.created))


def _versions(run: RunView) -> str:
    known = [f"{name} {escaped(run.versions[key])}" for key, name in (("triton", "Triton"), ("torch", "torch")) if key in run.versions]
    return ", ".join([*known, _date(run)])


def _cases(original: Original | None) -> Sequence[CaseSeen]:
    """Timing cases first: they are what figures are about."""
    return sorted(original.cases, key=lambda c: c.role != "time") if original is not None else ()


def _arguments(case: CaseSeen) -> str:
    return as_code(shortened(case.arguments or case.id[:8], LONG))


def _grid(launch: LaunchFacts) -> str:
    kept = [n for i, n in enumerate(launch["grid"]) if any(m != 1 for m in launch["grid"][i:])] or [1]
    return " × ".join(map(str, kept))


def _given(launch: LaunchFacts) -> Mapping[str, Any]:
    """Constexpr arguments by name."""
    return launch.get("constants") or {}


def _constants(launch: LaunchFacts) -> str:
    return ", ".join(as_code(f"{k}={shortened(repr(v), LONG)}") for k, v in _given(launch).items()) or "none"


def _for(cases: Sequence[CaseSeen]) -> str:
    return _arguments(cases[0]) if len(cases) == 1 else f"{_arguments(cases[0])} and {len(cases) - 1} more"


def _more(found: Sequence[object]) -> list[str]:
    return [f"{len(found) - MOST_CASES} more aren't shown."] if len(found) > MOST_CASES else []
