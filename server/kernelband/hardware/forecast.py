"""Is a variant likely to be faster, from facts alone? For ranking, and for where there is no GPU. Never a time or a ratio for people.

The formula, per launch, in microseconds::

    t = launch + max(memory, cache, compute / filled, programs) * meeting + spills + ramps

    memory      dram_bytes * sectors / (B_dram * e)   e = min(1, bytes in flight / bytes needed in flight), Little's law
    cache       moved_bytes * sectors / B_l2
    spills      spilled bytes of all threads / B_l2: a thread can't go on before its registers are back, so nothing hides them
    compute     max(tensor, other) + min(tensor, other) / n, n programs at once on a multiprocessor: a program's products and what it
                computes from them take turns, and only another program fills the gap
    tensor      dot_flops / (peak * s)                s = 1 for the architecture's own instruction, 0.6 for an older one, half if serialized
    other       max(instructions / B_instructions, special / B_special)   of floats outside products: what a compiler makes of them, with
                what each function costs (``arithmetic``); an exponential is one special operation and four instructions, exp2 only the one
    meeting     1 + (warps / 32)^3 / 2 where warps exchange values through shared memory, without matrix products: they wait for the last
                one (H200, root mean square of rows of 8 to 16 KB: 32 warps take 1.5 times as long as 8, 16 warps 1.06 times)
    programs    programs / B_programs: a GPU starts one after the other, whatever little they do (``Work.starting_s``)
    ramps       1 us for each wave of programs with matrix products: they fill their pipelines, drain them and store, and nothing covers it
                (H200, batched products of 16 x 1024^3, 64 x 512^3 and 32 x 2048^2 x 64: 1.0 to 1.9 us a wave more than in one loop)
    filled      share of the slots that the grid fills (wave quantisation); for memory and cache only of a grid that leaves multiprocessors
                idle: the last programs of a larger one have the whole bandwidth

Bytes in flight on a multiprocessor (``Work.in_flight``) are those of the threads that the grid gives it, of the line that loads most, 64
of a thread at most; needed are B_dram x latency / multiprocessors. Of a case in which one side's traffic isn't known, cache and compute are
left out on both sides. Bank conflicts, L2 hits, integer work and instruction latency are not modelled: therefore the wide margin, and
"unclear" unless a fact that belongs to the limiting term moved. A variant that is much better on some cases and no worse on the others is
likely faster too. Where the original was timed, a case's ratio is raised to the square root of the share of its time that the formula
explains: what it knows a tenth of, it can't promise much for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import frozen

from kernelband.hardware.arithmetic import compute
from kernelband.hardware.changes import Change, Kind, changes
from kernelband.hardware.device import Device
from kernelband.hardware.occupancy import LATENCY_S, needed_in_flight
from kernelband.hardware.work import Work

Tier = Literal["likely faster", "unclear", "likely slower"]
Term = Literal["launch", "memory", "cache", "compute", "programs"]

MARGIN = 1.25  # of the score, below which nothing is claimed
LEVEL = 0.97  # of a case's score, from which on it is no worse
RELIEF = 0.25  # spilled bytes over the bytes that are moved, from which on it is a clear gain that they vanish
LOADS_IN_FLIGHT = 8
RAMP_US = 1.0

#: Which facts can move which term.
_BELONGS: Mapping[Term, frozenset[Kind]] = {
    "launch": frozenset({"launches"}),
    "memory": frozenset({"launches", "dram", "sectors", "width", "occupancy", "in flight", "filled", "spills"}),
    "cache": frozenset({"launches", "moved", "sectors", "width", "filled", "spills"}),
    "compute": frozenset({"tensor cores", "serialized", "flops", "instructions", "special", "filled", "spills", "occupancy"}),
    "programs": frozenset({"launches", "programs"}),
}


@frozen
class Forecast:
    """``fact`` is the sentence behind the tier. ``score`` ranks variants (above 1 is better) and is never shown."""

    tier: Tier
    fact: str
    score: float


@frozen
class Estimate:
    """Of one launch, in microseconds; for ranking only. ``limit`` is the largest term; ``terms`` without the launch."""

    us: float
    limit: Term
    terms: Mapping[Term, float]


def estimate(device: Device, work: Work, *, traffic: bool = True, functions: bool = True) -> Estimate:
    """The formula. For comparing with a side that lacks them, ``traffic`` False leaves out what only counts of traffic tell, cache and
    compute, and ``functions`` False takes operations for instructions.
    """
    sectors = max(1.0, (work.sectors or 1.0) if traffic else 1.0)
    busy_memory = min(1.0, work.in_flight(device) / needed_in_flight(device))
    memory = (work.dram_bytes or 0.0) * sectors / (device.dram_bytes_per_s * busy_memory)
    moved = (work.moved_bytes or 0.0) * sectors if traffic else 0.0
    filled = work.waves(device)
    busy = max(filled.filled, 1e-3)
    idle = busy if filled.count <= 1 else 1.0
    computed = compute(device, work, functions=functions).together(math.ceil(work.beside(device))) if traffic else 0.0
    terms: dict[Term, float] = {
        "memory": memory / idle,
        "cache": moved / device.l2_bytes_per_s / idle,
        "compute": computed / busy,
        "programs": work.starting_s(device),
    }
    largest = max(terms, key=lambda term: terms[term])
    meets = work.facts["shared_bytes"] > 0 and not (work.dot_flops or work.facts["tensor_core"])
    meeting = 1.0 + 0.5 * (work.facts["num_warps"] / 32) ** 3 if meets else 1.0
    body = 1e6 * (terms[largest] * meeting + _spilled(work) / device.l2_bytes_per_s / idle)
    in_us: dict[Term, float] = {term: 1e6 * seconds for term, seconds in terms.items()}
    body += RAMP_US * max(1.0, filled.count) if traffic and work.dot_flops else 0.0
    return Estimate(device.launch_us + body, largest if body > device.launch_us else "launch", in_us)


def launch_bound(device: Device, work: Work) -> bool:
    """Whether launching takes longer than the work; not of work whose traffic or arithmetic wasn't counted."""
    counted = work.dram_bytes is not None and work.moved_bytes is not None and work.functions is not None
    return counted and estimate(device, work).limit == "launch" and waits_us(device, work) < device.launch_us


def waits_us(device: Device, work: Work) -> float:
    """Microseconds that threads wait for memory, each fetching one thing after the other as far as it can't at once; 0 where the traffic
    isn't known. The formula has no such term: this is for saying that a launch is short.
    """
    threads = work.facts["num_warps"] * work.facts["target"]["warp_size"] * max(work.programs, 1)
    fetches = (work.moved_bytes or 0.0) / threads / ((work.bits or 32.0) / 8)
    return 1e6 * LATENCY_S * fetches / min(work.loads_in_flight, LOADS_IN_FLIGHT) * max(1.0, work.waves(device).count)


def _spilled(work: Work) -> float:
    """Bytes that all threads of a launch spill and fetch back, once each."""
    each = (work.facts["spill_store_bytes"] or 0) + (work.facts["spill_load_bytes"] or 0)
    return float(each * work.facts["num_warps"] * work.facts["target"]["warp_size"] * work.programs)


def forecast(device: Device, before: Sequence[Work], after: Sequence[Work], took_us: Mapping[str, float] | None = None) -> Forecast:
    """Compare a variant's launches with its original's, over the same cases.

    Args:
        device: where they run.
        before: of the original.
        after: of the variant.
        took_us: the original's device time by case, where it was measured.
    """
    refused = next((w.facts.get("unusable") for w in after if w.facts.get("unusable")), None)
    if refused:
        return Forecast("likely slower", refused, 0.0)
    stuck = next((w for w in after if w.occupancy(device).programs == 0), None)
    if stuck is not None:
        held = stuck.occupancy(device)
        return Forecast("likely slower", f"{stuck.kernel} doesn't fit on a multiprocessor: too much of {held.limiter}", 0.0)
    if not before or not after:
        return Forecast("unclear", "nothing is known of its launches", 1.0)
    if [(w.facts["code_hash"], w.programs) for w in before] == [(w.facts["code_hash"], w.programs) for w in after]:
        return Forecast("unclear", "it compiles to the same machine code with the same grid", 1.0)
    score, limits = _score(device, before, after, took_us)
    moved = changes(device, before, after)
    fact = _fact(moved, limits, better=score > 1)
    if score >= MARGIN and fact is not None and not _regresses(moved):
        return Forecast("likely faster", fact.sentence, score)
    some = _on_some(device, before, after)
    if some is not None and not _regresses(moved):
        return Forecast("likely faster", some, score)
    if score <= 1 / MARGIN and fact is not None:
        return Forecast("likely slower", fact.sentence, score)
    if "launch" in limits and len(limits) == 1:
        return Forecast("unclear", "the launch itself takes longer than the work", score)
    return Forecast("unclear", moved[0].sentence if moved else "no fact changed clearly", score)


def _score(
    device: Device, before: Sequence[Work], after: Sequence[Work], took_us: Mapping[str, float] | None = None
) -> tuple[float, frozenset[Term]]:
    """Geometric mean over cases of estimated time before over after, and what limits the original."""
    ratios: list[float] = []
    limits: set[Term] = set()
    for case in dict.fromkeys(w.case for w in before):
        first, second = [w for w in before if w.case == case], [w for w in after if w.case == case]
        if not second:
            continue
        traffic = all(w.moved_bytes is not None for w in (*first, *second))
        counted = all(w.functions is not None for w in (*first, *second))
        old, new = ([estimate(device, w, traffic=traffic, functions=counted) for w in side] for side in (first, second))
        was, is_ = sum(e.us for e in old), sum(e.us for e in new)
        known = min(1.0, was / took_us[case]) if took_us and took_us.get(case) else 1.0
        ratios.append((was / is_) ** math.sqrt(known))
        limits.add(max(old, key=lambda e: e.us).limit)
    return (math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0), frozenset(limits)


def _on_some(device: Device, before: Sequence[Work], after: Sequence[Work]) -> str | None:
    """The sentence of a variant that is clearly better on some cases and no worse on any."""
    cases = list(dict.fromkeys(w.case for w in before))
    facts: list[str] = []
    for case in cases:
        old, new = [w for w in before if w.case == case], [w for w in after if w.case == case]
        if not new:
            return None
        score, limits = _score(device, old, new)
        if score < LEVEL:
            return None
        moved = changes(device, old, new)
        clear = score >= MARGIN or _relieves(old, new)
        fact = _fact(moved, limits, better=True) if clear and score > 1 and not _regresses(moved) else None
        facts += [fact.sentence] if fact is not None else []
    if not facts:
        return None
    return facts[0] if len(facts) == len(cases) else f"in {len(facts)} of {len(cases)} timing cases, and no worse in the others: {facts[0]}"


def _relieves(old: Sequence[Work], new: Sequence[Work]) -> bool:
    """Whether spilling that was a good part of all that is moved is gone."""
    return _spilled_share(old) >= RELIEF and _spilled_share(new) < RELIEF / 10


def _spilled_share(side: Sequence[Work]) -> float:
    moved = sum(w.moved_bytes or w.dram_bytes or 0.0 for w in side)
    return sum(_spilled(w) for w in side) / moved if moved else 0.0


def _fact(moved: Sequence[Change], limits: frozenset[Term], *, better: bool) -> Change | None:
    """The largest change in the right direction that belongs to what limits; any in the wrong direction explains a slowdown."""
    relevant: frozenset[Kind] = frozenset[Kind]().union(*(_BELONGS[term] for term in limits)) if limits else frozenset()
    return next((c for c in moved if c.better == better and (not better or c.kind in relevant)), None)


def _regresses(moved: Sequence[Change]) -> bool:
    """Whether a fact became clearly worse that the formula knows little about: then nothing is promised."""
    return any(not c.better and c.kind in ("spills", "serialized", "tensor cores") for c in moved)
