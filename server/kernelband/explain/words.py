"""A variant in engineers' words: all that it changes of the original, in a line, and what that is worth; and what a run came to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol, cast

from attrs import evolve, frozen

from kernelband.explain.compare import Step, because
from kernelband.history import Store, trials
from kernelband.history.outcome import PREDICTED, TIERS, UNWANTED, Outcome, outcome
from kernelband.history.records import GIVEN, FinalRow, RunRow, TrialRow, VariantRow
from kernelband.history.view import RunView, VariantView

BETWEEN = " · "
BEGIN = 30  # characters of a title that a narrow list shows
WORTH_TRYING = 3  # variants
MOST = 60  # characters of an edit that no move of ours made

#: What a move does, by its name, or its name and a parameter; braces are parameters. Others are told by the sizes that they change.
MOVES: Mapping[str, str] = {
    "accumulate_late": "late reduction",
    "axis_in_loop": "axis in a loop",
    "by_size": "blocks by size",
    "cache_hints passes": "rows kept in cache",
    "cache_hints past_l1": "loads past L1",
    "cache_hints stores": "streaming stores",
    "cache_hints stream": "evict-first loads",
    "cache_hints stream_and_stores": "evict-first loads and stores",
    "constant_strides both": "constant sizes and strides",
    "constant_strides sizes": "constant sizes",
    "constant_strides strides": "constant strides",
    "contiguous_copy": "contiguous copy",
    "contiguous_rows": "contiguous rows",
    "divisibility_hints": "divisibility of {names}",
    "dot_accumulate": "accumulating dot",
    "elements_per_thread": "{elements} elements/thread",
    "even_blocks": "no mask over even {size}",
    "exp2": "exp2",
    "flatten": "flattened loop",
    "grouped_order": "groups of {group} tiles",
    "guarded_fast_path": "mask-free {size} fast path",
    "heavy_first": "axis {axis} backwards",
    "hoisted_loads": "hoisted loads",
    "int32_offsets": "32-bit offsets",
    "keep_in_loop": "invariants in the loop",
    "loop_stages": "{num_stages}-stage loop",
    "merged_passes": "merged passes",
    "one_block": "row in one block",
    "one_pass_moments": "one-pass moments",
    "online_softmax behind": "online softmax, summed late",
    "online_softmax inside": "online softmax",
    "persistent": "persistent ×{per_multiprocessor}",
    "persistent_products": "persistent products ×{per_multiprocessor}",
    "persistent_rows": "persistent rows ×{per_multiprocessor}",
    "prefetch": "prefetch",
    "reciprocal": "reciprocal",
    "register_cap": "register cap",
    "resident_programs": "programs per multiprocessor ×{times}",
    "row_blocks": "rows cut in blocks of {block}",
    "rows_per_program": "{rows} rows/program",
    "rsqrt": "rsqrt",
    "single_accumulator": "single accumulator",
    "split_k": "split-K {parts}",
    "split_loop": "loop split ×{parts}",
    "split_passes": "two stages ×{parts}",
    "split_reduction": "split reduction {parts}",
    "split_walk": "split walk ×{parts}",
    "static_range": "static range",
    "steps_at_once": "{steps} steps at once",
    "swap_axes": "swapped axes",
    "tensor_descriptors": "TMA",
    "tile_hints": "{kept} kept in L2",
    "unmasked_body": "unmasked body",
    "unroll": "unroll {factor}",
    "warp_specialize": "warp specialization",
    "zeros_to_empty": "no zero fill",
}
#: Launch options, as they are said after everything else.
OPTIONS = {"num_warps": "warp", "num_stages": "stage"}
_SIZE = re.compile(r"\b([A-Za-z_]\w*) (\w+) ?(?:->|→) ?(\w+)")


_FIELD = re.compile(r"\{(\w+)\}")


class Edit(Protocol):
    """One edit of a chain."""

    @property
    def move(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def what(self) -> str: ...


# ---------------------------------------------------------------- what it changes


def changes(steps: Iterable[Edit]) -> str:
    """``BLOCK 16→64 · split-K 4 · 8 warps``: sizes from the first to the last one, what was done, options of the launch."""
    return BETWEEN.join(_parts(steps))


def titles(chains: Mapping[int, Iterable[Edit]]) -> dict[int, str]:
    """The same of variants that stand in one list, by number, each with a begin of its own: what few of them have comes first, and the
    number where that is not enough.
    """
    parts = {number: _parts(steps) for number, steps in chains.items()}
    for numbers in _alike(parts):
        count = Counter(part for number in numbers for part in parts[number])
        for number in numbers:
            parts[number].sort(key=count.__getitem__)
    for numbers in _alike(parts):
        for number in numbers:
            parts[number].insert(0, f"#{number}")
    return {number: BETWEEN.join(own) for number, own in parts.items()}


def _alike(parts: Mapping[int, list[str]]) -> list[list[int]]:
    """The variants whose titles begin with the same characters."""
    found: dict[str, list[int]] = {}
    for number, own in parts.items():
        found.setdefault(BETWEEN.join(own)[:BEGIN], []).append(number)
    return [numbers for numbers in found.values() if len(numbers) > 1]


def _parts(steps: Iterable[Edit]) -> list[str]:
    by_kernel: dict[str, list[Edit]] = {}  # "" for the one that is optimized
    for step in steps:
        for kernel, edit in _by_kernel(step):
            by_kernel.setdefault(kernel, []).append(edit)
    return [f"{part} in {name.rpartition('.')[2]}" if name else part for name, own in by_kernel.items() for part in _parts_of(own)]


@frozen
class _Piece:
    """One of several edits that are a step together; only of the last one more is known than what it does."""

    move: str
    parameters: Mapping[str, Any]
    what: str


def _by_kernel(step: Edit) -> Iterator[tuple[str, Edit]]:
    """The edits of a step with the kernels that they are of."""
    kernels, pieces = step.parameters.get("kernels"), step.what.split("; ")
    if not isinstance(kernels, list) or len(cast("list[str]", kernels)) != len(pieces):
        yield str(step.parameters.get("kernel", "")), step
        return
    for i, (kernel, what) in enumerate(zip(cast("list[str]", kernels), pieces, strict=True), 1):
        last = i == len(pieces)
        yield kernel, _Piece(step.move if last else "", step.parameters if last else {}, what)


def _parts_of(steps: Iterable[Edit]) -> list[str]:
    sizes: dict[str, tuple[str, str]] = {}
    done: dict[str, str] = {}  # a number that a later step sets anew is said once, as it is at the end
    options: dict[str, int] = {}
    for step in steps:
        found = _SIZE.findall(step.what)
        for name, old, new in found:
            if name not in OPTIONS:
                sizes[name] = (sizes.get(name, (old, new))[0], new)
        options |= {name: step.parameters[name] for name in OPTIONS if isinstance(step.parameters.get(name), int)}
        options |= {name: int(new) for name, _, new in found if name in OPTIONS and new.isdigit()}
        said = _said(step)
        if said is not None:
            done[said[0]] = said[1]
        elif not found:
            done[step.what] = _first_words(step.what)
    if any(said.endswith("-stage loop") for said in done.values()):
        options.pop("num_stages", None)
    return [
        *(f"{name} {old}→{new}" for name, (old, new) in sizes.items() if old != new),
        *done.values(),
        *(f"{count} {OPTIONS[name]}{'s' if count != 1 else ''}" for name, count in options.items()),
    ]


def _said(step: Edit) -> tuple[str, str] | None:
    """What its move is called, for one of its parameters or as it is, after what tells it from other moves; None for none of ours."""
    by_parameter = (f"{step.move} {value}" for value in step.parameters.values())
    words = next((MOVES[name] for name in (*by_parameter, step.move) if name in MOVES), None)
    if words is None:
        return None
    said = _FIELD.sub(lambda field: str(step.parameters.get(field[1], "")), words).strip()
    return (words if any(isinstance(step.parameters.get(name), int) for name in _FIELD.findall(words)) else said), said


def _first_words(what: str) -> str:
    said = what.strip().rstrip(".")
    return said if len(said) <= MOST else f"{said[: MOST - 1].rsplit(' ', 1)[0]}…"


# ---------------------------------------------------------------- what it is worth


def tier(t: TrialRow, v: VariantRow) -> str | None:
    """Of a variant that was interpreted and is right; None for any other."""
    found = outcome(t, v.forecast.get("tier"))
    return found.word if found in PREDICTED else None


def unwanted(t: TrialRow | None) -> str:
    """Why a variant is none that anybody would want, by its trial; "" where nothing says so."""
    found = outcome(t) if t is not None else None
    return found.word if found is not None and found in UNWANTED else ""


def verdict(f: FinalRow | None) -> str:
    """Of a final, in one line."""
    if f is None:
        return ""
    known = figure(f.score, f.low, f.high) if f.verified else ""
    return f"verified {known}" if known else "not verified"


def figure(ratio: float | None, low: float | None, high: float | None) -> str:
    """A ratio with what to expect of one more process: ``1.84× (1.80 to 1.88)``; "" where one of them isn't known."""
    return f"{ratio:.2f}× ({low:.2f} to {high:.2f})" if ratio is not None and low is not None and high is not None else ""


def titles_of(variants: Mapping[int, VariantRow], tried: Iterable[TrialRow], finals: Mapping[int, FinalRow] | None) -> dict[int, str]:
    """Titles of all that a run tried, where those that are worth showing stand in one list. ``finals``: None where it was predicted."""
    tried = tuple(tried)
    chains = {t.variant: trials.lineage(variants, t.variant) for t in tried}
    verified = {n for n, f in (finals or {}).items() if f.verified}
    shown = [t.variant for t in tried if (tier(t, variants[t.variant]) if finals is None else t.variant in verified)]
    return {n: changes(chain) for n, chain in chains.items()} | titles({n: chains[n] for n in shown})


def in_a_line(store: Store, row: RunRow, number: int) -> str:
    """A variant with what is known of it: ``Variant 3 of run 1a2b3c4d: BLOCK 16→64 · 8 warps: verified 1.84× (1.80 to 1.88) on H200``."""
    variants = {v.id: v for v in trials.variants(store, row.id)}
    tried = next((t for t in trials.trials(store, row.id) if t.variant == number), None)
    final = next((f for f in trials.finals(store, row.id) if f.variant == number), None)
    told = tier(tried, variants[number]) if tried is not None else None
    if final is not None and final.verified:
        known = f"{verdict(final)} on {row.device}"
    elif told is not None:
        known = f"{told} on {row.device}, predicted and not measured"
    else:
        known = f"not verified, its trial says: {unwanted(tried)}" if unwanted(tried) else "not verified"
    return f"Variant {number} of run {row.id}: {changes(trials.lineage(variants, number))}: {known}."


def titled(variants: Collection[VariantView]) -> tuple[VariantView, ...]:
    """Those that stand in one list, with their titles, and with the facts of predictions as far as they are of the last edit."""
    said = titles({v.number: v.chain for v in variants})
    facts = {v.number: because(v.tier, v.fact, Step.of(v.parent, v.gains, v.costs)) for v in variants if v.tier}
    return tuple(evolve(v, title=said[v.number], fact=facts.get(v.number, "")) for v in variants)


def line(device: str, v: VariantView) -> str:
    """A variant in one line: what it changes of the original, then what that is worth and on what."""
    if known := figure(v.ratio, v.low, v.high):
        return f"{v.title}: {known} on {device}, {v.cases} case{'s' if v.cases != 1 else ''}"
    return f"{v.title}: {v.tier} on {device} (predicted)" if v.tier else f"{v.title}: not verified"


def worth(device: str, v: VariantView) -> str:
    """The same in a few words: a ratio only where it was verified, a tier with the word predicted."""
    if v.ratio is not None:
        return f"{v.ratio:.2f}× on {short(device)}"
    return f"{v.tier} on {short(device)} (predicted)" if v.tier else "not verified"


def short(device: str) -> str:
    """The GPU's short name: H200, not NVIDIA H200 SXM."""
    return device.removeprefix("NVIDIA ").removeprefix("AMD ").partition(" ")[0] or device


# ---------------------------------------------------------------- what a run came to

STOPPED = {"interrupted": "stopped"}  # other states are called as they are


def came_to(ratio: float | None, *, judged: str = "", likely: bool = False) -> str:
    """A run in a few words; "" for nothing. ``ratio``: of its best verified variant; ``judged``: what is said of one edit."""
    return f"verified {ratio:.2f}×" if ratio is not None else judged or (Outcome.LIKELY_FASTER.word if likely else "")


def nothing(mode: str | None) -> str:
    """Of a run that has come to its end without."""
    return "nothing verified" if mode == "measured" else f"nothing {Outcome.LIKELY_FASTER.word}"


def nothing_yet(run: RunView) -> str:
    """Of a run without a variant that one would take."""
    return f"best so far not verified: {run.so_far.title}" if run.mode == "measured" and run.so_far is not None else nothing(run.mode)


def headline(run: RunView) -> str:
    """A past run, or one that goes on elsewhere, in a few words, as a lens has them."""
    if run.state == "running":
        return f"{run.trials} trial{'s' if run.trials != 1 else ''} so far"
    best = next((v.ratio for v in run.variants if v.verified and v.ratio is not None), None)
    judged = next((v.tier for v in run.variants if v.tier), run.reason.partition(":")[0]) if run.policy == GIVEN else ""
    found = came_to(best, judged=judged, likely=any(v.tier == TIERS[0] for v in run.variants))
    if not found and run.policy != GIVEN and (run.state == "finished" or run.variants):
        found = nothing_yet(run)
    state = "" if run.state == "finished" else STOPPED.get(run.state, run.state)
    return " · ".join(said for said in (state, found) if said)


def worth_trying(known: Iterable[tuple[int, str, str]]) -> list[int]:
    """Of a prediction in which nothing is likely faster: the few variants that a GPU could decide on, each for a reason of its own.

    Args:
        known: number, tier, and the largest fact that became better ("" for none), in the order of the run.
    """
    reasons: dict[str, int] = {}
    for number, tier, gain in known:
        if tier == "unclear" and gain:
            reasons.setdefault(gain, number)
    return [*reasons.values()][:WORTH_TRYING]
