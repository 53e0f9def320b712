"""What facts say against a kernel, each with the line that it belongs to. A claim without a fact behind it isn't made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from attrs import Factory, field, frozen

from kernelband.errors import HardwareError
from kernelband.explain.bottleneck import IDLE
from kernelband.explain.linecosts import LineCost, in_words, merged
from kernelband.hardware import Device, find_device
from kernelband.hardware.forecast import estimate
from kernelband.hardware.units import duration, size
from kernelband.hardware.work import Work
from kernelband_worker.wire import CompileFacts, Warning_

Where = Literal["line", "kernel", "launch"]

#: The words that users write, with what the worker calls it.
CODES: Mapping[str, tuple[str, ...]] = {
    "spills": ("spills",),
    "uncoalesced": ("uncoalesced",),
    "narrow-access": ("narrow-access",),
    "mask-always-true": ("mask-always-true",),
    "wgmma-serialized": ("wgmma-serialized",),
    "low-occupancy": (),
    "over-limit": ("shared-over-limit", "threads-over-limit", "tensor-memory-over-limit"),
    "too-few-programs": (),
    "too-many-programs": (),
    "out-of-bounds": ("out-of-bounds",),
}
#: The strategies' moves that are made against it.
MOVES: Mapping[str, frozenset[str]] = {
    "spills": frozenset({"tiling.tiles", "tiling.register_cap", "pipeline.loop_stages", "vectorization.elements_per_thread"}),
    "uncoalesced": frozenset({"access_layout.tensor_descriptors"}),
    "narrow-access": frozenset(
        {
            "vectorization.divisibility_hints",
            "vectorization.elements_per_thread",
            "vectorization.rows_per_program",
            "access_layout.constant_strides",
            "tiling.tiles",
        }
    ),
    "mask-always-true": frozenset({"access_layout.even_blocks", "access_layout.unmasked_body", "access_layout.guarded_fast_path"}),
    "wgmma-serialized": frozenset({"pipeline.single_accumulator", "tiling.tiles"}),
    "low-occupancy": frozenset({"tiling.tiles", "tiling.register_cap", "pipeline.loop_stages", "vectorization.elements_per_thread"}),
    "over-limit": frozenset({"tiling.tiles", "pipeline.loop_stages"}),
    "too-few-programs": frozenset({"tiling.tiles", "tiling.more_programs", "fusion.split_k", "fusion.split_reduction"}),
    "too-many-programs": frozenset({"vectorization.rows_per_program", "tiling.tiles", "reordering.axis_in_loop"}),
    "out-of-bounds": frozenset(),  # a mistake in the program: no move mends it
}
_OF_KERNEL = frozenset({"spills"})  # of all its code, not of one line
_INTERPRETED = frozenset({"uncoalesced", "mask-always-true", "out-of-bounds"})
_CODE = {word: code for code, words in CODES.items() for word in words}
COST = "cost"  # the code of what isn't against a kernel: the share of a line
LOW = 0.25  # of the warps that a multiprocessor can hold
PAGE = Path(__file__).with_name("diagnostics.md")


@frozen
class Launched:
    """A launch as it was compiled. ``about``: its constants, for people."""

    work: Work = field(repr=False)
    about: str = ""


@frozen
class Material:
    """What is at hand of one kernel. ``device`` is None where this version doesn't know the GPU called ``gpu``. ``traffic``: what the
    interpreter saw, over all cases; those launches that matter most come first. ``lines``: what each line costs at most in one of them.
    """

    gpu: str
    device: Device | None = field(repr=False)
    launches: tuple[Launched, ...] = field(repr=False)
    traffic: tuple[Warning_, ...] = field(repr=False, default=())
    lines: tuple[LineCost, ...] = field(repr=False, default=())


@frozen
class Hint:
    """``path`` and ``line`` (from 1) are of the text that the facts are of, for ``where`` "line"; else it belongs to the kernel's ``def``
    or to its launch.
    """

    code: str
    where: Where
    message: str
    path: str = ""
    line: int = 0


def hints(material: Material) -> tuple[Hint, ...]:
    """In order of the codes, then of place."""
    found = [*_warned(material), *_occupancy(material), *_few_programs(material), *_many_programs(material)]
    return tuple(sorted(dict.fromkeys(found), key=lambda h: ([*CODES].index(h.code), h.path, h.line)))


def costs(material: Material) -> tuple[Hint, ...]:
    """What lines cost, the most first; to be shown where somebody asks, never as a complaint."""
    known = f"predicted for {material.gpu}"
    return tuple(Hint(COST, "line", f"{in_words(cost)} ({known})", cost.path, cost.line) for cost in material.lines)


def _warned(material: Material) -> Iterable[Hint]:
    """Of each place what the first launch says that says anything there: others differ by their numbers only."""
    seen: dict[tuple[str, str, int], int] = {}
    for number, launched in enumerate(_worst_first(material.launches)):
        known = f"compiled for {_for(material, launched)}"
        for w in launched.work.facts["warnings"]:
            at = (w["code"], "", 0) if w["code"] in _OF_KERNEL else (w["code"], w["path"], w["line"])
            if w["code"] in _CODE and seen.setdefault(at, number) == number:
                yield _hint(w, known)
    for w in material.traffic:
        if w["code"] in _CODE:
            yield _hint(w, "interpreted")


def _hint(warning: Warning_, known: str) -> Hint:
    code = _CODE[warning["code"]]
    message = f"{warning['message'].rstrip('. ')} ({known})."
    if code in _OF_KERNEL:
        return Hint(code, "kernel", message)
    return Hint(code, "line", message, warning["path"], warning["line"])


def _worst_first(launches: Sequence[Launched]) -> list[Launched]:
    """By spilled bytes and shared memory; of those alike in the given order."""

    def bytes_(launched: Launched) -> tuple[int, int]:
        facts = launched.work.facts
        return -((facts["spill_store_bytes"] or 0) + (facts["spill_load_bytes"] or 0)), -facts["shared_bytes"]

    return sorted(launches, key=bytes_)


def _occupancy(material: Material) -> Iterable[Hint]:
    """Where more programs would be there to fill the room. Tensor cores are kept busy by few warps, so nothing is said of those."""
    device = material.device
    if device is None:
        return
    found: list[tuple[float, Hint]] = []
    for launched in material.launches:
        work = launched.work
        held = work.occupancy(device)
        if work.facts["registers"] is None or work.facts["tensor_core"] or not 0 < held.fraction <= LOW:
            continue
        if work.programs <= device.multiprocessors * held.programs:
            continue
        asked = {
            "registers": f"{work.facts['registers']} registers per thread",
            "shared memory": f"{size(work.facts['shared_bytes'])} of shared memory per program",
        }.get(held.limiter, f"{work.facts['num_warps']} warps per program")
        message = (
            f"Occupancy is {100 * held.fraction:.0f} %, limited by {held.limiter}: with {asked}, {held.warps} of "
            f"{device.max_warps_per_sm} warps fit on a multiprocessor (compiled for {_for(material, launched)})."
        )
        found.append((held.fraction, Hint("low-occupancy", "kernel", message)))
    yield from (hint for _, hint in sorted(found, key=lambda f: f[0])[:1])


def _few_programs(material: Material) -> Iterable[Hint]:
    """Of the largest launch: a small one beside it is a test's."""
    device, largest = material.device, max(material.launches, key=lambda x: x.work.programs, default=None)
    if device is None or largest is None or largest.work.programs <= 0 or largest.work.waves(device).filled >= IDLE:
        return
    n, all_ = largest.work.programs, device.multiprocessors
    message = (
        f"The grid has {n} program{'s' if n != 1 else ''} for {all_} multiprocessors, so {all_ - n} of them have nothing to do "
        f"(grid as captured for {_for(material, largest)})."
    )
    yield Hint("too-few-programs", "launch", message)


def _many_programs(material: Material) -> Iterable[Hint]:
    """Where starting the programs of the largest launch takes longer than what they do, and several launches."""
    device, largest = material.device, max(material.launches, key=lambda x: x.work.programs, default=None)
    if device is None or largest is None or largest.work.dram_bytes is None:
        return
    if estimate(device, largest.work).limit != "programs":
        return
    message = (
        f"The grid has {largest.work.programs:,} programs, which a GPU starts one after the other: that takes about "
        f"{duration(1e6 * largest.work.starting_s(device))}, "
        f"longer than what they do (grid as captured for {_for(material, largest)})."
    )
    yield Hint("too-many-programs", "launch", message)


def _for(material: Material, launched: Launched) -> str:
    return f"{material.gpu}{f' with {launched.about}' if launched.about else ''}"


def about(constants: Mapping[str, Any], warps: int | None) -> str:
    """Constants and warps of a launch, for people; long values are left out."""
    shown = [f"{k}={v}" for k, v in constants.items() if isinstance(v, int | float | str) and len(str(v)) <= 20]
    return ", ".join([*shown, *([f"num_warps={warps}"] if warps else [])])


# ---------------------------------------------------------------- from `kernelband inspect --json`


@frozen
class _Row:
    """One launch of the command's answer, on one GPU."""

    given: Mapping[str, Any]
    facts: CompileFacts = field(init=False, default=Factory(lambda self: cast("CompileFacts", self.given["facts"]), takes_self=True))

    @property
    def launched(self) -> Launched:
        work = Work(self.given["case"], self.given["kernel"], self.facts, math.prod(self.given["grid"]))
        return Launched(work, about(self.given["constants"], self.facts["num_warps"]))


def inspected(rows: Sequence[Mapping[str, Any]], kernel: str) -> Material | None:
    """Of that kernel, from the objects of ``inspect --json``, which are about one GPU; None where it compiled for none.

    Raises:
        KeyError, TypeError: they are something else.
    """
    own = [_Row(r) for r in rows if r["kernel"] == kernel and r.get("facts")]
    if not own:
        return None
    try:
        device = find_device(own[0].given["gpu"])
    except HardwareError:
        device = None
    more = {_key(w): w for r in own for w in r.given["warnings"] if w["code"] in _INTERPRETED}
    name = device.name if device is not None else str(own[0].given["gpu"])
    lines = merged([tuple(LineCost(**line) for line in r.given.get("lines", ())) for r in own])
    return Material(name, device, tuple(r.launched for r in own), tuple(more.values()), lines)


def _key(warning: Warning_) -> tuple[str, str, int, str]:
    return warning["code"], warning["path"], warning["line"], warning["message"]


# ---------------------------------------------------------------- where they are described


def address(code: str) -> str | None:
    """The ``file:`` address of a hint's description, with its line; None for a code without one, or where the file is missing."""
    line = _lines().get(code)
    return f"{PAGE.as_uri()}#L{line}" if line is not None else None


@cache
def _lines() -> dict[str, int]:
    try:
        text = PAGE.read_text(encoding="utf-8")
    except OSError:
        return {}
    return {line.removeprefix("## ").strip(): n for n, line in enumerate(text.split("\n"), 1) if line.startswith("## ")}
