"""A variant in engineers' words: all that it changes of the original, in a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

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
    "persistent_rows": "persistent rows ×{per_multiprocessor}",
    "prefetch": "prefetch",
    "reciprocal": "reciprocal",
    "register_cap": "register cap",
    "rows_per_program": "{rows} rows/program",
    "rsqrt": "rsqrt",
    "single_accumulator": "single accumulator",
    "split_k": "split-K {parts}",
    "split_reduction": "split reduction {parts}",
    "static_range": "static range",
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


@frozen
class Step:
    """One edit of a chain, as its row has it."""

    move: str
    parameters: Mapping[str, Any]
    what: str


def changes(steps: Iterable[Step]) -> str:
    """``BLOCK 16→64 · split-K 4 · 8 warps``: sizes from the first to the last one, what was done, options of the launch."""
    return BETWEEN.join(_parts(steps))


def titles(chains: Mapping[int, Iterable[Step]]) -> dict[int, str]:
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


def _alike(parts: Mapping[int, list[str]]) -> list[list[int]]:
    """The variants whose titles begin with the same characters."""
    found: dict[str, list[int]] = {}
    for number, own in parts.items():
        found.setdefault(BETWEEN.join(own)[:BEGIN], []).append(number)
    return [numbers for numbers in found.values() if len(numbers) > 1]


def _parts(steps: Iterable[Step]) -> list[str]:
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


def _said(step: Step) -> tuple[str, str] | None:
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
