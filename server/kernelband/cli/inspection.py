"""How an inspection is shown: a table over GPUs, what limits it, and the warnings with their lines. Everything is called predicted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelband.explain.inspect import Inspection, Seen
from kernelband.explain.remedies import Remedy
from kernelband.hardware.units import duration, operations, size
from kernelband.source import patch_to_json

MOST_LINES = 8

Number = TypeVar("Number", int, float)


def render_inspection(found: Sequence[Inspection]) -> RenderableType:
    """One block per specialisation of a kernel, a column per GPU."""
    blocks: list[RenderableType] = []
    for key in dict.fromkeys(i.spec["key"] for i in found):
        same = [i for i in found if i.spec["key"] == key]
        blocks += [_head(same[0]), _table(same), *_limits(same), *_lines(same), *_warnings(same), Text("")]
    blocks.append(Text("Predicted from compiled code, bytes and operations. Nothing was run on a GPU.", style="dim"))
    return Group(*blocks)


def print_inspection(found: Sequence[Inspection], console: Console | None = None) -> None:
    """Print it."""
    (console or Console()).print(render_inspection(found))


def print_remedies(found: Sequence[Remedy], console: Console) -> None:
    """Each move with the warning that it is against."""
    if not found:
        console.print("No move is known against what was found, or none that compiles to code without it.")
        return
    console.print("Moves against hints. They compile, but are not checked or timed: kernelband optimize does that.")
    for remedy in found:
        console.print(f"  {remedy.code}  {remedy.proposal.what}", markup=False, soft_wrap=True)


def remedy_as_json(remedy: Remedy) -> dict[str, Any]:
    """For ``--json-lines``; ``patch`` is of the program's texts, with offsets in characters."""
    p = remedy.proposal
    return {"code": remedy.code, "move": p.key, "what": p.what, "why": p.why, "numerics": p.numerics, "patch": patch_to_json(p.patch)}


def _head(one: Inspection) -> Text:
    constants = ", ".join(f"{k}={v}" for k, v in one.spec["constants"].items())
    warps = one.spec["options"].get("num_warps")
    grid = " × ".join(str(n) for n in one.spec["grid"])
    return Text.assemble(
        (one.kernel, "bold"), f"  {one.arguments}\n", (f"{constants}  num_warps={warps}  grid {grid}  {os.path.relpath(one.path)}", "dim")
    )


def _table(same: Sequence[Inspection]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("predicted")
    for one in same:
        table.add_column(one.device.key, justify="right")
    for title, cells in _rows(same):
        table.add_row(title, *cells)
    return table


def _rows(same: Sequence[Inspection]) -> list[tuple[str, list[str]]]:
    def row(title: str, of: Callable[[Seen], str]) -> tuple[str, list[str]]:
        return title, [of(one.seen) if one.seen is not None else "-" for one in same]

    return [
        row("stages", lambda s: str(s.facts["num_stages"])),
        row("registers", lambda s: _known(s.facts["registers"], str)),
        row("spilled bytes", _spills),
        row("shared memory", lambda s: size(s.facts["shared_bytes"])),
        row("occupancy", lambda s: f"{100 * s.occupancy.fraction:.0f} %"),
        row("limited by", lambda s: s.occupancy.limiter),
        row("programs per SM", lambda s: str(s.occupancy.programs)),
        row("waves", lambda s: "under 0.01" if s.waves.count < 0.01 else f"{s.waves.count:.2g}"),
        row("tensor cores", lambda s: s.facts["tensor_core"] or "none"),
        row("loads", lambda s: s.widths.get("loads", "none")),
        row("stores", lambda s: s.widths.get("stores", "none")),
        row("instructions", lambda s: "\n".join(f"{n} {k}" for k, n in list(s.mix.items())[:4])),
        row("bytes", lambda s: _known(s.work.dram_bytes, size)),
        row("bytes through caches", lambda s: _known(s.work.moved_bytes, size)),
        row("operations", lambda s: _known(_operations(s), operations)),
        row("speed of light", lambda s: _known(s.roofline.us if s.roofline else None, duration)),
    ]


def _spills(seen: Seen) -> str:
    """Stored and loaded; most kernels have none."""
    stored, loaded = seen.facts["spill_store_bytes"], seen.facts["spill_load_bytes"]
    if stored is None and loaded is None:
        return "unknown"
    return f"{stored or 0} + {loaded or 0}" if stored or loaded else "none"


def _operations(seen: Seen) -> float | None:
    return None if seen.work.flops is None else seen.work.flops + (seen.work.dot_flops or 0)


def _known(value: Number | None, show: Callable[[Number], str]) -> str:
    return "unknown" if value is None else show(value)


def _limits(same: Sequence[Inspection]) -> list[RenderableType]:
    out: list[RenderableType] = []
    for one in same:
        if one.error is not None:
            out.append(Text.assemble((f"{one.device.key}  ", "bold"), (one.error, "red")))
        elif one.seen is not None:
            found = one.seen.bottleneck
            out.append(Text.assemble((f"{one.device.key}  ", "bold"), " ".join([found.sentence, *found.also])))
    return out


def _lines(same: Sequence[Inspection]) -> list[RenderableType]:
    """Which lines cost, of the first GPU that it compiles for: bytes are the same for all, and the code of others is much alike."""
    one = next((one for one in same if one.seen is not None and one.seen.lines), None)
    if one is None or one.seen is None:
        return []
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"lines, {one.device.key}")
    for title in ("bytes", "instructions"):
        table.add_column(title, justify="right")
    for cost in one.seen.lines[:MOST_LINES]:
        table.add_row(f"{_file(cost.path)}:{cost.line}", _known(cost.bytes, "{:.0%}".format), _known(cost.instructions, "{:.0%}".format))
    return [table]


def _file(path: str) -> str:
    """As seen from here; of what lies elsewhere, as Triton's own library does, the end of its path."""
    near = os.path.relpath(path)
    return near if not near.startswith(os.pardir) else os.path.join(*Path(path).parts[-3:])


def _warnings(same: Sequence[Inspection]) -> list[RenderableType]:
    """Each warning once, with the GPUs that it is about."""
    about: dict[tuple[str, int, str, str], list[str]] = {}
    for one in same:
        for w in one.seen.warnings if one.seen else ():
            about.setdefault((w["path"], w["line"], w["code"], w["message"]), []).append(one.device.key)
    out: list[RenderableType] = []
    for (path, line, code, message), keys in sorted(about.items()):
        where = "" if len(set(keys)) == len({i.device.key for i in same}) else f" ({', '.join(dict.fromkeys(keys))})"
        out.append(Text.assemble((f"{os.path.relpath(path)}:{line}", "cyan"), f"  {code}{where}  {message}"))
    return out
