"""What Triton's GPU dialect (TTGIR) tells: source lines of operations, how many bits each thread has to move, the largest buffers.

The text format is not stable between releases; whatever can't be read is left out, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Set, Tuple

Place = Tuple[str, int]  # path and 1-based line

_LOCATION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_DIRECT = re.compile(r'^"([^"]+)":(\d+):\d+(?: to :\d+)?$')
_NAMED = re.compile(r'^"(?:[^"\\]|\\.)*"\((.*)\)$')
_CALL = re.compile(r"^callsite\((.*) at (#loc\d*)\)$")
_USED = re.compile(r"loc\((#loc\d*)\)\s*$")
_MOVES = re.compile(
    r"\b(tt\.load|tt\.store|ttg\.async_copy_global_to_local|amdgpu\.buffer_load\w*|amdgpu\.buffer_store|amdg\.buffer_load\w*|amdg\.buffer_store)\b"
)
_TENSOR = re.compile(r"tensor<((?:\d+x)+)(?:!tt\.ptr<)?[a-z]+(\d+)")
_BUFFER = re.compile(r"memdesc<((?:\d+x)+)[a-z]+(\d+)")
_DOTS = re.compile(r"\b(tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma|tt\.dot_scaled)\b")


@dataclass(frozen=True)
class Move:
    """A load or store of a whole tile. ``bits`` is what each thread moves if the tile is spread evenly."""

    place: Place
    elements: int
    element_bits: int
    store: bool

    def thread_bits(self, threads: int) -> float:
        return self.elements * self.element_bits / threads


@dataclass(frozen=True)
class Layout:
    """``user`` maps lines of inlined library functions to the only user's line that calls them, where there is only one."""

    kernel: Optional[Place]
    moves: List[Move]
    dots: List[Place]
    buffers: List[Tuple[Place, int]]  # bytes of shared memory by line, largest first
    user: Dict[Place, Place]


def _resolve(text: str, table: Dict[str, str], depth: int = 0) -> List[Place]:
    """Innermost place first, then its callers."""
    if depth > 20:
        return []
    text = text.strip()
    if text in table:
        return _resolve(table[text], table, depth + 1)
    direct = _DIRECT.match(text)
    if direct:
        return [(direct.group(1), int(direct.group(2)))]
    call = _CALL.match(text)
    if call:
        return _resolve(call.group(1), table, depth + 1) + _resolve(call.group(2), table, depth + 1)
    named = _NAMED.match(text)
    return _resolve(named.group(1), table, depth + 1) if named else []


def _numel(shape: str) -> int:
    out = 1
    for size in shape.rstrip("x").split("x"):
        out *= int(size)
    return out


def parse(text: str) -> Layout:
    """Read a TTGIR module."""
    table = dict(_LOCATION.findall(text))
    kernel = next(iter(_resolve("#loc", table)), None)
    callers: Dict[Place, Set[Place]] = {}
    for name in table:
        chain = _resolve(name, table)
        if len(chain) > 1:
            callers.setdefault(chain[0], set()).add(_outermost(chain, kernel))
    moves: List[Move] = []
    dots: List[Place] = []
    buffers: List[Tuple[Place, int]] = []
    for line in text.splitlines():
        used = _USED.search(line)
        if used is None or line.startswith("#loc"):
            continue
        chain = _resolve(used.group(1), table)
        if not chain:
            continue
        place = _outermost(chain, kernel)
        move = _MOVES.search(line)
        tensor = _TENSOR.search(line)
        if move and tensor:
            moves.append(Move(place, _numel(tensor.group(1)), int(tensor.group(2)), "store" in move.group(1)))
        elif _DOTS.search(line):
            dots.append(place)
        elif "ttg.local_alloc" in line:
            memory = _BUFFER.search(line)
            if memory:
                buffers.append((place, _numel(memory.group(1)) * int(memory.group(2)) // 8))
    return Layout(
        kernel=kernel,
        moves=moves,
        dots=dots,
        buffers=sorted(buffers, key=lambda b: -b[1]),
        user={inner: next(iter(outer)) for inner, outer in callers.items() if len(outer) == 1},
    )


def _outermost(chain: List[Place], kernel: Optional[Place]) -> Place:
    """The place in the kernel's own file that is nearest to the operation; helpers of the same file count as the user's."""
    if kernel is None:
        return chain[-1]
    return next((place for place in chain if place[0] == kernel[0]), chain[-1])
